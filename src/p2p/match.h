// Matching of messages and receives (MPI 5.0 section 3.5): posted receives wait for messages, unexpected
// messages wait for receives; the oldest match is taken.
//
// Both queues are plain lists as long as searches find their entry near the front, which is nearly always. A
// long search converts its queue to hash bins, one list per key, until the queue is empty. A posted receive
// is in the bin of its own pattern; a message is looked up under the four patterns that match it. An
// unexpected message is in the bins of all four patterns that match it, so any receive finds its oldest
// message at the head of one bin.
//
// Bins only make searches faster. If there is no memory for one, the queue drops all its bins and stays a
// plain list until the next long search. So no function here fails or throws.
//
// Used under the library's lock, by the engine only. The queues do not own their entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "objects/group.h"

namespace hearth::p2p {

/// The pattern of a receive, in which peer may be MPI_ANY_SOURCE and tag MPI_ANY_TAG, or the key of a
/// message, which has no wildcards.
struct MatchKey {
  uint32_t context = 0;
  objects::PeerIndex peer = 0;
  int tag = 0;

  bool operator==(const MatchKey&) const = default;
};

struct MatchEntry;
struct MatchBin;

/// Links within a bin, and within the list of all entries. Valid only while the entry is queued, and
/// uninitialized otherwise, because clearing them would slow down the creation of requests.
struct MatchLink {
  MatchEntry* next;
  MatchEntry* previous;
  MatchBin* bin;
};
struct MatchOrder {
  MatchEntry* next;
  MatchEntry* previous;
};

/// Base of queue entries. Small, because a program may have many receives posted, which should stay in the
/// cache.
struct MatchEntry {
  MatchEntry() {}  // NOLINT(modernize-use-equals-default): value-initialization would clear the links
  explicit MatchEntry(const MatchKey& of_key) : key(of_key) {}

  MatchKey key;
  bool queued = false;
  MatchOrder order;   // in the list of all entries, oldest first
  MatchLink link;     // in the bin of its own key
  uint64_t sequence;  // order of arrival, while the queue has bins
};

/// A message is also in the bins of the three patterns with a wildcard.
struct MatchMessage : MatchEntry {
  MatchMessage() {}  // NOLINT(modernize-use-equals-default): see MatchEntry

  MatchLink wildcard_links[3];
};

/// A hash table of bins. A bin exists while it has an entry.
class MatchBins {
 public:
  ~MatchBins();
  MatchBins() = default;
  MatchBins(const MatchBins&) = delete;
  MatchBins& operator=(const MatchBins&) = delete;

  /// `link` 0 is the entry's own; 1 to 3 are a MatchMessage's wildcard links. False: out of memory, and the
  /// entry was not added.
  [[nodiscard]] bool push(const MatchKey& key, MatchEntry& entry, int link) noexcept;
  void unlink(MatchEntry& entry, int link);
  /// The oldest entry under a key, or nullptr.
  MatchEntry* oldest(const MatchKey& key) const;
  size_t size() const { return bins_; }
  /// Removes all entries, whose links become invalid.
  void clear() noexcept;

 private:
  MatchBin* find(const MatchKey& key) const;
  /// Doubles the table; false: out of memory, and the table is unchanged.
  bool grow() noexcept;
  void remove(MatchBin* bin);

  std::vector<MatchBin*> heads_;
  size_t bins_ = 0;
  MatchBin* spare_ = nullptr;  // for reuse
};

/// Base of both queues: the list of all entries.
class MatchQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return static_cast<size_t>(added_ - removed_); }
  /// How many entries have ever been queued.
  uint64_t total() const { return added_; }
  bool binned() const { return binned_; }
  MatchEntry* first() const { return first_; }

 protected:
  // A search over more entries than this creates the bins; a shorter walk is cheaper than hashing.
  static constexpr int kWalkMax = 16;

  void append(MatchEntry& entry) {
    entry.queued = true;
    entry.order.next = nullptr;
    entry.order.previous = last_;
    (last_ != nullptr ? last_->order.next : first_) = &entry;
    last_ = &entry;
    ++added_;
  }
  void erase(MatchEntry& entry);
  /// Back to a plain list.
  void drop_bins() noexcept {
    bins_.clear();
    binned_ = false;
  }

  MatchEntry* first_ = nullptr;
  MatchEntry* last_ = nullptr;
  uint64_t added_ = 0;
  uint64_t removed_ = 0;
  uint64_t next_sequence_ = 0;
  bool binned_ = false;
  MatchBins bins_;
};

/// The posted queue: receives that wait for messages.
class PostedQueue : public MatchQueue {
 public:
  void add(MatchEntry& entry) noexcept {
    append(entry);
    if (__builtin_expect(binned_, 0) && !add_to_bins(entry)) drop_bins();
  }
  void remove(MatchEntry& entry);
  /// Removes and returns the oldest receive that matches a message, or nullptr.
  MatchEntry* take(const MatchKey& message) {
    // Nearly always the first entry matches and has no wildcard.
    MatchEntry* entry = first_;
    if (entry == nullptr) return nullptr;
    if (__builtin_expect(binned_ || !(entry->key == message), 0)) return search(message);
    remove_first(*entry);
    ++searched_;
    return entry;
  }
  /// Whether no older entry can take a message that matches this one.
  bool is_first(const MatchEntry& entry) const { return &entry == first_ && !binned_; }
  /// Pre: is_first(entry).
  void remove_first(MatchEntry& entry) {
    first_ = entry.order.next;
    (first_ != nullptr ? first_->order.previous : last_) = nullptr;
    entry.queued = false;
    ++removed_;
  }
  /// How many entries the fast path took by remove_first().
  uint64_t taken_inline() const { return removed_ - searched_; }

 private:
  MatchEntry* search(const MatchKey& message) noexcept;
  [[nodiscard]] bool add_to_bins(MatchEntry& entry) noexcept;
  MatchEntry* find_in_bins(const MatchKey& message) const;
  void make_bins() noexcept;

  uint64_t searched_ = 0;  // removals other than those of the fast path
};

/// The unexpected queue: messages that wait for receives.
class UnexpectedQueue : public MatchQueue {
 public:
  void add(MatchMessage& entry) noexcept;
  void remove(MatchMessage& entry);
  /// The oldest message that matches a receive, or nullptr. It stays in the queue.
  MatchMessage* find(const MatchKey& pattern) noexcept;

 private:
  [[nodiscard]] bool add_to_bins(MatchMessage& entry) noexcept;
  void make_bins() noexcept;
};

/// Whether a message matches the pattern of a receive.
bool fits(const MatchKey& pattern, const MatchKey& message);

}  // namespace hearth::p2p
