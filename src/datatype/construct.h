// Constructors of datatypes (MPI 5.0 section 5.1). Each returns a new type that holds a reference on its old
// types and stores the arguments in the form that was called (int or MPI_Count), for MPI_Type_get_contents.
// Called under the library's lock.
//
// Entry points have rejected negative counts; entries of arrays are checked here.
#pragma once

#include <span>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

Status make_contiguous(Count count, Type& old, Form form, Type*& made);
/// `stride` in extents of the old type.
Status make_vector(Count count, Count block_length, int64_t stride, Type& old, Form form, Type*& made);
/// `stride` in bytes.
Status make_hvector(Count count, Count block_length, int64_t stride, Type& old, Form form, Type*& made);

/// Displacements in extents of the old type.
Status make_indexed(Count count, CountArray block_lengths, CountArray displacements, Type& old, Form form,
                    Type*& made);
Status make_indexed_block(Count count, Count block_length, CountArray displacements, Type& old, Form form,
                          Type*& made);
/// Displacements in bytes.
Status make_hindexed(Count count, CountArray block_lengths, CountArray displacements, Type& old, Form form,
                     Type*& made);
Status make_hindexed_block(Count count, Count block_length, CountArray displacements, Type& old, Form form,
                           Type*& made);
Status make_struct(CountArray block_lengths, CountArray displacements, std::span<Type* const> types,
                   Form form, Type*& made);

/// `order` is MPI_ORDER_C or MPI_ORDER_FORTRAN.
Status make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                     Type& old, Form form, Type*& made);

/// Arguments of MPI_Type_create_darray.
struct DistributedArray {
  int processes;
  int rank;
  int dimensions;
  CountArray sizes;
  const int* distributions;
  const int* arguments;
  const int* grid;
  int order;
};
Status make_darray(const DistributedArray& array, Type& old, Form form, Type*& made);

Status make_resized(Type& old, int64_t lower_bound, int64_t extent, Form form, Type*& made);
/// Equal except for name and attributes; committed if the old type is.
Status make_duplicate(Type& old, Type*& made);
/// A second type with the same construction, which MPI_Type_get_contents returns.
Status make_twin(const Type& old, Type*& made);

}  // namespace hearth::datatype
