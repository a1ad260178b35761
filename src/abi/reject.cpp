#include <cinttypes>
#include <cstdio>

#include "abi/error.h"
#include "abi/handle.h"

namespace hearth::abi {
namespace {

/// An invalid argument as the entry point got it.
struct Argument {
  const char* name;
  Kind kind;
  uint64_t word;
  const objects::Comm* comm;

  int64_t number() const { return static_cast<int64_t>(word); }
};

/// "comm (0x55...)", "datatype (MPI_DATATYPE_NULL)"
struct Shown {
  Shown(const Argument& argument, uint64_t word) {
    const char* name = handle_name(word);
    if (name != nullptr) {
      std::snprintf(text, sizeof text, "%s (%s)", argument.name, name);
    } else {
      std::snprintf(text, sizeof text, "%s (0x%" PRIx64 ")", argument.name, word);
    }
  }
  const char* c_str() const { return text; }

  char text[128];
};

template <class Handle>
uint64_t value_of(Handle handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

/// Reports a handle that has no object of the expected type.
Status bad_handle(int error_class, const char* what, uint64_t null_value, const Argument& argument,
                  uint64_t word) {
  const Shown text(argument, word);
  if (word == null_value) return fail(error_class, "%s is the null handle, not a %s", text.c_str(), what);
  if (word == value_of(MPI_COMM_WORLD) || word == value_of(MPI_COMM_SELF)) {
    // The call takes a communicator, so MPI_Init is missing or MPI_Finalize was called.
    if (error_class == MPI_ERR_COMM) {
      return fail(error_class,
                  "%s exists between MPI_Init and MPI_Finalize only. Remedy: make a communicator from a "
                  "session's process set, by MPI_Comm_create_from_group",
                  text.c_str());
    }
  }
  if (word == 0) return fail(error_class, "%s is 0: a %s that was never set", text.c_str(), what);
  if (word < objects::kPredefinedLimit) {
    return fail(error_class, "%s is not a %s: was it passed in the place of another argument?", text.c_str(),
                what);
  }
  return fail(error_class, "%s is not a %s: freed before, or never set", text.c_str(), what);
}

Status bad_type(const Argument& argument, uint64_t word) {
  const datatype::Type* type = find<datatype::Type>(reinterpret_cast<MPI_Datatype>(word));
  const Shown text(argument, word);
  if (type == nullptr) {
    return bad_handle(MPI_ERR_TYPE, "datatype", value_of(MPI_DATATYPE_NULL), argument, word);
  }
  if (!type->supported) {
    return fail(MPI_ERR_TYPE, "%s is not supported: the compiler that built Hearth has no such type",
                text.c_str());
  }
  return fail(MPI_ERR_TYPE, "%s is not committed: call MPI_Type_commit before it is used to communicate",
              text.c_str());
}

Status bad_rank(const Argument& argument) {
  const int64_t rank = argument.number();
  const int count = argument.comm != nullptr ? argument.comm->peer_count : 0;
  const char* also = argument.kind == Kind::source ? "; MPI_ANY_SOURCE and MPI_PROC_NULL are allowed as well"
                     : argument.kind != Kind::root ? "; MPI_PROC_NULL is allowed as well"
                                                   : "";
  return fail(argument.kind == Kind::root ? MPI_ERR_ROOT : MPI_ERR_RANK,
              "%s is %" PRId64 ", but the ranks of this %s are 0 to %d%s", argument.name, rank,
              argument.kind == Kind::target ? "window" : "communicator", count - 1, also);
}

Status bad_buffer(const Argument& argument) {
  if (argument.word == value_of(MPI_IN_PLACE)) {
    const bool at_root =
        argument.kind == Kind::in_or_place_at_root || argument.kind == Kind::out_or_place_at_root;
    return fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which %s", argument.name,
                at_root ? "only the root may pass" : "this argument cannot be");
  }
  if (argument.word == value_of(MPI_BUFFER_AUTOMATIC)) {
    return fail(MPI_ERR_BUFFER, "%s is MPI_BUFFER_AUTOMATIC, which is for attaching buffers only",
                argument.name);
  }
  return fail(MPI_ERR_BUFFER, "%s is a null pointer, but the count is not 0", argument.name);
}

Status bad_counts(const Argument& argument) {
  if (argument.word == 0) return fail(MPI_ERR_ARG, "%s is a null pointer", argument.name);
  return fail(MPI_ERR_COUNT, "%s has a negative entry, or one of more bytes than 64 bits can hold",
              argument.name);
}

Status negative(int error_class, const Argument& argument) {
  return fail(error_class, "%s is %" PRId64 ": it must not be negative", argument.name, argument.number());
}

Status bad_count(const Argument& argument) {
  if (argument.number() < 0) return negative(MPI_ERR_COUNT, argument);
  return fail(MPI_ERR_COUNT, "%s is %" PRId64 ": the elements have more bytes than 64 bits can hold",
              argument.name, argument.number());
}

/// The handle that a pointer points to; 0 if the pointer is null.
uint64_t pointed_to(const Argument& argument) {
  return argument.word == 0 ? 0 : *reinterpret_cast<const uint64_t*>(argument.word);
}

Status word_it(const Argument& argument) {
  const uint64_t word = argument.word;
  const bool by_pointer = word != 0;
  switch (argument.kind) {
    case Kind::comm:
    case Kind::comm_named:
      return bad_handle(MPI_ERR_COMM, "communicator", value_of(MPI_COMM_NULL), argument, word);
    case Kind::group:
      return bad_handle(MPI_ERR_GROUP, "group", value_of(MPI_GROUP_NULL), argument, word);
    case Kind::op:
      return bad_handle(MPI_ERR_OP, "reduction operation", value_of(MPI_OP_NULL), argument, word);
    case Kind::info:
    case Kind::info_or_null:
      return bad_handle(MPI_ERR_INFO, "info object", value_of(MPI_INFO_NULL), argument, word);
    case Kind::win:
    case Kind::win_named:
      return bad_handle(MPI_ERR_WIN, "window", value_of(MPI_WIN_NULL), argument, word);
    case Kind::session:
      return bad_handle(MPI_ERR_SESSION, "session", value_of(MPI_SESSION_NULL), argument, word);
    case Kind::file:
      return bad_handle(MPI_ERR_FILE, "file", value_of(MPI_FILE_NULL), argument, word);
    case Kind::file_or_null:
      return bad_handle(MPI_ERR_FILE, "file", 0, argument, word);
    case Kind::errhandler:
      return bad_handle(MPI_ERR_ERRHANDLER, "error handler", value_of(MPI_ERRHANDLER_NULL), argument, word);
    case Kind::request:
      return bad_handle(MPI_ERR_REQUEST, "request", value_of(MPI_REQUEST_NULL), argument, word);
    case Kind::type:
    case Kind::any_type:
    case Kind::type_named:
      return bad_type(argument, word);
    case Kind::dest:
    case Kind::source:
    case Kind::target:
    case Kind::root:
      return bad_rank(argument);
    case Kind::tag:
      return negative(MPI_ERR_TAG, argument);
    case Kind::tag_or_any:
      return fail(MPI_ERR_TAG, "%s is %" PRId64 ": it must be MPI_ANY_TAG or not negative", argument.name,
                  argument.number());
    case Kind::count:
    case Kind::large_count:
      return bad_count(argument);
    case Kind::request_count:
    case Kind::entries:
      return negative(MPI_ERR_COUNT, argument);
    case Kind::length:
    case Kind::size:
    case Kind::wide_size:
    case Kind::aint_size:
      return negative(MPI_ERR_ARG, argument);
    case Kind::window_size:
      return negative(MPI_ERR_SIZE, argument);
    case Kind::counts:
    case Kind::local_counts:
    case Kind::destination_counts:
    case Kind::source_counts:
      return bad_counts(argument);
    case Kind::in:
    case Kind::out:
    case Kind::in_or_place:
    case Kind::in_or_place_at_root:
    case Kind::out_or_place_at_root:
      return bad_buffer(argument);
    default:
      break;
  }
  // The other kinds are pointers: to handles, which may be invalid, and to results.
  if (by_pointer) {
    const uint64_t handle = pointed_to(argument);
    switch (argument.kind) {
      case Kind::comm_inout:
        return bad_handle(MPI_ERR_COMM, "communicator", value_of(MPI_COMM_NULL), argument, handle);
      case Kind::group_inout:
        return bad_handle(MPI_ERR_GROUP, "group", value_of(MPI_GROUP_NULL), argument, handle);
      case Kind::op_inout:
        return bad_handle(MPI_ERR_OP, "reduction operation", value_of(MPI_OP_NULL), argument, handle);
      case Kind::info_inout:
        return bad_handle(MPI_ERR_INFO, "info object", value_of(MPI_INFO_NULL), argument, handle);
      case Kind::win_inout:
        return bad_handle(MPI_ERR_WIN, "window", value_of(MPI_WIN_NULL), argument, handle);
      case Kind::file_inout:
        return bad_handle(MPI_ERR_FILE, "file", value_of(MPI_FILE_NULL), argument, handle);
      case Kind::session_inout:
        return bad_handle(MPI_ERR_SESSION, "session", value_of(MPI_SESSION_NULL), argument, handle);
      case Kind::errhandler_inout:
        return bad_handle(MPI_ERR_ERRHANDLER, "error handler", value_of(MPI_ERRHANDLER_NULL), argument,
                          handle);
      case Kind::type_inout:
      case Kind::type_at:
        return bad_type(argument, handle);
      case Kind::request_inout:
        return bad_handle(MPI_ERR_REQUEST, "request", value_of(MPI_REQUEST_NULL), argument, handle);
      case Kind::message_inout:
        return bad_handle(MPI_ERR_REQUEST, "message", value_of(MPI_MESSAGE_NULL), argument, handle);
      default:
        break;
    }
  }
  return fail(MPI_ERR_ARG, "%s is a null pointer", argument.name);
}

}  // namespace

int reject(Call call, const uint64_t* words, int index) {
  if (is_of_tools(call)) return MPI_T_ERR_INVALID;
  const Parameter& parameter = call_table[static_cast<int>(call)].parameters[index];
  const objects::Comm* comm = comm_among(call, words);
  if (const objects::Win* win = win_among(call, words)) comm = win->comm;
  return raise(call, words, word_it({parameter.name, parameter.kind, words[index], comm}));
}

}  // namespace hearth::abi
