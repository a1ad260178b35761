// Matching of messages and receives (MPI 5.0 section 3.5): the posted and the unexpected queue with the pools
// of unexpected messages and of messages that a matched probe has taken. Independent of transports, of
// requests and of the protocols of long messages.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/pool.h"
#include "p2p/match.h"
#include "p2p/message.h"
#include "p2p/unexpected_message.h"
#include "shm/ring.h"

namespace hearth::p2p {

class Matching {
 public:
  Matching() { pool_.prepare(); }
  /// Pre: the streams of the unexpected messages have been destroyed.
  ~Matching();
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;

  PostedQueue& posted() { return posted_; }
  const PostedQueue& posted() const { return posted_; }
  const UnexpectedQueue& unexpected() const { return unexpected_; }
  /// Both queues are empty: the next message of a sender belongs to the next receive.
  bool empty() const { return posted_.empty() && unexpected_.empty(); }

  /// Posts a receive, unless a message that matches it has arrived: takes that message out of the queue and
  /// returns it; the caller destroys it.
  UnexpectedMessage* post(MatchEntry& receive) {
    if (!unexpected_.empty()) {
      if (UnexpectedMessage* message = take(receive.key); message != nullptr) return message;
    }
    posted_.add(receive);
    return nullptr;
  }
  /// The oldest message that matches a receive; it stays in the queue. nullptr: none.
  const UnexpectedMessage* find(const MatchKey& pattern) {
    return static_cast<UnexpectedMessage*>(unexpected_.find(pattern));
  }
  /// The same; the caller gets the message.
  UnexpectedMessage* take(const MatchKey& pattern);
  /// Takes a message out of the queue.
  void remove(UnexpectedMessage& message) { unexpected_.remove(message); }

  /// Queues an eager message that no receive matches, with a copy of its payload. nullptr: no memory.
  [[nodiscard]] UnexpectedMessage* add(const MatchKey& key, const shm::PacketHeader& header,
                                       const std::byte* payload);
  /// Queues a long message of `bytes` bytes, whose data `stream` has. nullptr: no memory.
  [[nodiscard]] UnexpectedMessage* add(const MatchKey& key, const shm::PacketHeader& header, int64_t bytes,
                                       ReceiveStream& stream);
  /// Destroys a message that is in no queue. Its stream belongs to the caller.
  void destroy(UnexpectedMessage* message);

  /// Messages that MPI_Mprobe has taken.
  Pool<Message>& messages() { return messages_; }
  size_t pool_bytes() const { return messages_.bytes_used() + pool_.bytes_used(); }

 private:
  UnexpectedMessage* make(const MatchKey& key, const shm::PacketHeader& header);

  PostedQueue posted_;
  UnexpectedQueue unexpected_;
  Pool<Message> messages_{size_t{1} << 16};
  Pool<UnexpectedMessage> pool_;
};

}  // namespace hearth::p2p
