// Datatypes created by any calls with any arguments from each other, and bytes packed and unpacked with them,
// in native form and in external32. The buffers are exactly as long as the types require.
#include <array>
#include <memory>
#include <vector>

#include "datatype/construct.h"
#include "datatype/external32.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "fuzz.h"
#include "mpi.h"

using namespace hearth;
using datatype::Type;

namespace {

constexpr size_t kTypesMax = 12;
constexpr size_t kEntriesMax = 4;
constexpr int64_t kBytesMax = 1 << 16;

Type& predefined(MPI_Datatype handle) {
  return *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

// Mostly small; sometimes any 64-bit value.
int64_t number(fuzz::Input& input) {
  const auto small = input.take<int8_t>();
  return small == 127 ? input.take<int64_t>() : small;
}

using Numbers = std::array<int64_t, kEntriesMax>;
Numbers numbers(fuzz::Input& input) {
  Numbers result;
  for (int64_t& entry : result) entry = number(input);
  return result;
}

Status make_darray(fuzz::Input& input, Type& old, Type*& made) {
  const int dimensions = 1 + static_cast<int>(input.below(3));
  const Numbers sizes = numbers(input);
  std::array<int, kEntriesMax> distributions;
  std::array<int, kEntriesMax> arguments;
  std::array<int, kEntriesMax> grid;
  int processes = 1;
  for (size_t i = 0; i < kEntriesMax; ++i) {
    constexpr int kKinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE, 0};
    distributions[i] = kKinds[input.below(4)];
    arguments[i] = input.below(2) == 0 ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(input.take<int8_t>());
    grid[i] = static_cast<int>(input.below(4));
    if (i < static_cast<size_t>(dimensions)) processes *= grid[i];
  }
  const int order = input.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  return datatype::make_darray({.processes = processes,
                                .rank = static_cast<int>(input.below(8)),
                                .dimensions = dimensions,
                                .sizes = sizes.data(),
                                .distributions = distributions.data(),
                                .arguments = arguments.data(),
                                .grid = grid.data(),
                                .order = order},
                               old, Form::large, made);
}

// Counts are not negative: the entry points have refused such calls.
Status make(fuzz::Input& input, const std::vector<Type*>& types, Type*& made) {
  Type& old = *types[input.below(types.size())];
  const Form form = Form::large;
  const auto count = static_cast<Count>(input.below(kEntriesMax + 1));
  const size_t kind = input.below(12);
  if (kind == 0) return datatype::make_contiguous(std::max<int64_t>(number(input), 0), old, form, made);
  if (kind == 9) {
    const int order = input.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const Numbers sizes = numbers(input);
    const Numbers subsizes = numbers(input);
    return datatype::make_subarray(static_cast<int>(count), sizes.data(), subsizes.data(),
                                   numbers(input).data(), order, old, form, made);
  }
  if (kind == 10) return make_darray(input, old, made);
  if (kind == 11) return datatype::make_twin(old, made);
  const Numbers lengths = numbers(input);
  const Numbers displacements = numbers(input);
  const int64_t length = std::max<int64_t>(lengths[0], 0);
  switch (kind) {
    case 1:
      return datatype::make_vector(std::max<int64_t>(lengths[1], 0), length, displacements[0], old, form,
                                   made);
    case 2:
      return datatype::make_hvector(std::max<int64_t>(lengths[1], 0), length, displacements[0], old, form,
                                    made);
    case 3:
      return datatype::make_indexed(count, lengths.data(), displacements.data(), old, form, made);
    case 4:
      return datatype::make_indexed_block(count, length, displacements.data(), old, form, made);
    case 5:
      return datatype::make_hindexed(count, lengths.data(), displacements.data(), old, form, made);
    case 6:
      return datatype::make_hindexed_block(count, length, displacements.data(), old, form, made);
    case 7: {
      std::vector<Type*> members;
      for (Count i = 0; i < count; ++i) members.push_back(types[input.below(types.size())]);
      return datatype::make_struct(lengths.data(), displacements.data(), members, form, made);
    }
    default:
      return datatype::make_resized(old, displacements[0], displacements[1], form, made);
  }
}

void carry(const Type& type, Count count) {
  fuzz::demand(type.size >= 0 && type.true_extent >= 0, "a type has a size");
  constexpr int64_t kFarMax = int64_t{1} << 40;  // no buffer can be placed further away
  if (std::abs(type.true_lower_bound) > kFarMax || type.true_lower_bound == INT64_MIN) return;
  if (type.size > kBytesMax || type.true_extent > kBytesMax || type.extent > kBytesMax ||
      type.extent < -kBytesMax) {
    return;
  }
  const datatype::Span span = datatype::span_of(type, count);
  const auto packed_bytes = static_cast<size_t>(type.size * count);
  const auto span_bytes = static_cast<size_t>(span.bytes);
  const auto memory = std::make_unique<std::byte[]>(span_bytes);
  const auto packed = std::make_unique<std::byte[]>(packed_bytes);
  for (size_t i = 0; i < span_bytes; ++i) memory[i] = static_cast<std::byte>(i * 37 + 11);
  std::byte* const buffer = memory.get() - span.lowest;
  datatype::pack(type, buffer, 0, packed.get(), packed_bytes);
  const size_t half = packed_bytes / 2;
  datatype::unpack(type, buffer, static_cast<int64_t>(half), packed.get() + half, packed_bytes - half);
  datatype::unpack(type, buffer, 0, packed.get(), half);
  for (size_t i = 0; i < span_bytes; ++i) {
    fuzz::demand(memory[i] == static_cast<std::byte>(i * 37 + 11), "what is put back changes nothing");
  }
  const int64_t external_bytes = datatype::external32_bytes(type);
  if (external_bytes > kBytesMax) return;
  const auto external = std::make_unique<std::byte[]>(static_cast<size_t>(external_bytes * count));
  if (datatype::pack_external32(type, buffer, count, external.get()).ok()) {
    fuzz::demand(datatype::unpack_external32(type, buffer, count, external.get()).ok(),
                 "what was packed can be unpacked");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  datatype::enter_predefined_types();
  std::vector<Type*> types = {&predefined(MPI_CHAR),       &predefined(MPI_SHORT),
                              &predefined(MPI_INT),        &predefined(MPI_DOUBLE),
                              &predefined(MPI_LONG),       &predefined(MPI_C_BOOL),
                              &predefined(MPI_DOUBLE_INT), &predefined(MPI_LONG_DOUBLE),
                              &predefined(MPI_WCHAR),      &predefined(MPI_C_DOUBLE_COMPLEX)};
  const size_t predefined_count = types.size();
  while (!input.empty() && types.size() < predefined_count + kTypesMax) {
    Type* made = nullptr;
    if (make(input, types, made).ok()) types.push_back(made);
  }
  for (size_t i = predefined_count; i < types.size(); ++i) carry(*types[i], 1 + static_cast<Count>(i % 3));
  for (size_t i = types.size(); i > predefined_count; --i) datatype::free_handle(*types[i - 1]);
  return 0;
}
