// Callbacks that get an extra state: the facade passes functions of its own, and the user's functions with
// their extra state as the extra state.
#include <new>

#include "facade_by_hand.h"

namespace hearth::facade {
namespace {

struct GeneralizedRequest {
  int (*query)(void*, Status*);
  int (*free)(void*);
  int (*cancel)(void*, int);
  void* extra_state;
};

int query_request(void* extra_state, MPI_Status* status) {
  const auto& user = *static_cast<GeneralizedRequest*>(extra_state);
  Status there{};
  write_status(there, *status);
  there.MPI_ERROR = code_out(status->MPI_ERROR);
  const int code = user.query(user.extra_state, &there);
  *status = status_in(there);
  return error_in(code);
}

int free_request(void* extra_state) {
  auto* const user = static_cast<GeneralizedRequest*>(extra_state);
  const int code = user->free != nullptr ? user->free(user->extra_state) : MPI_SUCCESS;
  delete user;
  return error_in(code);
}

int cancel_request(void* extra_state, int complete) {
  const auto& user = *static_cast<GeneralizedRequest*>(extra_state);
  return user.cancel != nullptr ? error_in(user.cancel(user.extra_state, complete)) : MPI_SUCCESS;
}

/// `Number` is the type of counts. A representation cannot be unregistered, so that it is never freed.
template <class Number>
struct Representation {
  using Convert = int(void*, Datatype, Number, void*, MPI_Offset, void*);
  Convert* read;
  Convert* write;
  int (*extent)(Datatype, MPI_Aint*, void*);
  void* extra_state;
};

template <class Number>
int read_items(void* userbuf, MPI_Datatype datatype, Number count, void* filebuf, MPI_Offset position,
               void* extra_state) {
  const auto& user = *static_cast<Representation<Number>*>(extra_state);
  return error_in(user.read(userbuf, type_out(datatype), count, filebuf, position, user.extra_state));
}

template <class Number>
int write_items(void* userbuf, MPI_Datatype datatype, Number count, void* filebuf, MPI_Offset position,
                void* extra_state) {
  const auto& user = *static_cast<Representation<Number>*>(extra_state);
  return error_in(user.write(userbuf, type_out(datatype), count, filebuf, position, user.extra_state));
}

template <class Number>
int extent_of_item(MPI_Datatype datatype, MPI_Aint* extent, void* extra_state) {
  const auto& user = *static_cast<Representation<Number>*>(extra_state);
  return error_in(user.extent(type_out(datatype), extent, user.extra_state));
}

template <class Number, class Register>
int register_representation(const char* datarep, void* read, void* write, void* extent, void* extra_state,
                            Register call) {
  using Convert = typename Representation<Number>::Convert;
  auto* const user = new (std::nothrow)
      Representation<Number>{reinterpret_cast<Convert*>(read), reinterpret_cast<Convert*>(write),
                             reinterpret_cast<int (*)(Datatype, MPI_Aint*, void*)>(extent), extra_state};
  if (user == nullptr) return code_out(MPI_ERR_NO_MEM);
  const int code = call(datarep, read != nullptr ? read_items<Number> : nullptr,
                        write != nullptr ? write_items<Number> : nullptr,
                        extent != nullptr ? extent_of_item<Number> : nullptr, user);
  if (code != MPI_SUCCESS) delete user;
  return code_out(code);
}

}  // namespace

namespace by_hand {

int Grequest_start(void* query_fn, void* free_fn, void* cancel_fn, void* extra_state, Request* request) {
  auto* const user = new (std::nothrow) GeneralizedRequest{
      reinterpret_cast<int (*)(void*, Status*)>(query_fn), reinterpret_cast<int (*)(void*)>(free_fn),
      reinterpret_cast<int (*)(void*, int)>(cancel_fn), extra_state};
  if (user == nullptr) return code_out(MPI_ERR_NO_MEM);
  Out<request_out> request_(request);
  const int code = core().Grequest_start(query_fn != nullptr ? query_request : nullptr, free_request,
                                         cancel_request, user, request_.get());
  if (code != MPI_SUCCESS) delete user;
  request_.finish();
  return code_out(code);
}

int Register_datarep(const char* datarep, void* read_conversion_fn, void* write_conversion_fn,
                     void* dtype_file_extent_fn, void* extra_state) {
  return register_representation<int>(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn,
                                      extra_state, core().Register_datarep);
}

int Register_datarep_c(const char* datarep, void* read_conversion_fn, void* write_conversion_fn,
                       void* dtype_file_extent_fn, void* extra_state) {
  return register_representation<MPI_Count>(datarep, read_conversion_fn, write_conversion_fn,
                                            dtype_file_extent_fn, extra_state, core().Register_datarep_c);
}

}  // namespace by_hand
}  // namespace hearth::facade
