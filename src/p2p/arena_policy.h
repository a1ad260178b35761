// Adaptive choice between the arena and bounce buffers for messages of a middle length to a receiver that
// shares a cache. Out of the arena they take half of the time, but a line that the receiver has read is slow
// to write again. So the arena is faster if the program sends a buffer again as it is, or changes a small
// part of it, and takes twice as long if the program writes the whole buffer first
// (docs/notebook/copying.md). The library cannot see what the program writes. So it compares what the program
// would: the time per byte from one message to the next, the program's own work between them included.
//
//   warm-up | current way | other way | current way | other way | the faster way ...           | comparison
//   ...
//             32 messages   32          32            32          100 times as many as trials
//
// The other way replaces the current one only if it was faster in both pairs. So a disturbed epoch decides
// nothing, and a program whose time is not that of its messages stays with the current way. The next
// comparison follows earlier if the time per byte changes.
//
// One per peer and range of lengths, of the sender, owned by the engine, under the library's lock.
#pragma once

#include <cstdint>

namespace hearth::p2p {

class ArenaPolicy {
 public:
  /// Whether the next message goes through the arena.
  bool chooses_arena() const { return arena_ != is_trial(epoch_); }
  /// Counts a message that is sent in the chosen way.
  void sent(uint64_t bytes) {
    ++messages_;
    bytes_ += bytes;
  }
  /// Whether a part of an epoch ends before the next message. `idle`: no message to this peer is on its way,
  /// so the part includes the whole time of its messages. If some always are, parts are longer.
  bool part_ends(bool idle) const { return messages_ >= (idle ? kPartMessages : kBusyPartMessages); }
  /// Pre: part_ends(), or the first message.
  void begin_part(uint64_t now_ns);

 private:
  enum class Epoch : uint8_t { warm_up, first, first_trial, second, second_trial, settled };

  static constexpr uint32_t kPartMessages = 8;
  static constexpr uint32_t kBusyPartMessages = 128;

  static bool is_trial(Epoch epoch) { return epoch == Epoch::first_trial || epoch == Epoch::second_trial; }
  float& cost_of(Epoch epoch) { return costs_[static_cast<int>(epoch)]; }
  void end_part(float cost);
  void settle();
  bool has_changed(float cost);

  bool arena_ = false;
  Epoch epoch_ = Epoch::warm_up;
  uint8_t part_ = 0;           // of the epoch; `settled` has one
  uint8_t changed_parts_ = 0;  // consecutive ones while settled
  uint32_t messages_ = 0;      // in this part
  uint32_t trial_messages_ = 0;
  uint32_t settled_messages_ = 0;
  uint32_t patience_ = 0;  // settled messages before a change leads to a comparison
  uint64_t bytes_ = 0;     // in this part
  uint64_t begun_ns_ = 0;  // this part
  float costs_[5] = {};    // ns per byte of each epoch before `settled`
  float settled_cost_ = 0;
};

}  // namespace hearth::p2p
