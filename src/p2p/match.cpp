#include "p2p/match.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "mpi.h"

namespace hearth::p2p {

struct MatchBin {
  MatchKey key;
  MatchEntry* head = nullptr;
  MatchEntry* tail = nullptr;
  MatchBin* chain = nullptr;
};

namespace {

size_t hash(const MatchKey& key) {
  uint64_t value = uint64_t{key.context} << 32 | static_cast<uint32_t>(key.tag);
  value ^= static_cast<uint64_t>(static_cast<uint32_t>(key.peer)) * 0x9e3779b97f4a7c15u;
  value *= 0xd6e8feb86659fd93u;
  return value ^ value >> 32;
}

MatchLink& link_of(MatchEntry& entry, int link) {
  return link == 0 ? entry.link : static_cast<MatchMessage&>(entry).wildcard_links[link - 1];
}

void destroy_chain(MatchBin* bin) {
  while (bin != nullptr) {
    MatchBin* next = bin->chain;
    delete bin;
    bin = next;
  }
}

// The four patterns under which a message can be received; index 0 is the exact one.
MatchKey pattern_of(const MatchKey& message, int kind) {
  MatchKey key = message;
  if (kind & 1) key.peer = MPI_ANY_SOURCE;
  if (kind & 2) key.tag = MPI_ANY_TAG;
  return key;
}

}  // namespace

bool fits(const MatchKey& pattern, const MatchKey& message) {
  return pattern.context == message.context &&
         (pattern.peer == message.peer || pattern.peer == MPI_ANY_SOURCE) &&
         (pattern.tag == message.tag || pattern.tag == MPI_ANY_TAG);
}

// Bins.

MatchBins::~MatchBins() {
  clear();
}

void MatchBins::clear() noexcept {
  for (MatchBin*& head : heads_) destroy_chain(std::exchange(head, nullptr));
  destroy_chain(std::exchange(spare_, nullptr));
  bins_ = 0;
}

MatchBin* MatchBins::find(const MatchKey& key) const {
  if (heads_.empty()) return nullptr;
  MatchBin* bin = heads_[hash(key) & (heads_.size() - 1)];
  while (bin != nullptr && !(bin->key == key)) bin = bin->chain;
  return bin;
}

bool MatchBins::grow() noexcept {
  std::vector<MatchBin*> old;
  try {
    old.resize(heads_.empty() ? 64 : heads_.size() * 2);
  } catch (const std::bad_alloc&) {
    return false;
  }
  old.swap(heads_);
  for (MatchBin* bin : old) {
    while (bin != nullptr) {
      MatchBin* next = bin->chain;
      MatchBin*& head = heads_[hash(bin->key) & (heads_.size() - 1)];
      bin->chain = head;
      head = bin;
      bin = next;
    }
  }
  return true;
}

bool MatchBins::push(const MatchKey& key, MatchEntry& entry, int link) noexcept {
  MatchBin* bin = find(key);
  if (bin == nullptr) {
    // Bins can chain, so only the first table is indispensable.
    if (bins_ >= heads_.size() && !grow() && heads_.empty()) return false;
    bin = spare_;
    if (bin != nullptr) {
      spare_ = bin->chain;
    } else {
      bin = new (std::nothrow) MatchBin;
      if (bin == nullptr) return false;
    }
    bin->key = key;
    MatchBin*& head = heads_[hash(key) & (heads_.size() - 1)];
    bin->chain = head;
    head = bin;
    ++bins_;
  }
  link_of(entry, link) = {nullptr, bin->tail, bin};
  if (bin->tail != nullptr) {
    link_of(*bin->tail, link).next = &entry;
  } else {
    bin->head = &entry;
  }
  bin->tail = &entry;
  return true;
}

void MatchBins::unlink(MatchEntry& entry, int link) {
  const MatchLink place = link_of(entry, link);
  (place.previous != nullptr ? link_of(*place.previous, link).next : place.bin->head) = place.next;
  (place.next != nullptr ? link_of(*place.next, link).previous : place.bin->tail) = place.previous;
  if (place.bin->head == nullptr) remove(place.bin);
}

void MatchBins::remove(MatchBin* bin) {
  MatchBin** place = &heads_[hash(bin->key) & (heads_.size() - 1)];
  while (*place != bin) place = &(*place)->chain;
  *place = bin->chain;
  bin->chain = spare_;
  spare_ = bin;
  --bins_;
}

MatchEntry* MatchBins::oldest(const MatchKey& key) const {
  const MatchBin* bin = find(key);
  return bin == nullptr ? nullptr : bin->head;
}

// The list of all entries.

void MatchQueue::erase(MatchEntry& entry) {
  HEARTH_DCHECK(entry.queued);
  (entry.order.previous != nullptr ? entry.order.previous->order.next : first_) = entry.order.next;
  (entry.order.next != nullptr ? entry.order.next->order.previous : last_) = entry.order.previous;
  entry.queued = false;
  ++removed_;
  if (first_ == nullptr) binned_ = false;
}

// Posted receives.

bool PostedQueue::add_to_bins(MatchEntry& entry) noexcept {
  entry.sequence = next_sequence_++;
  return bins_.push(entry.key, entry, 0);
}

void PostedQueue::remove(MatchEntry& entry) {
  ++searched_;
  if (binned_) bins_.unlink(entry, 0);
  erase(entry);
}

void PostedQueue::make_bins() noexcept {
  for (MatchEntry* entry = first_; entry != nullptr; entry = entry->order.next) {
    if (!add_to_bins(*entry)) return drop_bins();
  }
  binned_ = true;
}

MatchEntry* PostedQueue::find_in_bins(const MatchKey& message) const {
  MatchEntry* oldest = nullptr;
  for (int kind = 0; kind < 4; ++kind) {
    MatchEntry* entry = bins_.oldest(pattern_of(message, kind));
    if (entry != nullptr && (oldest == nullptr || entry->sequence < oldest->sequence)) oldest = entry;
  }
  return oldest;
}

MatchEntry* PostedQueue::search(const MatchKey& message) noexcept {
  MatchEntry* found = first_;
  if (__builtin_expect(binned_, 0)) {
    found = find_in_bins(message);
  } else {
    int walked = 0;
    for (; found != nullptr && !fits(found->key, message); found = found->order.next) ++walked;
    if (__builtin_expect(walked > kWalkMax, 0)) make_bins();
  }
  if (found != nullptr) remove(*found);
  return found;
}

// Unexpected messages.

bool UnexpectedQueue::add_to_bins(MatchMessage& entry) noexcept {
  for (int kind = 0; kind < 4; ++kind) {
    if (!bins_.push(pattern_of(entry.key, kind), entry, kind)) return false;
  }
  return true;
}

void UnexpectedQueue::add(MatchMessage& entry) noexcept {
  append(entry);
  if (binned_ && !add_to_bins(entry)) drop_bins();
}

void UnexpectedQueue::remove(MatchMessage& entry) {
  if (binned_) {
    for (int kind = 0; kind < 4; ++kind) bins_.unlink(entry, kind);
  }
  erase(entry);
}

void UnexpectedQueue::make_bins() noexcept {
  for (MatchEntry* entry = first_; entry != nullptr; entry = entry->order.next) {
    if (!add_to_bins(static_cast<MatchMessage&>(*entry))) return drop_bins();
  }
  binned_ = true;
}

MatchMessage* UnexpectedQueue::find(const MatchKey& pattern) noexcept {
  if (binned_) return static_cast<MatchMessage*>(bins_.oldest(pattern));
  int walked = 0;
  MatchEntry* entry = first_;
  for (; entry != nullptr && !fits(pattern, entry->key); entry = entry->order.next) ++walked;
  if (walked > kWalkMax) make_bins();
  return static_cast<MatchMessage*>(entry);
}

}  // namespace hearth::p2p
