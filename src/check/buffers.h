// The memory that a call names, in pieces of a type: what of it two buffers share, and whether it has
// changed. Under the check library's lock.
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
  /// Pre: the count is not negative. Without a type, nothing is added, and the buffer is not known whole.
  void add(uintptr_t address, int64_t count, TypePointer type);
  bool empty() const { return pieces_.empty(); }
  /// From the first byte to before the last, whatever lies in between.
  const Segment& bounds() const { return bounds_; }
  /// A hash of its bytes; 0 where it is not known where they lie.
  uint64_t checksum() const;
  /// The first byte that both have; 0 where there is none, or that is not known.
  uintptr_t shared_with(const Buffer& other) const;

 private:
  bool segments(std::vector<Segment>& result) const;

  std::vector<Piece> pieces_;
  Segment bounds_ = {UINTPTR_MAX, 0};
};

/// "0x7ffe1000, 400 bytes".
std::string words_of(const Buffer& buffer);

}  // namespace hearth::check
