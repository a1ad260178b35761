#include "abi/error.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "abi/entry.h"
#include "abi/guard.h"
#include "abi/handle.h"
#include "abi/state.h"
#include "base/inside.h"
#include "base/param.h"
#include "objects/callback_adapters.h"
#include "objects/lifetime.h"

namespace hearth::abi {
namespace {

// Size of the longest call with its arguments and the message of one error.
constexpr size_t kLineBytes = 2048;

// Set by blame() for the raise() that follows on the same thread.
thread_local objects::Comm* blamed_comm = nullptr;
thread_local objects::Errhandler* blamed_handler = nullptr;  // one reference held

/// The receiver of an error: a handler, and the object whose handle a user's function gets.
struct Listener {
  objects::Errhandler* handler;
  const void* object;
  bool is_session = false;
};

objects::Errhandler* default_file_handler = nullptr;  // one reference held; nullptr: MPI_ERRORS_RETURN

Listener listener_of(const objects::File& file) {
  return {file.errhandler, to_handle(&file)};
}

Listener listener_of(const objects::Comm& comm) {
  if (comm.of_file != nullptr) return listener_of(*comm.of_file);
  return {comm.errhandler != nullptr ? comm.errhandler : &initial_errhandler(), to_handle(&comm)};
}

Listener listener_of(const objects::Win& win) {
  return {win.errhandler, to_handle(&win)};
}

Listener listener_of(const objects::Session& session) {
  return {session.errhandler, to_handle(&session), true};
}

Listener file_listener() {
  return {&default_file_errhandler(), MPI_FILE_NULL};
}

/// Errors that belong to no object are raised on MPI_COMM_SELF where that exists (MPI 5.0 section 9.3).
Listener general_listener() {
  const objects::Comm* self = find<objects::Comm>(MPI_COMM_SELF);
  if (state() == State::active && self != nullptr) return listener_of(*self);
  objects::Errhandler* handler = &initial_errhandler();
  // In a child made by fork, neither the program nor its error handlers may call MPI. If the parent's handler
  // returns errors, so does this one; otherwise the child ends, and only the child.
  if (state() == State::forked_child && self != nullptr && self->errhandler != nullptr) {
    const bool returns = self->errhandler->kind == objects::ErrhandlerKind::errors_return;
    handler = &predefined_errhandler(returns ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT);
  }
  return {handler, MPI_COMM_SELF};
}

/// The exit code for a fatal error is its class, which no shell takes for a signal (128 and more).
constexpr int kExitCodeMax = 125;

/// Ends the job, or with `own` only this process, because of an error.
[[noreturn]] void end_fatally(int code, const char* text, bool own) {
  const int error_class = class_of_code(code);
  const char* name = class_name(error_class);
  char line[kLineBytes + MPI_MAX_ERROR_STRING];
  std::snprintf(line, sizeof line, "%s%s%s", name == nullptr ? "" : name, name == nullptr ? "" : ": ", text);
  const int exit_code = error_class <= kExitCodeMax ? error_class : 1;
  own ? end_own_process(exit_code, line) : end_job(exit_code, line);
}

/// Returns if the handler does.
void invoke(const Listener& listener, int code, const char* text) {
  using objects::ErrhandlerKind;
  void* object = const_cast<void*>(listener.object);
  const auto report = objects::callback_adapters.report_error;
  if (report != nullptr && listener.handler->kind >= ErrhandlerKind::user_comm) {
    return Inside::call_user([&] { report(*listener.handler, object, code); });
  }
  switch (listener.handler->kind) {
    case ErrhandlerKind::errors_are_fatal:
      end_fatally(code, text, false);
    case ErrhandlerKind::errors_abort:
      // A session belongs to this process alone (MPI 5.0 section 9.3). For a communicator, the whole job
      // ends, as with MPI_Abort: mpiexec cannot end a part of a job.
      end_fatally(code, text, listener.is_session);
    case ErrhandlerKind::errors_return:
      return;
    case ErrhandlerKind::user_comm: {
      auto handle = static_cast<MPI_Comm>(object);
      return Inside::call_user([&] { listener.handler->comm_function(&handle, &code); });
    }
    case ErrhandlerKind::user_session: {
      auto handle = static_cast<MPI_Session>(object);
      return Inside::call_user([&] { listener.handler->session_function(&handle, &code); });
    }
    case ErrhandlerKind::user_file: {
      auto handle = static_cast<MPI_File>(object);
      return Inside::call_user([&] { listener.handler->file_function(&handle, &code); });
    }
    case ErrhandlerKind::user_win: {
      auto handle = static_cast<MPI_Win>(object);
      return Inside::call_user([&] { listener.handler->win_function(&handle, &code); });
    }
  }
}

const char* state_words() {
  switch (state()) {
    case State::outside:
      return "called before MPI_Init or MPI_Session_init";
    case State::finalized:
      return "called after MPI_Finalize, or after the last MPI_Session_finalize";
    case State::forked_child:
      return "called in a process made by fork after MPI_Init: only the process that called MPI_Init may "
             "call MPI";
    case State::active:
    case State::watched:
      break;
  }
  return "";
}

/// Returns the error code and writes the whole message to `line`.
int compose(Call call, const uint64_t* words, Status status, char* line) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  const int error_class = status.error_class();
  const char* reason = last_failure_text();
  const bool own_words =
      *reason != 0 && class_of_code(error_class) == error_class && error_class <= MPI_T_ERR_PVAR_NO_ATOMIC;
  char user_text[MPI_MAX_ERROR_STRING];
  if (!own_words) {
    // A code that a callback of the user returned has the user's text.
    text_of_code(error_class, user_text);
    reason = user_text;
  }
  const size_t length = describe_call(call, words, line, kLineBytes);
  const bool fits = length + std::strlen(reason) + 3 <= MPI_MAX_ERROR_STRING;
  char code_text[MPI_MAX_ERROR_STRING];
  if (length < kLineBytes) std::snprintf(line + length, kLineBytes - length, ": %s", reason);
  if (!fits) std::snprintf(code_text, sizeof code_text, "%s(...): %s", info.name, reason);
  return own_words ? make_error_code(error_class, fits ? line : code_text) : error_class;
}

int report(Call call, const uint64_t* words, Status status, const Listener& listener) {
  char line[kLineBytes];
  const int code = compose(call, words, status, line);
  invoke(listener, code, line);
  return code;
}

bool in_group(Call call, const char* group) {
  return std::strcmp(call_table[static_cast<int>(call)].group, group) == 0;
}

/// The session among the arguments; nullptr if there is no valid one.
objects::Session* session_among(Call call, const uint64_t* words) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  for (int i = 0; i < info.parameter_count; ++i) {
    uint64_t word = words[i];
    if (info.parameters[i].kind == Kind::session_inout && word != 0) {
      word = *reinterpret_cast<const uint64_t*>(word);
    } else if (info.parameters[i].kind != Kind::session) {
      continue;
    }
    return find<objects::Session>(reinterpret_cast<MPI_Session>(word));
  }
  return nullptr;
}

