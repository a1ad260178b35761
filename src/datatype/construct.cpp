#include "datatype/construct.h"

#include <algorithm>
#include <climits>

#include "datatype/lifetime.h"
#include "datatype/pool.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

Status create(Type*& made) {
  made = pool.create();
  return made != nullptr ? Status() : fail(MPI_ERR_NO_MEM, "no memory for another datatype");
}

void made_from(Type& type, int combiner, Type& old) {
  type.combiner = combiner;
  type.types.push_back(&old);
  retain(old);
}

/// A count or bound as MPI_Type_get_contents returns it: in the small form wherever it fits.
void keep_count(Type& type, int64_t value) {
  if (value >= INT_MIN && value <= INT_MAX) {
    type.integers.push_back(static_cast<int>(value));
  } else {
    type.counts.push_back(value);
  }
}

bool is_dense(const Type& type) {
  return type.contiguous || type.layout->one_block();
}

LayoutPointer layout_of(const Type& type) {
  if (!type.contiguous) return type.layout;
  return make_layout({{type.true_lower_bound, type.size}});
}

/// The lowest and the highest place that a bound takes over `count` elements.
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
};

bool reach(int64_t bound, int64_t extent, Count count, Reach& result) {
  int64_t last;
  if (__builtin_mul_overflow(count - 1, extent, &last) || __builtin_add_overflow(last, bound, &last))
    return false;
  result = {std::min(bound, last), std::max(bound, last)};
  return true;
}

/// Bounds of `count` elements one extent apart; false when a number leaves 64 bits.
bool extend(const Type& old, Count count, Type& type) {
  if (count == 0) return true;
  Reach lower;
  Reach upper;
  if (!reach(old.lower_bound, old.extent, count, lower) ||
      !reach(old.lower_bound + old.extent, old.extent, count, upper)) {
    return false;
  }
  type.lower_bound = lower.low;
  if (__builtin_sub_overflow(upper.high, lower.low, &type.extent)) return false;
  if (!reach(old.true_lower_bound, old.extent, count, lower) ||
      !reach(old.true_lower_bound + old.true_extent, old.extent, count, upper)) {
    return false;
  }
  type.true_lower_bound = lower.low;
  return !__builtin_sub_overflow(upper.high, lower.low, &type.true_extent);
}

/// All that says how elements lie in memory.
void take_shape(Type& type, const Type& old) {
  type.size = old.size;
  type.lower_bound = old.lower_bound;
  type.extent = old.extent;
  type.true_lower_bound = old.true_lower_bound;
  type.true_extent = old.true_extent;
  type.contiguous = old.contiguous;
  type.committed = old.committed;
  type.element = old.element;
  type.layout = old.layout;
}

}  // namespace

Status make_contiguous(Count count, Type& old, Type*& made) {
  Type shape;
  if (__builtin_mul_overflow(count, old.size, &shape.size) || !extend(old, count, shape)) {
    return fail(
        MPI_ERR_VALUE_TOO_LARGE, "%lld elements of %lld bytes, %lld apart, are more than 64 bits can say",
        static_cast<long long>(count), static_cast<long long>(old.size), static_cast<long long>(old.extent));
  }
  shape.contiguous = shape.size == 0 || old.contiguous;
  if (!shape.contiguous) shape.layout = repeat(old.layout, count, old.extent);
  HEARTH_TRY(create(made));
  take_shape(*made, shape);
  made_from(*made, MPI_COMBINER_CONTIGUOUS, old);
  keep_count(*made, count);
  return {};
}

Status make_resized(Type& old, int64_t lower_bound, int64_t extent, Type*& made) {
  int64_t upper_bound;
  if (__builtin_add_overflow(lower_bound, extent, &upper_bound)) {
    return fail(MPI_ERR_VALUE_TOO_LARGE, "lb %lld and extent %lld together are more than 64 bits can say",
                static_cast<long long>(lower_bound), static_cast<long long>(extent));
  }
  HEARTH_TRY(create(made));
  take_shape(*made, old);
  made->lower_bound = lower_bound;
  made->extent = extent;
  made->committed = false;
  made->element = Element::none;
  made->contiguous = old.size == 0 || (is_dense(old) && extent == old.size);
  made->layout = made->contiguous ? nullptr : layout_of(old);
  made_from(*made, MPI_COMBINER_RESIZED, old);
  made->addresses = {lower_bound, extent};
  return {};
}

Status make_duplicate(Type& old, Type*& made) {
  HEARTH_TRY(create(made));
  take_shape(*made, old);
  made_from(*made, MPI_COMBINER_DUP, old);
  return {};
}

Status make_twin(const Type& old, Type*& made) {
  HEARTH_TRY(create(made));
  take_shape(*made, old);
  made->combiner = old.combiner;
  made->integers = old.integers;
  made->counts = old.counts;
  made->addresses = old.addresses;
  made->types = old.types;
  for (Type* type : made->types) retain(*type);
  return {};
}

void destroy(Type& type) {
  for (Type* old : type.types) release(*old);
  type.alive = Pool<Type>::kAlive;  // free_handle() had hidden it
  pool.destroy(&type);
}

objects::AttributeHolder holder_of(Type& type) {
  return {objects::KeyvalKind::type, objects::handle_of<MPI_Datatype>(type), &type.attributes};
}

}  // namespace hearth::datatype
