// Recycled buffers: bounce buffers that go back and forth between two processes with their messages.
//
//   A  fills b  ->  "buffer b"                                     copies out of b, keeps it, fills b  -> ...
//   B                copies out of b, keeps it, fills b  ->  "your buffer b"
//
// A processor writes quickly to lines that it has just read, and slowly to lines that another processor read
// last: without a shared cache, 64 KiB take 25 us by plain stores into buffers that were released by marks,
// and 5 us into buffers that came with a message (docs/notebook/messages.md). So a receiver keeps the buffers
// that it has emptied for its next messages to that peer, whether they belong to its own pool or to the
// peer's.
//
// A process keeps none while messages of its own to that peer wait for buffers: then both pools are in use,
// and kept buffers would leave the processor's caches before they are filled. It keeps at most as many bytes
// from a peer as it has recently sent to it, so that a peer which only sends gets all its buffers back; and
// at most a share of the pool, so that the owner always has some. A kept buffer stays busy for its owner, as
// if it had not been read. It therefore gives a long message no credit: only buffers of messages up to that
// share are kept, and a sender that has reached its limit of fragments in flight asks for them back
// (`recall`).
//
// One per peer, owned by the engine, under the library's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/envelope.h"

namespace hearth::p2p {

class RecycledBuffers {
 public:
  /// Records `bytes` sent to the peer in bounce buffers; at most `most` bytes may be kept at any time.
  void sent(int64_t bytes, int64_t most) {
    most_ = most;
    allowance_ = std::min(allowance_ + bytes, most);
  }
  /// Keeps a run of buffers if that is allowed; false: the caller has to release it now.
  bool keep(const Fragment& run) {
    if (int64_t{run.bytes} > allowance_ || kept_bytes_ + run.bytes > most_ || runs_.size() == kRunsMax)
      return false;
    allowance_ -= run.bytes;
    kept_bytes_ += run.bytes;
    runs_.push_back(run);
    return true;
  }
  bool empty() const { return runs_.empty(); }
  /// Takes the oldest run: the fragments of an answer tend to have the lengths of those of the request.
  Fragment take() {
    const Fragment run = runs_.front();
    runs_.erase(runs_.begin());
    kept_bytes_ -= run.bytes;
    return run;
  }
  /// Whether much more was sent than has come back.
  bool one_way() const { return most_ != 0 && allowance_ == most_; }

 private:
  static constexpr size_t kRunsMax = 32;

  std::vector<Fragment> runs_;  // oldest first; a run can hold as much as was in it
  int64_t most_ = 0;
  int64_t kept_bytes_ = 0;
  int64_t allowance_ = 0;
};

}  // namespace hearth::p2p
