// From a failed call to its user: the text, the error code, the error handler (MPI 5.0 chapter 9).
//
//   src/abi/describe.cpp     the call with its arguments, as text
//   src/abi/reject.cpp       what is wrong with an argument that an entry point refused
//   src/abi/error.cpp        which error handler, and what it does
//   src/abi/error_codes.cpp  codes, classes and their strings
//
// Everything here is off the path of calls that succeed. `words` are the arguments of the call, one word
// each, as api/functions.txt lists them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::abi {

/// A call whose implementation failed. Returns what the MPI function returns, if the error handler returns.
[[gnu::cold, gnu::noinline]] int raise(Call call, const uint64_t* words, Status status);
/// A call whose argument number `index` is wrong.
[[gnu::cold, gnu::noinline]] int reject(Call call, const uint64_t* words, int index);
/// A call outside MPI_Init .. MPI_Finalize, or in a forked child.
[[gnu::cold, gnu::noinline]] int refuse(Call call, const uint64_t* words);
/// A call of a function that does not exist yet.
[[gnu::cold, gnu::noinline]] int unimplemented(Call call, const uint64_t* words);

/// What a call becomes whose bookkeeping found no memory.
[[gnu::cold]] Status out_of_memory();
/// Says which communicator's error handler is to hear of `status`, where the arguments of the call do not:
/// a call that failed because of a request returns blame(request's communicator, status).
Status blame(objects::Comm& comm, Status status);

/// Calls the error handler of a communicator with a code of the user (MPI_Comm_call_errhandler).
void call_errhandler(objects::Comm& comm, int error_code);
/// The same for a session, and for MPI_FILE_NULL, which stands for all files that are not open.
void call_errhandler(objects::Session& session, int error_code);
void call_errhandler(objects::Win& win, int error_code);
void call_file_errhandler(int error_code);

/// What new files get, and what hears of errors where no file is open: MPI_ERRORS_RETURN unless set (MPI 5.0
/// section 14.7).
objects::Errhandler& default_file_errhandler();
void set_default_file_errhandler(objects::Errhandler& handler);

/// What MPI_COMM_WORLD and MPI_COMM_SELF begin with, and what hears of errors while they do not exist
/// (MPI 5.0 section 9.3 and, for mpiexec, 11.5): MPI_ERRORS_ARE_FATAL unless the user said otherwise.
objects::Errhandler& initial_errhandler();

/// Ends the job: prints `text` and exits every process with `error_code`. In src/abi/runtime.cpp.
[[noreturn]] void end_job(int error_code, const char* text);
/// Ends this process only, as far as MPI is concerned: what becomes of the others is up to the launcher.
[[noreturn]] void end_own_process(int error_code, const char* text);

// Codes. A code of the library stands for a class and, for as long as 217 later errors have not used its
// place, for the words of one error. All are below MPI_ERR_LASTCODE; codes and classes of the user are above.

/// The code for MPI_Error_string, of a status whose words are in last_failure_text(): for
/// MPI_Status.MPI_ERROR.
int error_code_for(Status status);
/// A code of `error_class` that stands for `text`.
int make_error_code(int error_class, const char* text);
/// The code of calls that refuse_in_handler() refuses, of class MPI_ERR_OTHER: always the same words.
constexpr int kInHandlerCode = 2047;
/// MPI_ERR_UNKNOWN for a number that is no code.
int class_of_code(int code);
/// "MPI_ERR_RANK"; nullptr for a class that the program added.
const char* class_name(int error_class);
/// Writes at most MPI_MAX_ERROR_STRING characters, the closing 0 included; the length without it.
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

/// Writes "MPI_Send(buf=0x7ffe..., count=3, ...)"; the length that it would need.
size_t describe_call(Call call, const uint64_t* words, char* text, size_t bytes);
/// Whether the call is of the tool interface: those have neither error handlers nor codes beyond their
/// classes (MPI 5.0 section 15.3.10).
bool is_of_tools(Call call);
/// The name of a predefined handle, or nullptr.
const char* handle_name(uint64_t value);
/// The communicator among the arguments of a call; nullptr when there is none that is valid.
objects::Comm* comm_among(Call call, const uint64_t* words);
/// Likewise.
objects::Win* win_among(Call call, const uint64_t* words);
objects::Group* group_among(Call call, const uint64_t* words);
p2p::Request* request_among(Call call, const uint64_t* words);

}  // namespace hearth::abi
