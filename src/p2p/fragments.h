// The lengths of the fragments in which a long message goes through bounce buffers, and how many may be in
// flight. One per long message, in its SendStream.
#pragma once

#include <cstdint>

#include "p2p/protocol.h"

namespace hearth::p2p {

constexpr int kCellsInFlightMax = 32;
/// Shortest fragment: each has a start-up cost on both sides.
constexpr int64_t kPartBytesMin = 2048;

struct Fragments {
  int64_t total_bytes = 0;
  int64_t sent_bytes = 0;
  int64_t next_part_bytes = 0;  // if the message is long enough
  bool next_is_longer = false;
  bool recycles = false;  // in recycled buffers (recycled_buffers.h)

  /// `streams`: written by streaming stores.
  void begin(int64_t bytes, bool in_recycled_buffers, bool streams, const PairProtocol& limits);
  int64_t left_bytes() const { return total_bytes - sent_bytes; }
  /// Length of the next fragment.
  int64_t next_part(const PairProtocol& limits) const;
  /// Minimum length of the next fragment, so that the rest fits the fragments that may still be in flight: a
  /// message that fits the bounce buffers must not wait for its receiver because its fragments were short.
  /// 0 for longer messages, which wait in any case.
  int64_t least_part(int in_flight, const PairProtocol& limits) const;
  int in_flight_max(const PairProtocol& limits) const;
  /// A fragment of `bytes` bytes was sent.
  void sent(int64_t bytes, const PairProtocol& limits);
};

}  // namespace hearth::p2p
