// MPI 5.0 chapter 9: error handlers, and error classes, codes and strings.
#include "abi/error.h"
#include "abi/handle.h"
#include "abi/runtime.h"
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

Status check_kind(const Errhandler& errhandler, ErrhandlerKind kind, const char* objects, const char* maker) {
  if (errhandler.predefined != 0 || errhandler.kind == kind) return {};
  return fail(MPI_ERR_ERRHANDLER, "this error handler is not for %s. Remedy: make one by %s", objects, maker);
}

// Takes a reference for the caller, which must free it.
Status hand_out(Errhandler& owned, Errhandler*& errhandler) {
  errhandler = &owned;
  if (owned.predefined == 0) objects::retain(owned);
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
  HEARTH_TRY(
      check_kind(errhandler, ErrhandlerKind::user_comm, "communicators", "MPI_Comm_create_errhandler"));
  // Retain first: both may be the same handler.
  objects::retain(errhandler);
  if (comm.errhandler != nullptr) objects::release(*comm.errhandler);
  comm.errhandler = &errhandler;
  abi::note_errhandler(errhandler);
  return {};
}

Status comm_get_errhandler(objects::Comm& comm, Errhandler*& errhandler) {
  return hand_out(comm.errhandler != nullptr ? *comm.errhandler : abi::initial_errhandler(), errhandler);
}

Status comm_call_errhandler(objects::Comm& comm, int errorcode) {
  abi::call_errhandler(comm, errorcode);
  return {};
}

Status session_set_errhandler(objects::Session& session, Errhandler& errhandler) {
  HEARTH_TRY(
      check_kind(errhandler, ErrhandlerKind::user_session, "sessions", "MPI_Session_create_errhandler"));
  objects::retain(errhandler);
  objects::release(*session.errhandler);
  session.errhandler = &errhandler;
  return {};
}

Status session_get_errhandler(objects::Session& session, Errhandler*& errhandler) {
  return hand_out(*session.errhandler, errhandler);
}

Status session_call_errhandler(objects::Session& session, int errorcode) {
  abi::call_errhandler(session, errorcode);
  return {};
}

Status win_set_errhandler(objects::Win& win, Errhandler& errhandler) {
  HEARTH_TRY(check_kind(errhandler, ErrhandlerKind::user_win, "windows", "MPI_Win_create_errhandler"));
  objects::retain(errhandler);
  objects::release(*win.errhandler);
  win.errhandler = &errhandler;
  abi::note_errhandler(errhandler);
  return {};
}

Status win_get_errhandler(objects::Win& win, Errhandler*& errhandler) {
  return hand_out(*win.errhandler, errhandler);
}

Status win_call_errhandler(objects::Win& win, int errorcode) {
  abi::call_errhandler(win, errorcode);
  return {};
}

// nullptr is MPI_FILE_NULL, which holds the handler that new files get.
Status file_set_errhandler(objects::File* file, Errhandler& errhandler) {
  HEARTH_TRY(check_kind(errhandler, ErrhandlerKind::user_file, "files", "MPI_File_create_errhandler"));
  if (file == nullptr) {
    abi::set_default_file_errhandler(errhandler);
    return {};
  }
  objects::retain(errhandler);
  objects::release(*file->errhandler);
  file->errhandler = &errhandler;
  abi::note_errhandler(errhandler);
  return {};
}

Status file_get_errhandler(objects::File* file, Errhandler*& errhandler) {
  return hand_out(file == nullptr ? abi::default_file_errhandler() : *file->errhandler, errhandler);
}

Status file_call_errhandler(objects::File* file, int errorcode) {
  file == nullptr ? abi::call_file_errhandler(errorcode) : abi::call_errhandler(*file, errorcode);
  return {};
}

// Predefined handlers may be freed too: programs free the result of MPI_Comm_get_errhandler. A handler in use
// keeps its handle, since MPI_Comm_get_errhandler may return it again.
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
