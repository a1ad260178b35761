// Parts of arrays: MPI_Type_create_subarray and MPI_Type_create_darray (MPI 5.0 sections 5.1.3 and 5.1.4).
// Both process one dimension after another, the fastest first: each repeats the shape of the previous ones.
#include <algorithm>

#include "datatype/construct.h"
#include "datatype/contents.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

Status bad_entry(const char* array, int index, int64_t value, const char* rule) {
  return fail(MPI_ERR_ARG, "%s[%d] is %lld: %s", array, index, static_cast<long long>(value), rule);
}

Status check_frame(int dimensions, int order) {
  if (dimensions < 1) return fail(MPI_ERR_ARG, "ndims is %d: an array has at least 1 dimension", dimensions);
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
    return fail(MPI_ERR_ARG, "order is %d: it must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
  }
  return {};
}

/// The dimension that is `step` after the fastest one.
int dimension_at(int step, int dimensions, int order) {
  return order == MPI_ORDER_FORTRAN ? step : dimensions - 1 - step;
}

/// Makes the type of a part of an array: `shape` has the layout of the data, `whole_extent` is the extent of
/// the whole array.
Status create_part(const Shape& shape, int64_t displacement, int64_t whole_extent, const Type& old,
                   Type*& made) {
  ShapeJoiner joiner;
  Shape placed;
  if (!joiner.add(shape, displacement) || !joiner.finish(placed)) return too_large(old);
  return create(with_bounds(placed, 0, whole_extent), made);
}

Status check_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts) {
  for (int i = 0; i < dimensions; ++i) {
    if (sizes[i] < 1)
      return bad_entry("array_of_sizes", i, sizes[i], "an array has at least 1 element in each dimension");
    if (subsizes[i] < 1 || subsizes[i] > sizes[i])
      return bad_entry("array_of_subsizes", i, subsizes[i], "it must be 1 to the entry of array_of_sizes");
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i]) {
      return bad_entry("array_of_starts", i, starts[i],
                       "it counts from 0, and start and subsize together must lie inside of array_of_sizes");
    }
  }
  return {};
}

/// The share of a process in one dimension.
struct Share {
  int64_t block;        // elements in a full block
  int64_t first;        // index of the first element
  int64_t full_blocks;  // block * grid apart
  int64_t rest;         // elements of a last block that is not full
  int64_t rest_first;   // index of its first element
};

Share share_of(int64_t size, int64_t block, int64_t grid, int64_t place) {
  const int64_t blocks = (size - 1) / block + 1;
  const int64_t mine = blocks > place ? (blocks - 1 - place) / grid + 1 : 0;
  const int64_t last_first = (blocks - 1) * block;
  const bool has_last = mine > 0 && (blocks - 1) % grid == place;
  const int64_t last = size - last_first;
  const bool broken = has_last && last < block;
  return {block, place * block, broken ? mine - 1 : mine, broken ? last : 0, last_first};
}

/// `shape` is the share in the previous dimensions; `stride` is the distance in bytes from one index to the
/// next.
bool distribute(const Share& share, int64_t grid, int64_t stride, Shape& shape) {
  ShapeJoiner joiner;
  Shape block;
  Shape all;
  int64_t cycle;
  int64_t place;
  if (!repeat(shape, share.block, stride, block) || __builtin_mul_overflow(share.block, grid, &cycle) ||
      __builtin_mul_overflow(cycle, stride, &cycle) || !repeat(block, share.full_blocks, cycle, all)) {
    return false;
  }
  if (share.full_blocks > 0 &&
      (__builtin_mul_overflow(share.first, stride, &place) || !joiner.add(all, place)))
    return false;
  if (share.rest > 0 &&
      (!repeat(shape, share.rest, stride, block) ||
       __builtin_mul_overflow(share.rest_first, stride, &place) || !joiner.add(block, place))) {
    return false;
  }
  return joiner.finish(shape);
}

Status check_grid(const DistributedArray& array) {
  int64_t processes = 1;
  for (int i = 0; i < array.dimensions; ++i) {
    if (array.sizes[i] < 1) {
      return bad_entry("array_of_gsizes", i, array.sizes[i],
                       "an array has at least 1 element in each dimension");
    }
    if (array.grid[i] < 1)
      return bad_entry("array_of_psizes", i, array.grid[i], "it must be at least 1 process");
    if (__builtin_mul_overflow(processes, array.grid[i], &processes)) processes = INT64_MAX;
  }
  if (processes != array.processes) {
    return fail(MPI_ERR_ARG, "the product of array_of_psizes is %lld, but size is %d: they must be equal",
                static_cast<long long>(processes), array.processes);
  }
  if (array.rank < 0 || array.rank >= array.processes)
    return fail(MPI_ERR_ARG, "rank is %d, but the processes are 0 to %d", array.rank, array.processes - 1);
  return {};
}

