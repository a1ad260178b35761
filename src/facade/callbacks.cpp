// The user's callbacks: the library calls these adapters (objects/callback_adapters.h), which convert the
// arguments and call the user's function with its type in the facade's ABI.
#include <cstdio>

#include "facade/convert.h"

namespace hearth::facade {
namespace {

using objects::CopyFunction;
using objects::DeleteFunction;
using objects::Errhandler;
using objects::ErrhandlerKind;
using objects::KeyvalKind;

/// The user's function with its type in the facade's ABI.
template <class There, class Here>
There* as(Here* function) {
  return reinterpret_cast<There*>(reinterpret_cast<void*>(function));
}

template <class Number>
using Reduction = void(void*, void*, Number*, Datatype*);
template <class Handle>
using Copy = int(Handle, int, void*, void*, void*, int*);
template <class Handle>
using Delete = int(Handle, int, void*, void*);
template <class Handle>
using Report = void(Handle*, int*, ...);

template <class Number, class Function>
void reduce(Function* function, void* in, void* inout, Number count, MPI_Datatype datatype) {
  Datatype there = type_out(datatype);
  as<Reduction<Number>>(function)(in, inout, &count, &there);
}

/// Calls a function of the user with a handle in the facade's ABI, and returns its error code in the
/// library's.
template <class Call>
int call_with(KeyvalKind kind, void* handle, const Call& call) {
  switch (kind) {
    case KeyvalKind::comm:
      return error_in(call(comm_out(static_cast<MPI_Comm>(handle))));
    case KeyvalKind::type:
      return error_in(call(type_out(static_cast<MPI_Datatype>(handle))));
    case KeyvalKind::win:
      return error_in(call(win_out(static_cast<MPI_Win>(handle))));
  }
  return MPI_SUCCESS;
}

int copy_attribute(CopyFunction function, KeyvalKind kind, void* handle, int keyval, void* extra_state,
                   void* value_in, void* value_out, int* flag) {
  const auto call = [&]<class Handle>(Handle there) {
    return as<Copy<Handle>>(function.comm)(there, keyval_out(keyval), extra_state, value_in, value_out, flag);
  };
  return call_with(kind, handle, call);
}

int delete_attribute(DeleteFunction function, KeyvalKind kind, void* handle, int keyval, void* value,
                     void* extra_state) {
  const auto call = [&]<class Handle>(Handle there) {
    return as<Delete<Handle>>(function.comm)(there, keyval_out(keyval), value, extra_state);
  };
  return call_with(kind, handle, call);
}

void report_error(const Errhandler& handler, void* handle, int code) {
  int there_code = code_out(code);
  const auto call = [&]<class Handle>(Handle there) {
    as<Report<Handle>>(handler.comm_function)(&there, &there_code);
  };
  switch (handler.kind) {
    case ErrhandlerKind::user_comm:
      return call(comm_out(static_cast<MPI_Comm>(handle)));
    case ErrhandlerKind::user_file:
      return call(file_out(static_cast<MPI_File>(handle)));
    case ErrhandlerKind::user_win:
      return call(win_out(static_cast<MPI_Win>(handle)));
    case ErrhandlerKind::user_session:
      return call(session_out(static_cast<MPI_Session>(handle)));
    default:
      return;
  }
}

/// Runs when the facade is loaded, before any MPI call.
[[gnu::constructor]] void connect() {
  if (core().bytes != sizeof(abi::Core) || std::strcmp(core().version, HEARTH_VERSION) != 0) {
    std::fprintf(
        stderr,
        "hearth: the library for programs of another MPI is of version %s, but libmpi_abi.so.1 of "
        "version %s was loaded. Likely cause: LD_LIBRARY_PATH mixes two installations. Remedy: use the "
        "files of one installation.\n",
        HEARTH_VERSION, core().version);
    std::abort();
  }
  const char* const loaded = core().adapters->abi;
  if (loaded != nullptr && std::strcmp(loaded, kAbiName) != 0) {
    std::fprintf(
        stderr,
        "hearth: this process has loaded the libraries for programs of %s and of %s. A process can have "
        "only one of them. Remedy: build all its parts for one MPI library.\n",
        loaded, kAbiName);
    std::abort();
  }
  *core().adapters = {.abi = kAbiName,
                      .reduce = reduce<int, MPI_User_function>,
                      .reduce_c = reduce<MPI_Count, MPI_User_function_c>,
                      .copy_attribute = copy_attribute,
                      .delete_attribute = delete_attribute,
                      .report_error = report_error};
}

}  // namespace
}  // namespace hearth::facade
