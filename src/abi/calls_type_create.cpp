// Constructors of datatypes (MPI 5.0 section 5.1), which src/datatype/construct.h implements, and the unnamed
// predefined ones of src/datatype/unnamed.h.
#include <memory>
#include <new>

#include "abi/handle.h"
#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/unnamed.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;

Status type_contiguous(Count count, Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_contiguous(count, oldtype, form, newtype);
}

Status type_vector(Count count, Count blocklength, int64_t stride, Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_vector(count, blocklength, stride, oldtype, form, newtype);
}

Status type_create_hvector(Count count, Count blocklength, int64_t stride, Type& oldtype, Type*& newtype,
                           Form form) {
  return datatype::make_hvector(count, blocklength, stride, oldtype, form, newtype);
}

Status type_indexed(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                    Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_indexed(count, array_of_blocklengths, array_of_displacements, oldtype, form, newtype);
}

Status type_create_indexed_block(Count count, Count blocklength, CountArray array_of_displacements,
                                 Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_indexed_block(count, blocklength, array_of_displacements, oldtype, form, newtype);
}

Status type_create_hindexed(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                            Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, form,
                                 newtype);
}

Status type_create_hindexed_block(Count count, Count blocklength, CountArray array_of_displacements,
                                  Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_hindexed_block(count, blocklength, array_of_displacements, oldtype, form, newtype);
}

Status type_create_struct(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                          const MPI_Datatype* array_of_types, Type*& newtype, Form form) {
  const auto members = static_cast<size_t>(count);
  const std::unique_ptr<Type*[]> types(new (std::nothrow) Type*[members]);
  if (types == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a datatype of %zu members", members);
  for (size_t i = 0; i < members; ++i) {
    types[i] = abi::find<Type>(array_of_types[i]);
    if (types[i] == nullptr) {
      return fail(MPI_ERR_TYPE, "array_of_types[%zu] %s", i,
                  array_of_types[i] == MPI_DATATYPE_NULL
                      ? "is MPI_DATATYPE_NULL"
                      : "is no datatype. Likely cause: it was freed, or never set");
    }
  }
  return datatype::make_struct(array_of_blocklengths, array_of_displacements, {types.get(), members}, form,
                               newtype);
}

Status type_create_subarray(int ndims, CountArray array_of_sizes, CountArray array_of_subsizes,
                            CountArray array_of_starts, int order, Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype,
                                 form, newtype);
}

Status type_create_darray(int size, int rank, int ndims, CountArray array_of_gsizes,
                          const int* array_of_distribs, const int* array_of_dargs, const int* array_of_psizes,
                          int order, Type& oldtype, Type*& newtype, Form form) {
  return datatype::make_darray({.processes = size,
                                .rank = rank,
                                .dimensions = ndims,
                                .sizes = array_of_gsizes,
                                .distributions = array_of_distribs,
                                .arguments = array_of_dargs,
                                .grid = array_of_psizes,
                                .order = order},
                               oldtype, form, newtype);
}

Status type_create_resized(Type& oldtype, int64_t lb, int64_t extent, Type*& newtype, Form form) {
  return datatype::make_resized(oldtype, lb, extent, form, newtype);
}

Status type_create_f90_real(int p, int r, Type*& newtype) {
  return datatype::f90_real(p, r, newtype);
}

Status type_create_f90_complex(int p, int r, Type*& newtype) {
  return datatype::f90_complex(p, r, newtype);
}

Status type_create_f90_integer(int r, Type*& newtype) {
  return datatype::f90_integer(r, newtype);
}

Status type_get_value_index(Type& value_type, Type& index_type, Type*& pair_type) {
  return datatype::value_index(value_type, index_type, pair_type);
}

Status type_dup(Type& oldtype, Type*& newtype) {
  Type* made = nullptr;
  HEARTH_TRY(datatype::make_duplicate(oldtype, made));
  const Status status = objects::copy_attributes(datatype::holder_of(oldtype), datatype::holder_of(*made));
  if (!status.ok()) {
    datatype::release(*made);
    return status;
  }
  newtype = made;
  return {};
}

}  // namespace hearth::mpi
