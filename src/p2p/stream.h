// Long messages in progress: the sender's state and the receiver's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "p2p/envelope.h"
#include "p2p/fragments.h"
#include "p2p/match.h"
#include "p2p/prefault.h"
#include "shm/arena.h"

namespace hearth::p2p {

struct Request;

/// A long message that this process sends in fragments. The bounce buffers that the receiver has not released
/// form a queue, oldest first; each one that is released makes room for another fragment.
struct SendStream : Fragments {
  uint32_t slot;
  uint32_t alive;

  Request* request = nullptr;
  bool cleared = false;         // the receiver has matched: the ring may carry fragments
  bool held = false;            // sends nothing before clear_to_send or finished
  uint8_t offered = 0;          // the buffer itself is exposed: kSingleCopy or kInArena
  shm::Exposure exposure;       // with kInArena
  bool buffer_awaited = false;  // the transport is to transfer the whole buffer once it has room
  bool to_answer = false;       // a request to write must still be answered, with these flags
  uint8_t answer_flags = 0;
  bool recalled = false;  // the receiver was asked to recycle no more buffers of this message
  int place = -1;         // index in LongSends::sending_; -1: held, not listed
  int in_flight = 0;
  int oldest = 0;
  struct Sent {
    PeerIndex owner;
    int buffer;  // first of its run; -1: it came back as a recycled buffer
    uint32_t ticket;
  };
  std::array<Sent, kFragmentsInFlightMax> in_buffers;

  /// The receiver has sent a fragment in this buffer. So it has emptied the buffer, although the release mark
  /// is not set.
  void note_answer(PeerIndex owner, int buffer) {
    for (int i = 0; i < in_flight; ++i) {
      Sent& sent = in_buffers[static_cast<size_t>((oldest + i) % kFragmentsInFlightMax)];
      if (sent.buffer == buffer && sent.owner == owner) sent.buffer = -1;
    }
  }
};

/// The fragments of one message that arrived before the match. There is room for all that a sender may have
/// in flight, so that a fragment can be stored without memory.
struct alignas(uint64_t) EarlyFragments {
  uint32_t slot;
  uint32_t alive;

  int count = 0;
  std::array<Fragment, kFragmentsInFlightMax> fragments;

  std::span<const Fragment> stored() const { return std::span(fragments).first(static_cast<size_t>(count)); }
};

/// A long message that arrives in fragments.
struct ReceiveStream {
  uint32_t slot;
  uint32_t alive;

  PeerIndex from = 0;
  uint32_t cookie = 0;  // of the sender's request
  uint8_t flags = 0;
  uint64_t address = 0;  // of the data in the sender
  int64_t total_bytes = 0;
  int64_t announced_bytes = 0;
  int64_t copied_bytes = 0;
  Request* request = nullptr;      // set by the match
  Prefault prefault;               // of the receive buffer
  bool by_single_copy = false;     // with measured_since_ns: the way that is measured
  uint64_t measured_since_ns = 0;  // start of a message that SingleCopyPolicy measures; 0: none
  bool asked_to_write = false;     // the sender was asked to write the message into the receive buffer
  bool buffer_awaited = false;     // the transport was asked to transfer it into the receive buffer
  bool keeps_buffers = false;      // emptied buffers are recycled (recycled_buffers.h)
  int place =
      -1;  // index in LongReceives::expected_; -1: not listed, no further fragment is expected for now
  EarlyFragments* early = nullptr;  // only before the match, and if the announcement came with a fragment
};

// Unordered lists whose members know their index, so that removal takes constant time: thousands of messages
// may be in progress.
template <class Stream>
void list(std::vector<Stream*>& streams, Stream& stream) {
  stream.place = static_cast<int>(streams.size());
  streams.push_back(&stream);
}
template <class Stream>
void unlist(std::vector<Stream*>& streams, Stream& stream) {
  if (stream.place < 0) return;
  streams.back()->place = stream.place;
  streams[static_cast<size_t>(stream.place)] = streams.back();
  streams.pop_back();
  stream.place = -1;
}

}  // namespace hearth::p2p
