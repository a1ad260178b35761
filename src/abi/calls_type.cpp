// MPI 5.0 section 5.1: datatypes. Their constructors are in src/datatype/construct.h.
#include <algorithm>

#include "abi/handle.h"
#include "abi/names.h"
#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;

Status type_contiguous(Count count, Type& oldtype, Type*& newtype) {
  return datatype::make_contiguous(count, oldtype, newtype);
}

Status type_create_resized(Type& oldtype, int64_t lb, int64_t extent, Type*& newtype) {
  return datatype::make_resized(oldtype, lb, extent, newtype);
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

// How a type was made.

Status type_get_envelope(Type& datatype, int& num_integers, int& num_addresses, int& num_datatypes,
                         int& combiner) {
  if (!datatype.counts.empty()) {
    return fail(MPI_ERR_TYPE,
                "the datatype was made with counts beyond int. Remedy: MPI_Type_get_envelope_c, "
                "MPI_Type_get_contents_c");
  }
  num_integers = static_cast<int>(datatype.integers.size());
  num_addresses = static_cast<int>(datatype.addresses.size());
  num_datatypes = static_cast<int>(datatype.types.size());
  combiner = datatype.combiner;
  return {};
}

Status type_get_envelope_c(Type& datatype, Count& num_integers, Count& num_addresses, Count& num_large_counts,
                           Count& num_datatypes, int& combiner) {
  num_integers = static_cast<Count>(datatype.integers.size());
  num_addresses = static_cast<Count>(datatype.addresses.size());
  num_large_counts = static_cast<Count>(datatype.counts.size());
  num_datatypes = static_cast<Count>(datatype.types.size());
  combiner = datatype.combiner;
  return {};
}

namespace {

template <class T>
Status check_room(const std::vector<T>& values, Count room, const void* place, const char* what) {
  if (static_cast<Count>(values.size()) > room) {
    return fail(MPI_ERR_ARG,
                "the datatype has %zu %s, but there is room for %lld. Remedy: ask MPI_Type_get_envelope",
                values.size(), what, static_cast<long long>(room));
  }
  if (!values.empty() && place == nullptr)
    return fail(MPI_ERR_ARG, "the array of %s is a null pointer", what);
  return {};
}

}  // namespace

Status type_get_contents_c(Type& datatype, Count max_integers, Count max_addresses, Count max_large_counts,
                           Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                           MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[]) {
  if (datatype.combiner == MPI_COMBINER_NAMED) {
    return fail(MPI_ERR_TYPE, "%s is predefined and has no contents", datatype.name.c_str());
  }
  HEARTH_TRY(check_room(datatype.integers, max_integers, array_of_integers, "integers"));
  HEARTH_TRY(check_room(datatype.addresses, max_addresses, array_of_addresses, "addresses"));
  HEARTH_TRY(check_room(datatype.counts, max_large_counts, array_of_large_counts, "large counts"));
  HEARTH_TRY(check_room(datatype.types, max_datatypes, array_of_datatypes, "datatypes"));
  std::copy(datatype.integers.begin(), datatype.integers.end(), array_of_integers);
  std::copy(datatype.addresses.begin(), datatype.addresses.end(), array_of_addresses);
  std::copy(datatype.counts.begin(), datatype.counts.end(), array_of_large_counts);
  // The user frees the types that it gets, so each is one of its own.
  for (size_t i = 0; i < datatype.types.size(); ++i) {
    Type* type = datatype.types[i];
    if (type->predefined == 0) {
      const Status status = datatype::make_twin(*datatype.types[i], type);
      if (!status.ok()) {
        while (i-- > 0) {
          if (datatype.types[i]->predefined == 0) datatype::release(*abi::find<Type>(array_of_datatypes[i]));
        }
        return status;
      }
    }
    array_of_datatypes[i] = abi::to_handle(type);
  }
  return {};
}

Status type_get_contents(Type& datatype, int max_integers, int max_addresses, int max_datatypes,
                         int array_of_integers[], MPI_Aint array_of_addresses[],
                         MPI_Datatype array_of_datatypes[]) {
  return type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, array_of_integers,
                             array_of_addresses, nullptr, array_of_datatypes);
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
