#include "datatype/reduce.h"

#include <algorithm>
#include <bit>
#include <climits>

#include "base/inside.h"
#include "mpi.h"
#include "objects/callback_adapters.h"

namespace hearth::datatype {
namespace {

using objects::Op;
using objects::OpKind;

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return "MPI_SUM";
    case OpKind::min:
      return "MPI_MIN";
    case OpKind::max:
      return "MPI_MAX";
    case OpKind::prod:
      return "MPI_PROD";
    case OpKind::band:
      return "MPI_BAND";
    case OpKind::bor:
      return "MPI_BOR";
    case OpKind::bxor:
      return "MPI_BXOR";
    case OpKind::land:
      return "MPI_LAND";
    case OpKind::lor:
      return "MPI_LOR";
    case OpKind::lxor:
      return "MPI_LXOR";
    case OpKind::minloc:
      return "MPI_MINLOC";
    case OpKind::maxloc:
      return "MPI_MAXLOC";
    case OpKind::replace:
      return "MPI_REPLACE";
    case OpKind::no_op:
      return "MPI_NO_OP";
    case OpKind::user:
      return "a user's operation";
  }
  return "";
}

const char* what_fits(OpKind kind) {
  switch (kind) {
    case OpKind::replace:
    case OpKind::no_op:
      return "it is for one-sided communication only";
    case OpKind::minloc:
    case OpKind::maxloc:
      return "it takes pairs such as MPI_DOUBLE_INT or MPI_2INT";
    case OpKind::land:
    case OpKind::lor:
    case OpKind::lxor:
      return "it takes integers and logicals";
    case OpKind::band:
    case OpKind::bor:
    case OpKind::bxor:
      return "it takes integers and MPI_BYTE";
    case OpKind::min:
    case OpKind::max:
      return "it takes integers and floating-point numbers";
    default:
      return "it takes integers, floating-point and complex numbers";
  }
}

[[gnu::cold]] Status undefined_on(OpKind kind, const Type& type) {
  const bool text = type.element == Element::character;
  return fail(MPI_ERR_OP, "%s is not defined on %s: %s. Remedy: %s", name_of(kind),
              type.predefined != 0 ? type.name.c_str() : "a derived datatype", what_fits(kind),
              text ? "for small numbers use MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR or MPI_INT8_T"
                   : "another datatype, or an operation of your own (MPI_Op_create)");
}

Status reduce_by_user(const Op& op, const Type& type, const void* in, void* inout, Count count) {
  // Handle and count are copies, because the function receives pointers and may write through them.
  auto* from = static_cast<std::byte*>(const_cast<void*>(in));
  auto* to = static_cast<std::byte*>(inout);
  const objects::CallbackAdapters& adapters = objects::callback_adapters;
  while (count > 0) {
    MPI_Datatype handle = objects::handle_of<MPI_Datatype>(type);
    if (op.function_c != nullptr) {
      MPI_Count all = count;
      Inside::call_user([&] {
        adapters.reduce_c != nullptr ? adapters.reduce_c(op.function_c, from, to, all, handle)
                                     : op.function_c(from, to, &all, &handle);
      });
      break;
    }
    const int slice = static_cast<int>(std::min<Count>(count, INT_MAX));
    int length = slice;
    Inside::call_user([&] {
      adapters.reduce != nullptr ? adapters.reduce(op.function, from, to, length, handle)
                                 : op.function(from, to, &length, &handle);
    });
    from += slice * type.extent;
    to += slice * type.extent;
    count -= slice;
  }
  return {};
}

bool is_pair_reduction(const Op& op, const Type& type) {
  return type.element == Element::value_index && (op.kind == OpKind::minloc || op.kind == OpKind::maxloc);
}

/// A duplicate of a pair type has the pair as its old type.
const Type& pair_behind(const Type& type) {
  const Type* pair = &type;
  while (pair->types.size() == 1) pair = pair->types[0];
  return *pair;
}

