#include "p2p/fragments.h"

#include <algorithm>

namespace hearth::p2p {
namespace {

// Streaming stores end a fragment with a fence, and the reader fetches it from memory: fewer fragments are
// better.
constexpr int64_t kStreamedFragmentBytesMin = 4096;

// Length of the first fragment. A short message is sent in two fragments. Each fragment has a start-up cost
// on both sides, so fragments of long messages begin longer.
int64_t first_fragment(int64_t total_bytes, bool streams, const PairProtocol& limits) {
  const auto longest = static_cast<int64_t>(limits.first_fragment_bytes);
  const int64_t least = streams ? kStreamedFragmentBytesMin : kFragmentBytesMin;
  return std::min(std::max(total_bytes / 2, least), total_bytes < 6 * longest ? longest / 2 : longest);
}

}  // namespace

void Fragments::begin(int64_t bytes, bool in_recycled_buffers, bool streams, const PairProtocol& limits) {
  total_bytes = bytes;
  recycles = in_recycled_buffers;
  next_fragment_bytes = first_fragment(bytes, streams, limits);
}

}  // namespace hearth::p2p
