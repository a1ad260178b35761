#include "p2p/fragments.h"

#include <algorithm>

namespace hearth::p2p {
namespace {

constexpr int64_t kTailBytesMin = 16384;
constexpr int64_t kPartsMin = 8;
// Streaming stores end a fragment with a fence, and the reader fetches it from memory: fewer fragments are
// better.
constexpr int64_t kStreamedPartBytesMin = 4096;

// Length of the first fragment. A short message is sent in two fragments. Each fragment has a start-up cost
// on both sides, so fragments of long messages begin longer.
int64_t first_part(int64_t total_bytes, bool streams, const PairProtocol& limits) {
  const auto longest = static_cast<int64_t>(limits.first_part_bytes);
  const int64_t least = streams ? kStreamedPartBytesMin : kPartBytesMin;
  return std::min(std::max(total_bytes / 2, least), total_bytes < 6 * longest ? longest / 2 : longest);
}

}  // namespace

void Fragments::begin(int64_t bytes, bool in_recycled_buffers, bool streams, const PairProtocol& limits) {
  total_bytes = bytes;
  recycles = in_recycled_buffers;
  next_part_bytes = first_part(bytes, streams, limits);
}

// Fragments are short compared to the message, so that copying in and copying out overlap. They are short at
// its end, so that little is left to copy out after the last byte has been copied in.
int64_t Fragments::next_part(const PairProtocol& limits) const {
  const int64_t left = left_bytes();
  return std::min({next_part_bytes, static_cast<int64_t>(limits.part_bytes_max),
                   recycles ? std::max(total_bytes / kPartsMin, kTailBytesMin) : left,
                   std::max(left / 2, kTailBytesMin), left});
}

int64_t Fragments::least_part(int in_flight, const PairProtocol& limits) const {
  const auto longest = static_cast<int64_t>(limits.part_bytes_max);
  const int64_t rest = (in_flight_max(limits) - in_flight - 1) * longest;
  return left_bytes() > rest + longest ? 0 : left_bytes() - rest;
}

// Fragments in recycled buffers are short and do not fill the caches, so twice as many may be in flight.
int Fragments::in_flight_max(const PairProtocol& limits) const {
  return recycles ? std::min(2 * limits.cells_in_flight_max, kCellsInFlightMax) : limits.cells_in_flight_max;
}

// Fragments start small and grow. In recycled buffers, two consecutive fragments have the same length:
// copying in is not twice as fast as copying out, so the receiver would run dry if each fragment were twice
// as long as the previous one.
void Fragments::sent(int64_t bytes, const PairProtocol& limits) {
  sent_bytes += bytes;
  const auto longest = static_cast<int64_t>(limits.part_bytes_max);
  if (!recycles || next_is_longer) next_part_bytes = std::min(2 * next_part_bytes, longest);
  next_is_longer = !next_is_longer;
}

}  // namespace hearth::p2p
