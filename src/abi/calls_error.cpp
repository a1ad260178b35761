// MPI 5.0 chapter 9: error handlers, and error classes, codes and strings.
#include "abi/error.h"
#include "abi/handle.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using objects::Errhandler;
using objects::ErrhandlerKind;

Status make_errhandler(ErrhandlerKind kind, bool has_function, Errhandler*& errhandler) {
  if (!has_function) return fail(MPI_ERR_ARG, "the error handler function is a null pointer");
  errhandler = objects::pools.errhandlers.create();
  if (errhandler == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another error handler");
  errhandler->kind = kind;
  return {};
}

}  // namespace

Status comm_create_errhandler(MPI_Comm_errhandler_function* function, Errhandler*& errhandler) {
  HEARTH_TRY(make_errhandler(ErrhandlerKind::user_comm, function != nullptr, errhandler));
  errhandler->comm_function = function;
  return {};
}

Status file_create_errhandler(MPI_File_errhandler_function* function, Errhandler*& errhandler) {
  HEARTH_TRY(make_errhandler(ErrhandlerKind::user_file, function != nullptr, errhandler));
  errhandler->file_function = function;
  return {};
}

Status win_create_errhandler(MPI_Win_errhandler_function* function, Errhandler*& errhandler) {
  HEARTH_TRY(make_errhandler(ErrhandlerKind::user_win, function != nullptr, errhandler));
  errhandler->win_function = function;
  return {};
}

Status session_create_errhandler(MPI_Session_errhandler_function* function, Errhandler*& errhandler) {
  HEARTH_TRY(make_errhandler(ErrhandlerKind::user_session, function != nullptr, errhandler));
  errhandler->session_function = function;
  return {};
}

Status comm_set_errhandler(objects::Comm& comm, Errhandler& errhandler) {
  if (errhandler.predefined == 0 && errhandler.kind != ErrhandlerKind::user_comm) {
    return fail(
        MPI_ERR_ERRHANDLER,
        "this error handler is not for communicators. Remedy: make one by MPI_Comm_create_errhandler");
  }
  // In this order, as both may be the same.
  objects::retain(errhandler);
  if (comm.errhandler != nullptr) objects::release(*comm.errhandler);
  comm.errhandler = &errhandler;
  return {};
}

Status comm_get_errhandler(objects::Comm& comm, Errhandler*& errhandler) {
  errhandler =
      comm.errhandler != nullptr ? comm.errhandler : &abi::predefined_errhandler(MPI_ERRORS_ARE_FATAL);
  if (errhandler->predefined == 0) objects::retain(*errhandler);  // the caller frees what it got
  return {};
}

Status comm_call_errhandler(objects::Comm& comm, int errorcode) {
  abi::call_errhandler(comm, errorcode);
  return {};
}

// Predefined ones may be "freed" as well: programs free what MPI_Comm_get_errhandler gave them. The handle of
// one that is in use stays valid: MPI_Comm_get_errhandler may hand it out again.
Status errhandler_free(Errhandler*& errhandler) {
  if (errhandler->predefined == 0) objects::release(*errhandler);
  errhandler = nullptr;
  return {};
}

Status error_class(int errorcode, int& errorclass) {
  errorclass = abi::class_of_code(errorcode);
  return {};
}

Status error_string(int errorcode, char* string, int& resultlen) {
  resultlen = abi::text_of_code(errorcode, string);
  return {};
}

Status add_error_class(int& errorclass) {
  errorclass = abi::add_user_class();
  return {};
}

Status add_error_code(int errorclass, int& errorcode) {
  return abi::add_user_code(errorclass, errorcode);
}

Status add_error_string(int errorcode, const char* string) {
  return abi::add_user_string(errorcode, string);
}

Status remove_error_class(int errorclass) {
  return abi::remove_user_class(errorclass);
}

Status remove_error_code(int errorcode) {
  return abi::remove_user_code(errorcode);
}

Status remove_error_string(int errorcode) {
  return abi::remove_user_string(errorcode);
}

}  // namespace hearth::mpi
