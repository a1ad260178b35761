// The requests of a process: their pool, the cookies by which other processes refer to sends, completion and
// destruction, groups of messages, and operations that progress has to advance. Independent of transports and
// protocols.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/status.h"
#include "datatype/lifetime.h"
#include "objects/lifetime.h"
#include "p2p/fatal_errors.h"
#include "p2p/match.h"
#include "p2p/request.h"

namespace hearth::p2p {

/// An operation that advances when other processes store to shared memory instead of sending a packet. The
/// storing process wakes this one by its wake-up word (shm/wait.h).
class Polled {
 public:
  /// Advances as far as possible; returns true on completion. Never blocks.
  virtual bool advance() = 0;

 protected:
  ~Polled() = default;
};

class RequestTable {
 public:
  /// `posted`: the queue that a receive leaves when it is destroyed.
  RequestTable(PeerIndex self, PostedQueue& posted, const FatalErrors& errors);

  /// nullptr: no memory (too_many()). The caller holds one reference to the type and the communicator.
  template <class... Arguments>
  Request* create(Arguments&&... arguments) {
    return pool_.create(std::forward<Arguments>(arguments)...);
  }
  [[gnu::cold]] Status too_many() const;
  /// Destroys a request; calls hooks->release() if it has hooks.
  void destroy(Request* request);
  /// destroy() for requests with is_plain_receive().
  void destroy_plain(Request& request) {
    datatype::release(*request.type);
    objects::release(*request.comm);
    pool_.destroy(&request);
  }
  /// For a request whose handle was freed: destroys it now if it is complete or inactive, otherwise on
  /// completion.
  void release(Request* request);
  /// Completes an operation. May destroy the request.
  void complete(Request& request, Status outcome) {
    request.outcome = outcome;
    request.complete = true;
    if (__builtin_expect(request.handle_freed, 0)) destroy_complete(request);
  }
  /// Completes a receive of a message of `bytes` bytes, which may be longer than the buffer.
  void complete_receive(Request& request, PeerIndex from, int tag, int64_t bytes) {
    const int64_t room = request.count * request.type->size;
    request.from = from;
    request.received_tag = tag;
    request.received_bytes = bytes <= room ? bytes : room;
    complete(request, __builtin_expect(bytes <= room, 1) ? Status() : truncation(request, from, tag, bytes));
  }
  /// Completes a receive that takes no message.
  void end_receive(Request& request, PeerIndex from, Status outcome);
  /// The request of all sends that complete immediately; one shared object.
  Request* completed_send() const { return completed_send_; }

  // Sends in progress, which the end of MPI waits for.
  void begin_send(Request& request) {
    ++sends_pending_;
    request.epoch = 0;
    request.await_match = request.mode == SendMode::synchronous;
  }
  void complete_send(Request& request, Status outcome) {
    --sends_pending_;
    complete(request, outcome);
  }
  size_t sends_pending() const { return sends_pending_; }

  // Cookies: by them the receiver's answers identify a send.
  static uint32_t cookie_of(const Request& request) {
    return request.slot | static_cast<uint32_t>(request.epoch) << kSlotBits;
  }
  uint32_t issue_cookie(Request& request) const {
    request.epoch = epoch_;
    return cookie_of(request);
  }
  /// The send to `from` that an answer refers to; nullptr for an invalid answer, which only a failure or a
  /// stray write into the ring produces.
  Request* find_send(uint32_t cookie, PeerIndex from) const;
  /// Answers to sends of the previous epoch are invalid from now on, unless these sends are still pending.
  void begin_epoch() {
    if (++epoch_ == 0) epoch_ = 1;
  }

  // Operations that progress advances.
  /// Adds a request to `group`, which counts it until completion; it is then destroyed.
  void entrust(Request* request, MessageGroup& group);
  /// Registers a request whose hooks->advance is called until it is complete.
  void add_hooked(Request& request) {
    request.next = hooked_;
    hooked_ = &request;
  }
  bool has_hooked() const { return hooked_ != nullptr; }
  /// Whether a message of a group has ended for lack of memory since the last take_unsent().
  bool any_unsent() const { return !unsent_.empty(); }
  /// The message that ended last; forgets it. Pre: any_unsent().
  MatchKey take_unsent() {
    const MatchKey key = unsent_.back();
    unsent_.pop_back();
    return key;
  }
  /// Registers an operation that is advanced until it is over, in the order of registration.
  void poll(Polled& work);
  /// Advances all of them; returns whether any advanced.
  bool advance() {
    bool moved = false;
    if (__builtin_expect(ready_ != nullptr, 0)) moved = advance_ready();
    if (__builtin_expect(!polled_.empty(), 0)) moved |= advance_polled();
    if (__builtin_expect(hooked_ != nullptr, 0)) moved |= advance_hooked();
    return moved;
  }

  Pool<Request>& pool() { return pool_; }
  const Pool<Request>& pool() const { return pool_; }

 private:
  static constexpr int kSlotBits = 24;

  void destroy_complete(Request& request);
  void leave_group(Request& request);
  void note_outcome(MessageGroup& group, const Request& request) {
    if (__builtin_expect(!request.outcome.ok(), 0)) note_error(group, request);
  }
  [[gnu::cold]] void note_error(MessageGroup& group, const Request& request);
  bool advance_ready();
  bool advance_polled();
  bool advance_hooked();
  [[gnu::cold]] Status truncation(const Request& request, PeerIndex from, int tag, int64_t bytes) const;

  const PeerIndex self_;
  PostedQueue& posted_;
  const FatalErrors& errors_;
  Pool<Request> pool_{size_t{1} << kSlotBits};
  Request* completed_send_;
  size_t sends_pending_ = 0;
  uint8_t epoch_ = 1;  // changes when sends end whose answers may still arrive; never 0
  std::vector<Polled*> polled_;
  std::vector<MatchKey> unsent_;  // messages of groups that ended for lack of memory
  Request* hooked_ = nullptr;
  Request* ready_ = nullptr;  // requests whose MessageGroup has reached wake_at
};

}  // namespace hearth::p2p
