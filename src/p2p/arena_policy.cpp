#include "p2p/arena_policy.h"

#include <algorithm>

namespace hearth::p2p {
namespace {

// An epoch is as fast as its fastest part: the others contain page faults, interrupts or samples.
constexpr uint8_t kParts = 4;
// At most 1 % of the messages are trials, unless the program keeps changing.
constexpr uint32_t kSettledPerTrial = 100;
constexpr uint32_t kPatienceMin = 256;
// A switch has to gain more than the times of equal epochs differ.
constexpr float kMargin = 0.95F;
// Consecutive parts whose time per byte differs that much show that the program or the machine has changed.
constexpr uint8_t kChangedParts = 4;
constexpr float kChange = 1.33F;

}  // namespace

void ArenaPolicy::begin_part(uint64_t now_ns) {
  if (messages_ > 0) end_part(static_cast<float>(now_ns - begun_ns_) / static_cast<float>(bytes_));
  messages_ = 0;
  bytes_ = 0;
  begun_ns_ = now_ns;
}

void ArenaPolicy::end_part(float cost) {
  if (epoch_ == Epoch::settled) {
    settled_messages_ += messages_;
    const bool changed = has_changed(cost);
    if (settled_messages_ < (changed ? patience_ : kSettledPerTrial * trial_messages_)) return;
    epoch_ = Epoch::first;
    trial_messages_ = 0;
    return;
  }
  if (is_trial(epoch_)) trial_messages_ += messages_;
  cost_of(epoch_) = part_ == 0 ? cost : std::min(cost_of(epoch_), cost);
  if (++part_ < kParts) return;
  part_ = 0;
  epoch_ = static_cast<Epoch>(static_cast<int>(epoch_) + 1);
  if (epoch_ == Epoch::settled) settle();
}

void ArenaPolicy::settle() {
  const float current = std::min(cost_of(Epoch::first), cost_of(Epoch::second));
  const float other = std::max(cost_of(Epoch::first_trial), cost_of(Epoch::second_trial));
  if (other < kMargin * current) {
    arena_ = !arena_;
    settled_cost_ = other;
    patience_ = kPatienceMin;
  } else {
    settled_cost_ = current;
    patience_ = std::clamp(2 * patience_, kPatienceMin, kSettledPerTrial * trial_messages_);
  }
  settled_messages_ = 0;
  changed_parts_ = 0;
}

bool ArenaPolicy::has_changed(float cost) {
  const bool differs = cost > kChange * settled_cost_ || kChange * cost < settled_cost_;
  changed_parts_ =
      differs ? static_cast<uint8_t>(std::min(changed_parts_ + 1, int{kChangedParts})) : uint8_t{0};
  return changed_parts_ == kChangedParts;
}

}  // namespace hearth::p2p
