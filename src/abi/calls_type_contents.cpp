// MPI 5.0 section 5.1.13: decoding a datatype.
#include <algorithm>

#include "abi/handle.h"
#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using datatype::Type;

Status type_get_envelope(Type& datatype, int& num_integers, int& num_addresses, int& num_datatypes,
                         int& combiner) {
  if (!datatype.counts.empty()) {
    return fail(MPI_ERR_TYPE,
                "the datatype was made by the large form of its constructor (_c), so its counts are of "
                "MPI_Count. Remedy: MPI_Type_get_envelope_c and MPI_Type_get_contents_c");
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
  // The user frees the returned types unless they are predefined, so each is a new object.
  for (size_t i = 0; i < datatype.types.size(); ++i) {
    Type* type = datatype.types[i];
    if (!type->is_predefined()) {
      const Status status = datatype::make_twin(*datatype.types[i], type);
      if (!status.ok()) {
        while (i-- > 0) {
          if (!datatype.types[i]->is_predefined()) datatype::release(*abi::find<Type>(array_of_datatypes[i]));
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

}  // namespace hearth::mpi
