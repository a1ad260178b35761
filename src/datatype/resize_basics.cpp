#include "datatype/resize_basics.h"

#include <utility>
#include <vector>

#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "datatype/signature.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

/// The stored arguments of a constructor, in order. The large form stores counts and addresses as counts.
class Arguments {
 public:
  explicit Arguments(const Type& type) : type_(type), large_(!type.counts.empty()) {}

  int integer() { return type_.integers[integer_++]; }
  int64_t count() { return large_ ? type_.counts[count_++] : integer(); }
  int64_t address() { return large_ ? type_.counts[count_++] : type_.addresses[address_++]; }
  std::vector<int64_t> counts(int64_t length) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < length; ++i) all.push_back(count());
    return all;
  }
  std::vector<int64_t> addresses(int64_t length) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < length; ++i) all.push_back(address());
    return all;
  }
  std::vector<int> integers(int64_t length) {
    std::vector<int> all;
    for (int64_t i = 0; i < length; ++i) all.push_back(integer());
    return all;
  }

 private:
  const Type& type_;
  bool large_;
  size_t integer_ = 0;
  size_t count_ = 0;
  size_t address_ = 0;
};

/// The resized old types; freed on destruction.
struct OldTypes {
  std::vector<Type*> types;

  OldTypes() = default;
  OldTypes(const OldTypes&) = delete;
  OldTypes& operator=(const OldTypes&) = delete;
  ~OldTypes() {
    for (Type* type : types) free_handle(*type);
  }
  Type& first() const { return *types[0]; }
};

Status make_basic(const Type& basic, const SizeOfBasic& size_of, Type*& made) {
  int64_t bytes = 0;
  HEARTH_TRY(size_of(basic, bytes));
  return make_contiguous(bytes, predefined_type(MPI_BYTE), Form::large, made);
}

/// A pair, without padding.
Status make_pair(const Members& members, const SizeOfBasic& size_of, Type*& made) {
  int64_t first = 0;
  int64_t second = 0;
  HEARTH_TRY(size_of(*members.first, first));
  HEARTH_TRY(size_of(*members.second, second));
  return make_contiguous(saturated_sum(first, second), predefined_type(MPI_BYTE), Form::large, made);
}

Status make_indexed_kind(const Type& type, Type& old, Type*& made) {
  Arguments given(type);
  const int64_t count = given.count();
  const bool equal =
      type.combiner == MPI_COMBINER_INDEXED_BLOCK || type.combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const bool in_bytes =
      type.combiner == MPI_COMBINER_HINDEXED || type.combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const int64_t length = equal ? given.count() : 0;
  const std::vector<int64_t> lengths = equal ? std::vector<int64_t>() : given.counts(count);
  const std::vector<int64_t> places = in_bytes ? given.addresses(count) : given.counts(count);
  const CountArray at(places.data());
  const CountArray of(lengths.data());
  switch (type.combiner) {
    case MPI_COMBINER_INDEXED:
      return make_indexed(count, of, at, old, Form::large, made);
    case MPI_COMBINER_HINDEXED:
      return make_hindexed(count, of, at, old, Form::large, made);
    case MPI_COMBINER_INDEXED_BLOCK:
      return make_indexed_block(count, length, at, old, Form::large, made);
    default:
      return make_hindexed_block(count, length, at, old, Form::large, made);
  }
}

Status make_array_kind(const Type& type, Type& old, Type*& made) {
  Arguments given(type);
  if (type.combiner == MPI_COMBINER_SUBARRAY) {
    const int dimensions = given.integer();
    const std::vector<int64_t> sizes = given.counts(dimensions);
    const std::vector<int64_t> subsizes = given.counts(dimensions);
    const std::vector<int64_t> starts = given.counts(dimensions);
    return make_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(), given.integer(), old,
                         Form::large, made);
  }
  DistributedArray array = {};
  array.processes = given.integer();
  array.rank = given.integer();
  array.dimensions = given.integer();
  const std::vector<int64_t> sizes = given.counts(array.dimensions);
  const std::vector<int> distributions = given.integers(array.dimensions);
  const std::vector<int> arguments = given.integers(array.dimensions);
  const std::vector<int> grid = given.integers(array.dimensions);
  array.sizes = sizes.data();
  array.distributions = distributions.data();
  array.arguments = arguments.data();
  array.grid = grid.data();
  array.order = given.integer();
  return make_darray(array, old, Form::large, made);
}

Status make_struct_kind(const Type& type, const std::vector<Type*>& types, Type*& made) {
  Arguments given(type);
  const int64_t count = given.count();
  const std::vector<int64_t> lengths = given.counts(count);
  const std::vector<int64_t> places = given.addresses(count);
  return make_struct(lengths.data(), places.data(), types, Form::large, made);
}

Status make_again(const Type& type, const OldTypes& old, Type*& made) {
  Arguments given(type);
  switch (type.combiner) {
    case MPI_COMBINER_DUP:
      return make_duplicate(old.first(), made);
    case MPI_COMBINER_CONTIGUOUS:
      return make_contiguous(given.count(), old.first(), Form::large, made);
    case MPI_COMBINER_VECTOR: {
      const int64_t count = given.count();
      const int64_t length = given.count();
      return make_vector(count, length, given.count(), old.first(), Form::large, made);
    }
    case MPI_COMBINER_HVECTOR: {
      const int64_t count = given.count();
      const int64_t length = given.count();
      return make_hvector(count, length, given.address(), old.first(), Form::large, made);
    }
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return make_indexed_kind(type, old.first(), made);
    case MPI_COMBINER_STRUCT:
      return make_struct_kind(type, old.types, made);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      return make_array_kind(type, old.first(), made);
    case MPI_COMBINER_RESIZED: {
      const int64_t lower_bound = given.address();
      return make_resized(old.first(), lower_bound, given.address(), Form::large, made);
    }
    default:
      return fail(MPI_ERR_TYPE, "a datatype of combiner %d has no layout in this data representation",
                  type.combiner);
  }
}

}  // namespace

Status resize_basics(const Type& type, const SizeOfBasic& size_of, Type*& made) {
  if (const Members members = members_of(type); members.first != nullptr)
    return make_pair(members, size_of, made);
  if (type.types.empty() && type.size > 0) return make_basic(type, size_of, made);
  if (type.types.empty()) return make_contiguous(0, predefined_type(MPI_BYTE), Form::large, made);
  OldTypes old;
  old.types.reserve(type.types.size());
  for (const Type* each : type.types) {
    Type* resized = nullptr;
    HEARTH_TRY(resize_basics(*each, size_of, resized));
    old.types.push_back(resized);
  }
  if (type.combiner == MPI_COMBINER_VALUE_INDEX) {
    const int64_t bytes = saturated_sum(old.types[0]->size, old.types[1]->size);
    return make_contiguous(bytes, predefined_type(MPI_BYTE), Form::large, made);
  }
  return make_again(type, old, made);
}

}  // namespace hearth::datatype