/// nullptr if the group comes from the World Model, or from a session that has ended.
objects::Session* session_of_group_among(Call call, const uint64_t* words) {
  const objects::Group* group = group_among(call, words);
  if (group == nullptr || group->session == nullptr) return nullptr;
  // The pointer may be stale: find() accepts any value.
  return find<objects::Session>(reinterpret_cast<MPI_Session>(const_cast<objects::Session*>(group->session)));
}

/// Functions that make a session, or a communicator without a parent, take the handler for their own errors
/// as an argument.
bool handler_among(Call call, const uint64_t* words, Listener& listener) {
  using objects::ErrhandlerKind;
  const CallInfo& info = call_table[static_cast<int>(call)];
  const bool makes_session = call == Call::session_init;
  if (!makes_session && call != Call::comm_create_from_group && call != Call::intercomm_create_from_groups) {
    return false;
  }
  for (int i = 0; i < info.parameter_count; ++i) {
    if (info.parameters[i].kind != Kind::errhandler) continue;
    objects::Errhandler* handler = find<objects::Errhandler>(reinterpret_cast<MPI_Errhandler>(words[i]));
    if (handler == nullptr) return false;
    const ErrhandlerKind own = makes_session ? ErrhandlerKind::user_session : ErrhandlerKind::user_comm;
    if (handler->predefined == 0 && handler->kind != own) return false;
    listener.handler = handler;
    listener.object = makes_session ? static_cast<void*>(MPI_SESSION_NULL) : MPI_COMM_NULL;
    listener.is_session = makes_session;
    return true;
  }
  return false;
}

Listener listener_of(Call call, const uint64_t* words) {
  // Also for calls that take a communicator (MPI 5.0 section 14.7).
  if (const objects::File* file = file_among(call, words)) return listener_of(*file);
  if (in_group(call, "io")) return file_listener();
  if (const objects::Comm* comm = comm_among(call, words)) return listener_of(*comm);
  if (const objects::Win* win = win_among(call, words)) return listener_of(*win);
  if (const objects::Session* session = session_among(call, words)) return listener_of(*session);
  if (Listener listener; handler_among(call, words, listener)) return listener;
  // Indirect references: the communicator that a request was made on, the session that a group comes from.
  if (const p2p::Request* request = request_among(call, words);
      request != nullptr && request->comm != nullptr)
    return listener_of(*request->comm);
  if (const objects::Session* session = session_of_group_among(call, words)) return listener_of(*session);
  return general_listener();
}

}  // namespace

Status blame(objects::Comm& comm, Status status) {
  blamed_comm = &comm;
  return status;
}

Status blame(objects::Errhandler& handler, Status status) {
  objects::retain(handler);
  blamed_handler = &handler;
  return status;
}

bool is_of_tools(Call call) {
  return in_group(call, "tool");
}

