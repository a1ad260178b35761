// The lengths of the fragments in which a long message goes through bounce buffers, and how many may be in
// flight. One per long message, in its SendStream.
#pragma once

#include <algorithm>
#include <cstdint>

#include "p2p/protocol.h"

namespace hearth::p2p {

constexpr int kFragmentsInFlightMax = 32;
/// Shortest fragment: each has a start-up cost on both sides.
constexpr int64_t kFragmentBytesMin = 2048;

struct Fragments {
  int64_t total_bytes = 0;
  int64_t sent_bytes = 0;
  int64_t next_fragment_bytes = 0;  // if the message is long enough
  bool next_is_longer = false;
  bool recycles = false;  // in recycled buffers (recycled_buffers.h)

  /// `streams`: written by streaming stores.
  void begin(int64_t bytes, bool in_recycled_buffers, bool streams, const PairProtocol& limits);
  int64_t left_bytes() const { return total_bytes - sent_bytes; }
  /// Length of the next fragment. Fragments are short compared to the message, so that copying in and copying
  /// out overlap. They are short at its end, so that little is left to copy out after the last byte has been
  /// copied in.
  int64_t next_fragment(const PairProtocol& limits) const {
    constexpr int64_t kFragmentsMin = 8;
    const int64_t left = left_bytes();
    return std::min({next_fragment_bytes, static_cast<int64_t>(limits.fragment_bytes_max),
                     recycles ? std::max(total_bytes / kFragmentsMin, kTailBytesMin) : left,
                     std::max(left / 2, kTailBytesMin), left});
  }
  /// Minimum length of the next fragment, so that the rest fits the fragments that may still be in flight: a
  /// message that fits the bounce buffers must not wait for its receiver because its fragments were short.
  /// 0 for longer messages, which wait in any case.
  int64_t least_fragment(int in_flight, const PairProtocol& limits) const {
    const auto longest = static_cast<int64_t>(limits.fragment_bytes_max);
    const int64_t rest = (in_flight_max(limits) - in_flight - 1) * longest;
    return left_bytes() > rest + longest ? 0 : left_bytes() - rest;
  }
  /// Fragments in recycled buffers are short and do not fill the caches, so twice as many may be in flight.
  int in_flight_max(const PairProtocol& limits) const {
    return recycles ? std::min(2 * limits.fragments_in_flight_max, kFragmentsInFlightMax)
                    : limits.fragments_in_flight_max;
  }
  /// A fragment of `bytes` bytes was sent. Fragments start small and grow. In recycled buffers, two
  /// consecutive fragments have the same length: copying in is not twice as fast as copying out, so the
  /// receiver would run dry if each fragment were twice as long as the previous one.
  void sent(int64_t bytes, const PairProtocol& limits) {
    sent_bytes += bytes;
    const auto longest = static_cast<int64_t>(limits.fragment_bytes_max);
    if (!recycles || next_is_longer) next_fragment_bytes = std::min(2 * next_fragment_bytes, longest);
    next_is_longer = !next_is_longer;
  }

 private:
  static constexpr int64_t kTailBytesMin = 16384;
};

}  // namespace hearth::p2p
