#include "datatype/construct.h"

#include <utility>

#include "datatype/contents.h"
#include "datatype/lifetime.h"
#include "datatype/pool.h"
#include "mpi.h"

namespace hearth::datatype {

Status create(const Shape& shape, Type*& made) {
  made = pool.create();
  if (made == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another datatype");
  static_cast<Shape&>(*made) = shape;
  return {};
}

Contents& Contents::old_type(Type& old) {
  type_.types.push_back(&old);
  retain(old);
  return *this;
}

Status check_usable(const Type& old) {
  if (old.supported) return {};
  return fail(MPI_ERR_TYPE, "%s is not supported: the compiler that built Hearth has no such type",
              old.name.c_str());
}

Status too_large(const Type& old) {
  return fail(MPI_ERR_VALUE_TOO_LARGE,
              "the new datatype, made of elements of %lld bytes that are %lld bytes apart, has a size, a "
              "bound or an extent that is more than 64 bits can hold. Likely cause: a count, stride or "
              "displacement that was never set",
              static_cast<long long>(old.size), static_cast<long long>(old.extent));
}

namespace {

Status check_block_length(int64_t length, Count index) {
  if (length >= 0) return {};
  return fail(MPI_ERR_ARG, "array_of_blocklengths[%lld] is %lld: it must not be negative",
              static_cast<long long>(index), static_cast<long long>(length));
}

/// Joins the blocks of an indexed type; `unit` is the unit of displacements in bytes.
template <class BlockLength>
Status join_blocks(Count count, const BlockLength& block_length, CountArray displacements, int64_t unit,
                   const Type& old, Shape& shape) {
  HEARTH_TRY(check_usable(old));
  ShapeJoiner joiner;
  Shape block;
  int64_t length_before = -1;
  for (Count i = 0; i < count; ++i) {
    const int64_t length = block_length(i);
    HEARTH_TRY(check_block_length(length, i));
    int64_t place;
    // Consecutive blocks of equal length share their layout.
    if (length != length_before && !repeat(old, length, old.extent, block)) return too_large(old);
    length_before = length;
    if (length == 0) continue;
    if (__builtin_mul_overflow(displacements[i], unit, &place) || !joiner.add(block, place))
      return too_large(old);
  }
  return joiner.finish(shape) ? Status() : too_large(old);
}

/// The unit of strides and displacements: the extent of the old type or, in the constructors with an h,
/// bytes, which the standard treats as addresses.
enum class Unit { element, byte };

int64_t bytes_of(Unit unit, const Type& old) {
  return unit == Unit::byte ? 1 : old.extent;
}

Status repeat_blocks(Count count, Count block_length, int64_t stride_bytes, const Type& old, Shape& shape) {
  HEARTH_TRY(check_usable(old));
  Shape block;
  const bool fits = repeat(old, block_length, old.extent, block) && repeat(block, count, stride_bytes, shape);
  return fits ? Status() : too_large(old);
}

Status vector_in(Unit unit, Count count, Count block_length, int64_t stride, Type& old, Form form,
                 Type*& made) {
  int64_t stride_bytes;
  if (__builtin_mul_overflow(stride, bytes_of(unit, old), &stride_bytes)) return too_large(old);
  Shape shape;
  HEARTH_TRY(repeat_blocks(count, block_length, stride_bytes, old, shape));
  HEARTH_TRY(create(shape, made));
  const bool in_bytes = unit == Unit::byte;
  Contents contents(*made, in_bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR, form);
  contents.count(count).count(block_length);
  in_bytes ? contents.address(stride) : contents.count(stride);
  contents.old_type(old);
  return {};
}

void note_displacements(Contents& contents, Unit unit, CountArray displacements, Count count) {
  unit == Unit::byte ? contents.address_array(displacements, count)
                     : contents.count_array(displacements, count);
}

Status indexed_in(Unit unit, Count count, CountArray block_lengths, CountArray displacements, Type& old,
                  Form form, Type*& made) {
  Shape shape;
  const auto length_of = [&](Count i) { return block_lengths[i]; };
  HEARTH_TRY(join_blocks(count, length_of, displacements, bytes_of(unit, old), old, shape));
  HEARTH_TRY(create(shape, made));
  Contents contents(*made, unit == Unit::byte ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED, form);
  contents.count(count).count_array(block_lengths, count);
  note_displacements(contents, unit, displacements, count);
  contents.old_type(old);
  return {};
}

Status indexed_block_in(Unit unit, Count count, Count block_length, CountArray displacements, Type& old,
                        Form form, Type*& made) {
  Shape shape;
  const auto length_of = [&](Count) { return block_length; };
  HEARTH_TRY(join_blocks(count, length_of, displacements, bytes_of(unit, old), old, shape));
  HEARTH_TRY(create(shape, made));
  Contents contents(*made, unit == Unit::byte ? MPI_COMBINER_HINDEXED_BLOCK : MPI_COMBINER_INDEXED_BLOCK,
                    form);
  contents.count(count).count(block_length);
  note_displacements(contents, unit, displacements, count);
  contents.old_type(old);
  return {};
}

}  // namespace

Status make_contiguous(Count count, Type& old, Form form, Type*& made) {
  Shape shape;
  HEARTH_TRY(repeat_blocks(1, count, 0, old, shape));
  HEARTH_TRY(create(shape, made));
  Contents(*made, MPI_COMBINER_CONTIGUOUS, form).count(count).old_type(old);
  return {};
}

Status make_vector(Count count, Count block_length, int64_t stride, Type& old, Form form, Type*& made) {
  return vector_in(Unit::element, count, block_length, stride, old, form, made);
}

Status make_hvector(Count count, Count block_length, int64_t stride, Type& old, Form form, Type*& made) {
  return vector_in(Unit::byte, count, block_length, stride, old, form, made);
}

Status make_indexed(Count count, CountArray block_lengths, CountArray displacements, Type& old, Form form,
                    Type*& made) {
  return indexed_in(Unit::element, count, block_lengths, displacements, old, form, made);
}

Status make_hindexed(Count count, CountArray block_lengths, CountArray displacements, Type& old, Form form,
                     Type*& made) {
  return indexed_in(Unit::byte, count, block_lengths, displacements, old, form, made);
}

Status make_indexed_block(Count count, Count block_length, CountArray displacements, Type& old, Form form,
                          Type*& made) {
  return indexed_block_in(Unit::element, count, block_length, displacements, old, form, made);
}

Status make_hindexed_block(Count count, Count block_length, CountArray displacements, Type& old, Form form,
                           Type*& made) {
  return indexed_block_in(Unit::byte, count, block_length, displacements, old, form, made);
}

Status make_struct(CountArray block_lengths, CountArray displacements, std::span<Type* const> types,
                   Form form, Type*& made) {
  const auto count = static_cast<Count>(types.size());
  ShapeJoiner joiner;
  for (Count i = 0; i < count; ++i) {
    const Type& old = *types[static_cast<size_t>(i)];
    HEARTH_TRY(check_usable(old));
    HEARTH_TRY(check_block_length(block_lengths[i], i));
    Shape block;
    if (!repeat(old, block_lengths[i], old.extent, block) || !joiner.add(block, displacements[i]))
      return too_large(old);
  }
  Shape shape;
  if (!joiner.finish(shape)) return too_large(*types[0]);
  HEARTH_TRY(create(shape, made));
  Contents contents(*made, MPI_COMBINER_STRUCT, form);
  contents.count(count).count_array(block_lengths, count).address_array(displacements, count);
  for (Type* old : types) contents.old_type(*old);
  return {};
}

Status make_resized(Type& old, int64_t lower_bound, int64_t extent, Form form, Type*& made) {
  HEARTH_TRY(check_usable(old));
  int64_t upper_bound;
  if (__builtin_add_overflow(lower_bound, extent, &upper_bound)) {
    return fail(MPI_ERR_VALUE_TOO_LARGE, "lb %lld and extent %lld together are more than 64 bits can hold",
                static_cast<long long>(lower_bound), static_cast<long long>(extent));
  }
  HEARTH_TRY(create(with_bounds(old, lower_bound, extent), made));
  Contents(*made, MPI_COMBINER_RESIZED, form).address(lower_bound).address(extent).old_type(old);
  return {};
}

Status make_duplicate(Type& old, Type*& made) {
  HEARTH_TRY(check_usable(old));
  HEARTH_TRY(create(old, made));
  made->committed = old.committed;
  made->element = old.element;
  Contents(*made, MPI_COMBINER_DUP, Form::small).old_type(old);
  return {};
}

Status make_twin(const Type& old, Type*& made) {
  HEARTH_TRY(create(old, made));
  made->committed = old.committed;
  made->element = old.element;
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
  type.alive = Pool<Type>::kAlive;  // free_handle() has cleared it
  pool.destroy(&type);
}

objects::AttributeHolder holder_of(Type& type) {
  return {objects::KeyvalKind::type, objects::handle_of<MPI_Datatype>(type), &type.attributes};
}

}  // namespace hearth::datatype