int raise(Call call, const uint64_t* words, Status status) {
  if (is_of_tools(call)) {
    return status.error_class() == MPI_ERR_NO_MEM ? MPI_T_ERR_MEMORY : status.error_class();
  }
  if (objects::Errhandler* const handler = std::exchange(blamed_handler, nullptr)) {
    const int code = report(call, words, status, {handler, MPI_FILE_NULL});
    objects::release(*handler);
    return code;
  }
  const objects::Comm* comm = blamed_comm;
  blamed_comm = nullptr;
  // The communicator may have been freed between blame() and now.
  if (comm != nullptr) comm = find<objects::Comm>(to_handle(comm));
  return report(call, words, status, comm != nullptr ? listener_of(*comm) : listener_of(call, words));
}

namespace {

// Nested calls of this thread: a callback may call MPI.
struct TracedCalls {
  static constexpr int kDepthMax = 8;
  struct {
    Call call;
    uint64_t begun_ns;
  } calls[kDepthMax];
  int depth = 0;
};
thread_local TracedCalls traced_calls;

}  // namespace

void begin_traced(Call call) {
  TracedCalls& traced = traced_calls;
  if (traced.depth < TracedCalls::kDepthMax) traced.calls[traced.depth] = {call, os::now_ns()};
  ++traced.depth;
}

int leave_locked(int code) {
  if (profile::process_recorder != nullptr && traced_calls.depth > 0) {
    const int depth = --traced_calls.depth;
    if (depth < TracedCalls::kDepthMax) {
      const auto& ended = traced_calls.calls[depth];
      profile::process_recorder->called(static_cast<int>(ended.call), ended.begun_ns, os::now_ns());
    }
  }
  LibraryLock::unlock();
  // Cleared last: a signal handler must not call MPI while the lock is partly released.
  Inside::clear_mark(Inside::kCall);
  return code;
}

int enter_otherwise(Call call, const uint64_t* words) {
  if (!is_active()) return refuse(call, words);
  if (Inside::gate() == Inside::Gate::inside || !Inside::set_mark(Inside::kCall)) {
    return refuse_in_handler(call, words);
  }
  LibraryLock::lock();
  return MPI_SUCCESS;
}

// Uses neither heap memory nor locks: the interrupted call may hold them.
int refuse_in_handler(Call call, const uint64_t*) {
  if (is_of_tools(call)) return MPI_T_ERR_NOT_ACCESSIBLE;
  char line[2 * MPI_MAX_ERROR_STRING];
  const int named = std::snprintf(line, sizeof line, "%s: ", call_table[static_cast<int>(call)].name);
  text_of_code(kInHandlerCode, line + named);
  invoke(general_listener(), kInHandlerCode, line);
  return kInHandlerCode;
}

int refuse(Call call, const uint64_t* words) {
  return report(call, words, fail(MPI_ERR_OTHER, "%s", state_words()), general_listener());
}

int unimplemented(Call call, const uint64_t* words) {
  const AnyTimeGuard guard;
  if (!guard.entered()) return refuse_in_handler(call, words);
  const char* name = call_table[static_cast<int>(call)].name;
  const Status status =
      fail(MPI_ERR_UNSUPPORTED_OPERATION,
           "%s is not implemented in this version of Hearth (docs/coverage.md lists what is)", name);
  return report(call, words, status, listener_of(call, words));
}

namespace {

void call_listener(const Listener& listener, int error_code) {
  char text[MPI_MAX_ERROR_STRING];
  text_of_code(error_code, text);
  invoke(listener, error_code, text);
}

}  // namespace

void call_errhandler(objects::Comm& comm, int error_code) {
  call_listener(listener_of(comm), error_code);
}

void call_errhandler(objects::Session& session, int error_code) {
  call_listener({session.errhandler, to_handle(&session), true}, error_code);
}

void call_errhandler(objects::Win& win, int error_code) {
  call_listener(listener_of(win), error_code);
}

void call_errhandler(objects::File& file, int error_code) {
  call_listener(listener_of(file), error_code);
}

void call_file_errhandler(int error_code) {
  call_listener(file_listener(), error_code);
}

objects::Errhandler& default_file_errhandler() {
  return default_file_handler != nullptr ? *default_file_handler : predefined_errhandler(MPI_ERRORS_RETURN);
}

void set_default_file_errhandler(objects::Errhandler& handler) {
  objects::retain(handler);
  if (default_file_handler != nullptr) objects::release(*default_file_handler);
  default_file_handler = &handler;
}

objects::Errhandler& initial_errhandler() {
  const std::string& name = param::get_text(param::Id::initial_errhandler);
  if (name == "mpi_errors_return") return predefined_errhandler(MPI_ERRORS_RETURN);
  if (name == "mpi_errors_abort") return predefined_errhandler(MPI_ERRORS_ABORT);
  return predefined_errhandler(MPI_ERRORS_ARE_FATAL);
}

}  // namespace hearth::abi
