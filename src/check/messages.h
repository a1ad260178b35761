// Messages from one rank to another: what the sender says of each on the board, and the comparison when a
// receive has matched it: type signatures (MPI 5.0 section 3.3.1), ready sends (section 3.4).
//
// Which record is a message's follows from order: messages of one sender with one tag on one communicator
// match receives in the order in which they were sent, and the receives that could match them in the order in
// which they were posted (section 3.5). So the number of a message is known once no older receive is open
// that it might have gone to.
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
  size_t place = 0;  // of its record
};

/// A receive, from when it is posted to when its message is known and has been compared.
struct Posted {
  int source = 0;  // in the communicator, or MPI_ANY_SOURCE
  int tag = 0;
  TypePointer type;  // nullptr: not known, or a message that MPI_Mprobe took and nobody has received
  uint64_t count = 0;
  uint64_t time_ns = 0;
  uint32_t site = 0;
  Call call = Call::recv;
  enum class State { open, matched, numbered, gone } state = State::open;
  int matched_source = 0;
  int matched_tag = 0;
  uint64_t number = 0;  // among the messages of its sender
  bool compared = false;
};
using PostedPointer = std::shared_ptr<Posted>;

class Messages {
 public:
  explicit Messages(Report& report) : report_(report) {}

  /// Before a call that sends. nullptr comm in the result: nothing was noted (MPI_PROC_NULL, wrong
  /// arguments).
  Sent send(const CommPointer& comm, int64_t to, int64_t tag, const TypePointer& type, int64_t count,
            Call call, uint32_t site);
  /// Behind it. `failed`: there is no such message.
  void end_send(const Sent& sent, bool failed);

  /// Before a call that posts a receive.
  PostedPointer post(const CommPointer& comm, int64_t source, int64_t tag, const TypePointer& type,
                     int64_t count, Call call, uint32_t site);
  /// Behind that call, whichever way it ended.
  void end_post(Comm& comm) { --comm.receiving; }
  /// The receive has its message.
  void match(Comm& comm, const PostedPointer& posted, int source, int tag);
  /// It was cancelled, or went to nobody.
  void drop(Comm& comm, const PostedPointer& posted);
  /// Nothing more will be known of it.
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
