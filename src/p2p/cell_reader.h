// How a receiver copies pieces of long messages out of the cells of one sender. Two ways:
//
//   in order     best where the two share a cache
//   four pages   in turns, a line of each (base/copy_loop.h). Out of a cache that is far away lines come one
//                after the other, and more of them are under way if the processor fetches ahead in four
//                places: 16 KiB in 0.9 us instead of 1.1. Near it takes up to a fifth longer.
//
// Which one is right shows only in the time: a look at the clock now and then, at two pieces in a row, one
// each way. One for each peer, owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::p2p {

class CellReader {
 public:
  /// Found out, or fixed by p2p_loads.
  enum class Choice : uint8_t { by_time, in_order, four_pages };

  explicit CellReader(Choice choice = Choice::by_time)
      : choice_(choice), four_pages_(choice == Choice::four_pages) {}

  /// What a piece must be for a choice: long enough, and of a message that fits the second-level cache
  /// together with what it is copied to. Longer ones come from memory, where four pages take a tenth longer
  /// (far, 512 KiB).
  static bool has_choice(int64_t message_bytes, size_t bytes) {
    return bytes >= kBytesMin && message_bytes <= kMessageBytesMax;
  }
  /// Pre: has_choice().
  void read(void* to, const std::byte* cell, size_t bytes);
  bool reads_four_pages() const { return four_pages_; }
  /// What two looks at the clock say: a piece of that length took so long each way.
  void judge(uint64_t bytes, uint64_t in_order_ns, uint64_t four_pages_ns);

 private:
  static constexpr size_t kBytesMin = 8192;
  static constexpr int64_t kMessageBytesMax = 256 * 1024;

  static void copy(bool four_pages, void* to, const std::byte* cell, size_t bytes);

  Choice choice_;
  bool four_pages_;
  uint8_t lost_ = 0;               // trials in a row in which the other way was quicker
  bool begins_with_four_ = false;  // the trial that is under way, or the next one
  uint32_t pieces_ = 0;            // since the last trial
  size_t first_bytes_ = 0;         // of the piece that was the first of a trial; 0: none is under way
  uint64_t first_ns_ = 0;          // it took so long
};

/// What the parameter says; any other word stands for by_time.
CellReader::Choice load_choice();

}  // namespace hearth::p2p
