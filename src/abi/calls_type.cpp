// MPI 5.0 section 5.1: datatypes, their bounds and names, and types by size (section 19.1.6).
#include "abi/handle.h"
#include "abi/names.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;

Status type_commit(Type& datatype) {
  if (!datatype.supported)
    return fail(MPI_ERR_TYPE, "%s is not supported on this machine", datatype.name.c_str());
  datatype.committed = true;
  return {};
}

Status type_free(Type*& datatype) {
  if (datatype->predefined != 0) {
    return fail(MPI_ERR_TYPE, "%s is predefined and cannot be freed", datatype->name.c_str());
  }
  if (datatype->permanent) {
    return fail(MPI_ERR_TYPE,
                "the datatype is one of the library's unnamed predefined ones, which "
                "MPI_Type_create_f90_real and its kind return, and cannot be freed");
  }
  HEARTH_TRY(objects::delete_attributes(datatype::holder_of(*datatype)));
  datatype::free_handle(*datatype);
  datatype = nullptr;
  return {};
}

Status type_size(Type& datatype, Count& size) {
  size = datatype.supported ? datatype.size : MPI_UNDEFINED;
  return {};
}

Status type_get_extent(Type& datatype, Count& lb, Count& extent) {
  lb = datatype.lower_bound;
  extent = datatype.extent;
  return {};
}

Status type_get_true_extent(Type& datatype, Count& true_lb, Count& true_extent) {
  true_lb = datatype.true_lower_bound;
  true_extent = datatype.true_extent;
  return {};
}

Status type_get_name(Type& datatype, char* type_name, int& resultlen) {
  abi::get_name(datatype.name, type_name, resultlen);
  return {};
}

Status type_set_name(Type& datatype, const char* type_name) {
  abi::set_name(datatype.name, type_name);
  return {};
}

namespace {

struct SizedType {
  int type_class;
  int size;
  MPI_Datatype handle;
};

}  // namespace

Status type_match_size(int typeclass, int size, Type*& datatype) {
  const SizedType rows[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
      {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},  {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
      {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},  {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
  };
  bool class_known = false;
  for (const SizedType& row : rows) {
    if (row.type_class != typeclass) continue;
    class_known = true;
    Type* type = abi::find<Type>(row.handle);
    if (row.size != size || type == nullptr || !type->supported) continue;
    datatype = type;
    return {};
  }
  if (!class_known) {
    return fail(MPI_ERR_ARG,
                "typeclass=%d is none of MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_TYPECLASS_COMPLEX",
                typeclass);
  }
  return fail(MPI_ERR_ARG, "there is no predefined datatype of %d bytes in this class", size);
}

}  // namespace hearth::mpi
