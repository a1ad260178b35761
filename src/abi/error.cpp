#include "abi/error.h"

#include <cstdio>
#include <cstring>

#include "abi/entry.h"
#include "abi/guard.h"
#include "abi/handle.h"
#include "abi/state.h"

namespace hearth::abi {
namespace {

// Room for the longest call with its arguments and the words of one error.
constexpr size_t kLineBytes = 2048;

// Set by blame() for the raise() that follows on the same thread.
thread_local objects::Comm* blamed_comm = nullptr;

/// Who hears of an error: a handler and, for handlers of communicators, on which one.
struct Listener {
  objects::Errhandler* handler;
  objects::Comm* comm;
};

Listener listener_of(objects::Comm* comm) {
  // Errors that belong to no communicator are raised on MPI_COMM_SELF (MPI 5.0 section 9.3).
  if (comm == nullptr) comm = find<objects::Comm>(MPI_COMM_SELF);
  if (comm == nullptr || comm->errhandler == nullptr)
    return {&predefined_errhandler(MPI_ERRORS_ARE_FATAL), nullptr};
  return {comm->errhandler, comm};
}

/// Returns if the handler does.
void invoke(const Listener& listener, int code, const char* text) {
  switch (listener.handler->kind) {
    case objects::ErrhandlerKind::errors_are_fatal:
    case objects::ErrhandlerKind::errors_abort:
      end_job(code, text);
    case objects::ErrhandlerKind::errors_return:
      return;
    case objects::ErrhandlerKind::user_comm: {
      MPI_Comm handle = to_handle(listener.comm);
      listener.handler->comm_function(&handle, &code);
      return;
    }
    // Handlers of other objects cannot be set on a communicator.
    case objects::ErrhandlerKind::user_file:
    case objects::ErrhandlerKind::user_win:
    case objects::ErrhandlerKind::user_session:
      return;
  }
}

const char* state_words() {
  switch (state()) {
    case State::outside:
      return "called before MPI_Init";
    case State::finalized:
      return "called after MPI_Finalize";
    case State::forked_child:
      return "called in a process made by fork after MPI_Init: only the process that called MPI_Init may "
             "call MPI";
    case State::active:
      break;
  }
  return "";
}

/// The code for the user, and the whole line for people.
int compose(Call call, const uint64_t* words, Status status, char* line) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  const int error_class = status.error_class();
  const char* reason = last_failure_text();
  const bool own_words =
      *reason != 0 && class_of_code(error_class) == error_class && error_class <= MPI_T_ERR_PVAR_NO_ATOMIC;
  char user_text[MPI_MAX_ERROR_STRING];
  if (!own_words) {
    // A code that a callback of the user returned: its text is the user's.
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

/// The error handler that functions such as MPI_Session_init take for their own errors.
objects::Errhandler* handler_among(Call call, const uint64_t* words) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  if (!in_group(call, "session")) return nullptr;
  for (int i = 0; i < info.parameter_count; ++i) {
    if (info.parameters[i].kind != Kind::errhandler) continue;
    return find<objects::Errhandler>(reinterpret_cast<MPI_Errhandler>(words[i]));
  }
  return nullptr;
}

}  // namespace

Status blame(objects::Comm& comm, Status status) {
  blamed_comm = &comm;
  return status;
}

int raise(Call call, const uint64_t* words, Status status) {
  objects::Comm* comm = blamed_comm;
  blamed_comm = nullptr;
  // The communicator may have been freed between blame() and now.
  if (comm != nullptr) comm = find<objects::Comm>(to_handle(comm));
  if (comm == nullptr) comm = comm_among(call, words);
  return report(call, words, status, listener_of(comm));
}

int leave_locked(int code) {
  LibraryLock::unlock();
  return code;
}

int refuse(Call call, const uint64_t* words) {
  const Status status = fail(MPI_ERR_OTHER, "%s", state_words());
  return report(call, words, status, listener_of(nullptr));
}

int unimplemented(Call call, const uint64_t* words) {
  const AnyTimeGuard guard;
  const char* name = call_table[static_cast<int>(call)].name;
  const Status status =
      fail(MPI_ERR_UNSUPPORTED_OPERATION,
           "%s is not implemented in this version of Hearth (docs/coverage.md lists what is)", name);
  // The tool interface has no error handlers, and that of MPI_FILE_NULL is MPI_ERRORS_RETURN from the start
  // (MPI 5.0 sections 15.3 and 14.7).
  const bool returns = in_group(call, "tool") || in_group(call, "io");
  if (returns) {
    objects::Errhandler* handler = find<objects::Errhandler>(MPI_ERRORS_RETURN);
    return report(call, words, status, {handler, nullptr});
  }
  if (objects::Errhandler* handler = handler_among(call, words);
      handler != nullptr && handler->kind != objects::ErrhandlerKind::user_comm) {
    return report(call, words, status, {handler, nullptr});
  }
  return report(call, words, status, listener_of(comm_among(call, words)));
}

void call_errhandler(objects::Comm& comm, int error_code) {
  char text[MPI_MAX_ERROR_STRING];
  text_of_code(error_code, text);
  invoke(listener_of(&comm), error_code, text);
}

}  // namespace hearth::abi
