// The memory that a call accesses, in pieces of a datatype: its overlap with other buffers, and whether its
// contents have changed. Under the check library's lock.
#pragma once

#include <map>
#include <vector>

#include "check/types.h"

namespace hearth::check {

struct Piece {
  uintptr_t address = 0;
  int64_t count = 0;
  TypePointer type;
};

class Buffer {
 public:
  /// Pre: the count is not negative. Without a type nothing is added; the buffer is then only partly known.
  void add(uintptr_t address, int64_t count, TypePointer type);
  bool empty() const { return pieces_.empty(); }
  /// From the first byte to one past the last, gaps included.
  const Segment& bounds() const { return bounds_; }
  /// A hash of its bytes; 0 if their addresses are unknown.
  uint64_t checksum() const;
  /// The first byte that both buffers contain; 0 if there is none, or if it is unknown.
  uintptr_t shared_with(const Buffer& other) const;

 private:
  bool segments(std::vector<Segment>& result) const;

  std::vector<Piece> pieces_;
  Segment bounds_ = {UINTPTR_MAX, 0};
};

/// "0x7ffe1000 to 0x7ffe1190".
std::string words_of(const Buffer& buffer);

}  // namespace hearth::check