Status reduce_by_parts(const Op& op, const Type& type, std::span<const void* const> sources, void* to,
                       Count count) {
  size_t next = sources.size() - 1;
  if (sources[next] != to) HEARTH_TRY(copy(sources[next], count, type, to, count, type));
  while (next-- > 0) HEARTH_TRY(reduce(op, type, sources[next], to, count));
  return {};
}

// The intermediate results of a block stay in the L1 cache. This is as fast as keeping them in registers with
// a loop for each number of sources (development machine, November 2026). The result of a block is written
// after all of its sources have been read, so `to` may be one of them.
template <class Kernel>
void reduce_in_blocks(const Type& type, std::span<const void* const> sources, void* to, Count count,
                      Kernel kernel) {
  constexpr int64_t kBlockBytes = 4096;
  alignas(64) std::byte so_far[kBlockBytes];
  const size_t last = sources.size() - 1;
  const int64_t extent = type.extent;
  const Count block = last == 1 ? count : kBlockBytes / extent;
  for (Count done = 0; done < count; done += block) {
    const auto elements = static_cast<size_t>(std::min(block, count - done));
    const auto at = [&](const void* buffer) { return static_cast<const std::byte*>(buffer) + done * extent; };
    const void* right = at(sources[last]);
    for (size_t next = last - 1; next > 0; --next, right = so_far) {
      kernel(at(sources[next]), right, so_far, elements);
    }
    kernel(at(sources[0]), right, static_cast<std::byte*>(to) + done * extent, elements);
  }
}

}  // namespace

// The values of most Fortran compilers, until others are set.
static_assert(std::endian::native == std::endian::little, "a narrow LOGICAL begins with its lowest byte");
FortranBooleans fortran_booleans = {{std::byte{1}}, {}};

Status check_reduction(const Op& op, const Type& type) {
  if (is_pair_reduction(op, type)) return {};
  if (op.kind == OpKind::user || reduce_kernel(op.kind, type.element) != nullptr) return {};
  return undefined_on(op.kind, type);
}

ReduceKernel* reduce_kernel(VectorSet set, OpKind op, Element element) {
  if constexpr (kIsX86) {
    if (set == VectorSet::avx512) return reduce_kernel_avx512(op, element);
    if (set == VectorSet::avx2) return reduce_kernel_avx2(op, element);
  }
  return reduce_kernel_baseline(op, element);
}

ReduceKernel* reduce_kernel(OpKind op, Element element) {
  static const VectorSet best = usable_vector_sets().front();
  return reduce_kernel(best, op, element);
}

Status reduce(const Op& op, const Type& type, const void* in, void* inout, Count count) {
  if (op.kind == OpKind::user) return reduce_by_user(op, type, in, inout, count);
  if (is_pair_reduction(op, type)) {
    reduce_pairs(op.kind, pair_behind(type), in, inout, inout, count);
    return {};
  }
  ReduceKernel* kernel = reduce_kernel(op.kind, type.element);
  if (__builtin_expect(kernel == nullptr, 0)) return undefined_on(op.kind, type);
  kernel(in, inout, inout, static_cast<size_t>(count));
  return {};
}

Status reduce_all(const Op& op, const Type& type, std::span<const void* const> sources, void* to,
                  Count count) {
  const size_t last = sources.size() - 1;
  if (last == 0 || op.kind == OpKind::user) return reduce_by_parts(op, type, sources, to, count);
  if (is_pair_reduction(op, type)) {
    const Type& pair = pair_behind(type);
    reduce_in_blocks(type, sources, to, count,
                     [&](const void* left, const void* right, void* result, size_t elements) {
                       reduce_pairs(op.kind, pair, left, right, result, static_cast<Count>(elements));
                     });
    return {};
  }
  ReduceKernel* kernel = reduce_kernel(op.kind, type.element);
  if (__builtin_expect(kernel == nullptr, 0)) return undefined_on(op.kind, type);
  reduce_in_blocks(type, sources, to, count, kernel);
  return {};
}

}  // namespace hearth::datatype
