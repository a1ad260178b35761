// Checks of messages between ranks: the sender publishes a record of each message on the board, and the
// receiver compares it with the matching receive: type signatures (MPI 5.0 section 3.3.1), ready sends
// (section 3.4).
//
// Order identifies the record of a message. Messages from one sender with one tag on one communicator match
// in the order of their sends, and matching receives in the order of their posts (section 3.5). The number of
// a message is therefore known once no older receive is open that could have matched it.
//
// Under the check library's lock.
#pragma once

#include "check/communicators.h"
#include "check/types.h"

namespace hearth::check {

/// A message that this process sends.
struct Sent {
  CommPointer comm;
  StreamKey key;
  uint64_t number = 0;
  size_t place = 0;  // index of its record
};

/// A receive from its post until its message is known and compared.
struct Posted {
  int source = 0;  // in the communicator, or MPI_ANY_SOURCE
  int tag = 0;
  TypePointer type;  // nullptr: unknown, or MPI_Mprobe matched the message and it is not received yet
  uint64_t count = 0;
  uint64_t time_ns = 0;
  uint32_t site = 0;
  Call call = Call::recv;
  enum class State { open, matched, numbered, gone } state = State::open;
  int matched_source = 0;
  int matched_tag = 0;
  uint64_t number = 0;  // among its sender's messages
  bool compared = false;
};
using PostedPointer = std::shared_ptr<Posted>;

class Messages {
 public:
  explicit Messages(Report& report) : report_(report) {}

  /// Before a call that sends. The result's comm is nullptr if nothing was recorded (MPI_PROC_NULL, invalid
  /// arguments).
  Sent send(const CommPointer& comm, int64_t to, int64_t tag, const TypePointer& type, int64_t count,
            Call call, uint32_t site);
  /// After that call. `failed`: the message was not sent.
  void end_send(const Sent& sent, bool failed);

  /// Before a call that posts a receive.
  PostedPointer post(const CommPointer& comm, int64_t source, int64_t tag, const TypePointer& type,
                     int64_t count, Call call, uint32_t site);
  /// After that call, whether it succeeded or not.
  void end_post(Comm& comm) { --comm.receiving; }
  /// The receive has matched a message.
  void match(Comm& comm, const PostedPointer& posted, int source, int tag);
  /// The receive was cancelled, or its source was MPI_PROC_NULL.
  void drop(Comm& comm, const PostedPointer& posted);
  /// The match of this receive will remain unknown.
  void give_up(Comm& comm, const PostedPointer& posted);
  /// The receive of a message that MPI_Mprobe has matched.
  void receive_matched(Comm& comm, const PostedPointer& posted, const TypePointer& type, int64_t count,
                       Call call, uint32_t site);

 private:
  void settle(Comm& comm);
  void compare(Comm& comm, Posted& posted);
  void compare_types(Comm& comm, const Posted& posted, const shm::MessageRecord& record);

  Report& report_;
};

}  // namespace hearth::check