/// The number of elements of a block in one dimension.
Status block_of(const DistributedArray& array, int i, int64_t& block) {
  const int64_t size = array.sizes[i];
  const int64_t grid = array.grid[i];
  const int argument = array.arguments[i];
  const bool by_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (!by_default && argument < 1 && array.distributions[i] != MPI_DISTRIBUTE_NONE) {
    return bad_entry("array_of_dargs", i, argument, "it must be positive or MPI_DISTRIBUTE_DFLT_DARG");
  }
  switch (array.distributions[i]) {
    case MPI_DISTRIBUTE_NONE:
      if (grid != 1) {
        return bad_entry("array_of_psizes", i, grid,
                         "a dimension that is not distributed (MPI_DISTRIBUTE_NONE) has 1 process");
      }
      block = size;
      return {};
    case MPI_DISTRIBUTE_BLOCK:
      block = by_default ? (size - 1) / grid + 1 : argument;
      if (block < (size - 1) / grid + 1) {
        return bad_entry("array_of_dargs", i, argument,
                         "blocks (MPI_DISTRIBUTE_BLOCK) times processes must reach array_of_gsizes");
      }
      return {};
    case MPI_DISTRIBUTE_CYCLIC:
      block = by_default ? 1 : argument;
      return {};
    default:
      return bad_entry("array_of_distribs", i, array.distributions[i],
                       "it must be MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE");
  }
}

/// The coordinate of the process in dimension `i` of the grid, whose last dimension varies fastest.
int64_t place_in_grid(const DistributedArray& array, int i) {
  int64_t rank = array.rank;
  for (int after = array.dimensions - 1; after > i; --after) rank /= array.grid[after];
  return rank % array.grid[i];
}

}  // namespace

Status make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                     Type& old, Form form, Type*& made) {
  HEARTH_TRY(check_usable(old));
  HEARTH_TRY(check_frame(dimensions, order));
  HEARTH_TRY(check_subarray(dimensions, sizes, subsizes, starts));
  Shape shape = old;
  int64_t stride = old.extent;
  int64_t displacement = 0;
  for (int step = 0; step < dimensions; ++step) {
    const int i = dimension_at(step, dimensions, order);
    Shape repeated;
    int64_t skipped;
    if (!repeat(shape, subsizes[i], stride, repeated) ||
        __builtin_mul_overflow(starts[i], stride, &skipped) ||
        __builtin_add_overflow(displacement, skipped, &displacement) ||
        __builtin_mul_overflow(stride, sizes[i], &stride)) {
      return too_large(old);
    }
    shape = repeated;
  }
  HEARTH_TRY(create_part(shape, displacement, stride, old, made));
  Contents(*made, MPI_COMBINER_SUBARRAY, form)
      .integer(dimensions)
      .count_array(sizes, dimensions)
      .count_array(subsizes, dimensions)
      .count_array(starts, dimensions)
      .integer(order)
      .old_type(old);
  return {};
}

Status make_darray(const DistributedArray& array, Type& old, Form form, Type*& made) {
  HEARTH_TRY(check_usable(old));
  HEARTH_TRY(check_frame(array.dimensions, array.order));
  HEARTH_TRY(check_grid(array));
  Shape shape = old;
  int64_t stride = old.extent;
  for (int step = 0; step < array.dimensions; ++step) {
    const int i = dimension_at(step, array.dimensions, array.order);
    int64_t block = 0;
    HEARTH_TRY(block_of(array, i, block));
    // A block is at most as long as the array.
    block = std::min(block, array.sizes[i]);
    const Share share = share_of(array.sizes[i], block, array.grid[i], place_in_grid(array, i));
    if (!distribute(share, array.grid[i], stride, shape) ||
        __builtin_mul_overflow(stride, array.sizes[i], &stride)) {
      return too_large(old);
    }
  }
  HEARTH_TRY(create_part(shape, 0, stride, old, made));
  const int dimensions = array.dimensions;
  Contents(*made, MPI_COMBINER_DARRAY, form)
      .integer(array.processes)
      .integer(array.rank)
      .integer(dimensions)
      .count_array(array.sizes, dimensions)
      .integer_array(array.distributions, dimensions)
      .integer_array(array.arguments, dimensions)
      .integer_array(array.grid, dimensions)
      .integer(array.order)
      .old_type(old);
  return {};
}

}  // namespace hearth::datatype
