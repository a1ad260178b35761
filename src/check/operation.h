// What a call sends and receives, and in which memory, from its arguments.
#pragma once

#include <string>

#include "check/arguments.h"
#include "check/buffers.h"
#include "check/communicators.h"
#include "check/types.h"

namespace hearth::check {

struct Side {
  bool present = false;
  int64_t peer = MPI_PROC_NULL;  // of point-to-point
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
/// How a call of point-to-point or a collective goes; `other` for calls that move no data.
Manner manner_of(const Arguments& call);
/// Whether it names messages by rank and tag; partitioned ones, which match among themselves, are left out.
bool is_message(const Arguments& call);

/// Sides and buffers of a message, of a collective. Arguments that are wrong are left out.
void read_message(const Arguments& call, Types& types, Operation& operation);
void read_collective(const Arguments& call, Types& types, Operation& operation);

/// "MPI_Isend(4 x MPI_INT to rank 1, tag 3)".
std::string words_of(const Operation& operation);

}  // namespace hearth::check
