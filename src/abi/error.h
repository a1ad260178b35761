// Error reports of failed calls: message, error code, error handler (MPI 5.0 chapter 9).
//
//   src/abi/describe.cpp     writes the call with its arguments
//   src/abi/reject.cpp       writes the message for an invalid argument
//   src/abi/error.cpp        selects and calls the error handler
//   src/abi/error_codes.cpp  codes, classes and their strings
//
// Calls that succeed use none of this. `words` are the arguments of the call, one word each, as
// api/functions.txt lists them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attempt.h"
#include "base/status.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::abi {

/// Reports a call whose implementation failed. Returns the result of the MPI function, if the error handler
/// returns.
[[gnu::cold, gnu::noinline]] int raise(Call call, const uint64_t* words, Status status);
/// Reports that argument number `index` is invalid.
[[gnu::cold, gnu::noinline]] int reject(Call call, const uint64_t* words, int index);
/// Reports a call outside MPI_Init .. MPI_Finalize, or in a forked child.
[[gnu::cold, gnu::noinline]] int refuse(Call call, const uint64_t* words);
/// Reports a call of a function that is not implemented yet.
[[gnu::cold, gnu::noinline]] int unimplemented(Call call, const uint64_t* words);

/// Selects the communicator whose error handler gets `status`, if the arguments of the call do not name it: a
/// call that failed because of a request returns blame(request's communicator, status).
Status blame(objects::Comm& comm, Status status);
/// The same for the error handler of a file that the call closes.
Status blame(objects::Errhandler& handler, Status status);

/// Calls the error handler of a communicator with a code of the user (MPI_Comm_call_errhandler).
void call_errhandler(objects::Comm& comm, int error_code);
/// The same for a session, a window, and MPI_FILE_NULL, which stands for all files that are not open.
void call_errhandler(objects::Session& session, int error_code);
void call_errhandler(objects::Win& win, int error_code);
void call_errhandler(objects::File& file, int error_code);
void call_file_errhandler(int error_code);

/// The handler of new files, and of errors without an open file: MPI_ERRORS_RETURN unless set (MPI 5.0
/// section 14.7).
objects::Errhandler& default_file_errhandler();
void set_default_file_errhandler(objects::Errhandler& handler);

/// The initial handler of MPI_COMM_WORLD and MPI_COMM_SELF, and the handler of errors while they do not exist
/// (MPI 5.0 section 9.3 and, for mpiexec, 11.5): MPI_ERRORS_ARE_FATAL unless the user chose another.
objects::Errhandler& initial_errhandler();

/// Ends the job: prints `text` and exits every process with `error_code`. In src/abi/runtime.cpp.
[[noreturn]] void end_job(int error_code, const char* text);
/// Ends this process only; the launcher decides what happens to the job.
[[noreturn]] void end_own_process(int error_code, const char* text);

// Codes. A code of the library identifies a class and, until 217 later errors have reused its entry, the
// message of one error. All are below MPI_ERR_LASTCODE; codes and classes of the user are above.

/// The error code of a status whose message is in last_failure_text(), for MPI_Status.MPI_ERROR.
int error_code_for(Status status);
/// A code of `error_class` that stands for `text`.
int make_error_code(int error_class, const char* text);
/// The code of calls that refuse_in_handler() rejects, of class MPI_ERR_OTHER, with a fixed message.
constexpr int kInHandlerCode = 2047;
/// MPI_ERR_UNKNOWN for an invalid code.
int class_of_code(int code);
/// "MPI_ERR_RANK"; nullptr for a class that the program added.
const char* class_name(int error_class);
/// Writes at most MPI_MAX_ERROR_STRING characters, with the closing 0; returns the length without it.
int text_of_code(int code, char* text);

/// User-defined classes, codes and strings.
int add_user_class();
Status add_user_code(int error_class, int& code);
Status add_user_string(int code, const char* text);
Status remove_user_class(int error_class);
Status remove_user_code(int code);
Status remove_user_string(int code);
/// The value of the attribute MPI_LASTUSEDCODE; its address stays the same.
const int& last_used_code();

/// Writes "MPI_Send(buf=0x7ffe..., count=3, ...)"; returns the length of the whole text.
size_t describe_call(Call call, const uint64_t* words, char* text, size_t bytes);
/// Whether the call belongs to the tool interface, which has neither error handlers nor codes beyond its
/// classes (MPI 5.0 section 15.3.10).
bool is_of_tools(Call call);
/// The name of a predefined handle, or nullptr.
const char* handle_name(uint64_t value);
/// The communicator among the arguments of a call; nullptr if there is no valid one.
objects::Comm* comm_among(Call call, const uint64_t* words);
/// Likewise.
objects::Win* win_among(Call call, const uint64_t* words);
objects::File* file_among(Call call, const uint64_t* words);
objects::Group* group_among(Call call, const uint64_t* words);
p2p::Request* request_among(Call call, const uint64_t* words);

}  // namespace hearth::abi
