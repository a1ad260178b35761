// What a call sends and receives, and its memory, derived from its arguments.
#pragma once

#include <string>

#include "check/arguments.h"
#include "check/buffers.h"
#include "check/communicators.h"
#include "check/types.h"

namespace hearth::check {

struct Side {
  bool present = false;
  int64_t peer = MPI_PROC_NULL;  // point-to-point only
  int64_t tag = 0;
  int64_t count = 0;
  TypePointer type;
  Buffer buffer;
};

struct Operation {
  Call call = Call::send;
  uint32_t site = 0;
  CommPointer comm;
  Side send;
  Side receive;
};

enum class Manner { other, blocking, nonblocking, persistent };
/// Kind of a point-to-point or collective call; `other` for calls that transfer no data.
Manner manner_of(const Arguments& call);
/// Whether the call sends or receives messages by rank and tag. Excludes partitioned communication, which
/// matches only itself.
bool is_message(const Arguments& call);

/// Fill in the sides and buffers of a message or collective. Invalid arguments are skipped.
void read_message(const Arguments& call, Types& types, Operation& operation);
void read_collective(const Arguments& call, Types& types, Operation& operation);

/// "MPI_Isend(4 x MPI_INT to rank 1, tag 3)".
std::string words_of(const Operation& operation);

}  // namespace hearth::check
