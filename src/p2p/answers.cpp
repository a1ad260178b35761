#include "p2p/answers.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/chaos.h"

namespace hearth::p2p {

bool Answers::try_send(PeerIndex to, PacketKind kind, uint8_t flags, uint32_t cookie) {
  Status status;
  if (transport_.claim(to, 0, status) == nullptr) return false;
  transport_.commit(to, static_cast<uint8_t>(kind), flags, 0, cookie, 0);
  return true;
}

void Answers::send(PeerIndex to, PacketKind kind, uint8_t flags, uint32_t cookie) try {
  std::vector<Answer>& waiting = waiting_[static_cast<size_t>(to)];
  if (failures_.is_dead(to)) return;
  if (waiting.empty() && try_send(to, kind, flags, cookie)) return;
  waiting.push_back({kind, flags, cookie});
  if (std::find(peers_.begin(), peers_.end(), to) == peers_.end()) peers_.push_back(to);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("an answer that waits for room in the ring", sizeof(Answer), to);
}

bool Answers::serve() {
  bool moved = false;
  for (size_t i = 0; i < peers_.size();) {
    std::vector<Answer>& waiting = waiting_[static_cast<size_t>(peers_[i])];
    const auto left = std::find_if(waiting.begin(), waiting.end(), [&](const Answer& answer) {
      return !try_send(peers_[i], answer.kind, answer.flags, answer.cookie);
    });
    moved |= left != waiting.begin();
    waiting.erase(waiting.begin(), left);
    if (waiting.empty()) {
      peers_[i] = peers_.back();
      peers_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

void Answers::shuffle() {
  for (size_t i = 1; i < peers_.size(); ++i) std::swap(peers_[i], peers_[chaos::draw(i + 1)]);
}

}  // namespace hearth::p2p
