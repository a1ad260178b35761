// Cells that travel between two processes, with the messages that they send each other.
//
//   A  fills c  ->  "cells: c"                                    copies out of c, keeps it, fills c  -> ...
//   B                 copies out of c, keeps it, fills c  ->  "cells: yours, c"
//
// A processor writes quickly to lines that it has just read, and slowly to those whose last reader was
// another one: far from each other, 64 KiB take 25 us by plain stores into cells that were given back by
// marks, and 5 us by cells that came with a message (docs/notebook/copying.md). So who has emptied a cell
// keeps it for what it sends to that peer next, whether the cell is of its own pool or of the peer's.
//
// Nobody keeps more of what comes from a peer than it has lately sent to it, so that nothing is withheld from
// one who only sends, and no more than a share of the pool, so that its owner always has some. What is kept
// stays busy for its owner, as if it had not been read yet. So it gives no credit for more of a long message:
// only cells of messages up to that share are kept, and a sender that has as many parts under way as it may
// asks for them back (`recall`).
//
// One for each peer, owned by the engine, under the library's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/envelope.h"

namespace hearth::p2p {

class KeptCells {
 public:
  /// So many bytes went to the peer through cells; at most `most` may be kept at any time.
  void sent(int64_t bytes, int64_t most) {
    most_ = most;
    allowance_ = std::min(allowance_ + bytes, most);
  }
  /// Whether this run is kept; else it is to be given back now.
  bool keep(const CellPart& run) {
    if (int64_t{run.bytes} > allowance_ || kept_bytes_ + run.bytes > most_ || runs_.size() == kRunsMax)
      return false;
    allowance_ -= run.bytes;
    kept_bytes_ += run.bytes;
    runs_.push_back(run);
    return true;
  }
  bool empty() const { return runs_.empty(); }
  /// The one that has been kept longest. Pieces of an answer tend to be as long as those of the question.
  CellPart take() {
    const CellPart run = runs_.front();
    runs_.erase(runs_.begin());
    kept_bytes_ -= run.bytes;
    return run;
  }
  /// Whether far more was sent than has come back.
  bool one_way() const { return most_ != 0 && allowance_ == most_; }

 private:
  static constexpr size_t kRunsMax = 32;

  std::vector<CellPart> runs_;  // as they came, oldest first: what fits is what was in them
  int64_t most_ = 0;
  int64_t kept_bytes_ = 0;
  int64_t allowance_ = 0;
};

}  // namespace hearth::p2p
