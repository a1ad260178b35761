// How a sender writes into its cells for one receiver. Two kinds of stores do it:
//
//   plain      the bytes stay in this processor's cache until the receiver asks for them. Best where the two
//              share a cache.
//   streaming  past the caches. A cell that the receiver has read lies in its cache, and each line must be
//              taken away from there before it is written again: 2 to 5 ns where a cache is shared, 30 to 60
//              where none is, one line after the other. Streaming stores cost 5 ns in both cases.
//
// Which of the two is right the machine does not tell, or tells wrongly, or it changes while the job runs
// (virtual processors move). So the filler looks at the clock now and then and goes over to the other kind.
// One for each peer, owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/type.h"

namespace hearth::p2p {

class CellFiller {
 public:
  /// Found out, or fixed by p2p_stores.
  enum class Choice : uint8_t { by_time, plain, streaming };

  explicit CellFiller(Choice choice = Choice::by_time)
      : choice_(choice), streams_(choice == Choice::streaming) {}

  /// Packs bytes [offset, offset + bytes) of the message into a cell, or several in a row.
  void fill(const datatype::Type& type, const void* buffer, int64_t offset, std::byte* cell, size_t bytes);
  /// Whether plain stores have proved slow: the receiver is far away.
  bool streams() const { return streams_; }
  /// Whether plain stores are known to be fast: the two share a cache.
  bool near() const { return !streams_ && (fast_looks_ == kSettledLooks || choice_ == Choice::plain); }
  /// What a look at the clock says: so many bytes took so long with plain stores.
  void judge(uint64_t bytes, uint64_t took_ns);

 private:
  bool wants_look(size_t bytes) const;

  static constexpr uint8_t kSettledLooks = 4;

  Choice choice_;
  bool streams_;
  uint8_t slow_looks_ = 0;  // one after the other
  uint8_t fast_looks_ = 0;  // likewise, at most kSettledLooks
  uint32_t pieces_ = 0;
};

/// What the parameter says; any other word stands for by_time.
CellFiller::Choice store_choice();

}  // namespace hearth::p2p
