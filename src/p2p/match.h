// Matching of messages and receives (MPI 5.0 section 3.5): posted receives wait for messages, unexpected
// messages wait for receives; the oldest that fits is taken.
//
// Both queues are plain lists while they are short or while what is looked for lies near the front, which
// is nearly always. A search that had to walk far turns its queue into bins: one list per key, found by
// hash, until the queue runs empty. A posted receive lies in the bin of its own pattern, and a message is
// looked up under the four patterns that fit it. An unexpected message lies in the bins of all four patterns
// that fit it, so that any receive finds its oldest message at the head of one bin.
//
// Bins only make searches faster. Where there is no memory for one, the queue drops all its bins and stays a
// plain list until the next long search: no function here fails or throws.
//
// Used under the library's lock, by the engine only. No entry is owned by a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "objects/group.h"

namespace hearth::p2p {

/// A place to receive from: peer may be MPI_ANY_SOURCE and tag MPI_ANY_TAG. A message's own has neither.
struct MatchKey {
  uint32_t context = 0;
  objects::PeerIndex peer = 0;
  int tag = 0;

  bool operator==(const MatchKey&) const = default;
};

struct MatchEntry;
struct MatchBin;

/// Places in a bin and in the list of all. Meaningful while the entry is queued, left alone otherwise: making
/// a request must not cost clearing them.
struct MatchLink {
  MatchEntry* next;
  MatchEntry* previous;
  MatchBin* bin;
};
struct MatchOrder {
  MatchEntry* next;
  MatchEntry* previous;
};

/// Base of what can be queued. Small: a program may have many receives posted, and they should stay in the
/// cache.
struct MatchEntry {
  MatchEntry() {}  // NOLINT(modernize-use-equals-default): value-initialization would clear the links
  explicit MatchEntry(const MatchKey& of_key) : key(of_key) {}

  MatchKey key;
  bool queued = false;
  MatchOrder order;   // the list of all, oldest first
  MatchLink link;     // the bin of its own key
  uint64_t sequence;  // of arrival in its queue, while that has bins
};

/// A message also lies in the bins of the three patterns with a wildcard.
struct MatchMessage : MatchEntry {
  MatchMessage() {}  // NOLINT(modernize-use-equals-default): see MatchEntry

  MatchLink wildcard_links[3];
};

/// A hash table of bins. A bin lives while it holds an entry.
class MatchBins {
 public:
  ~MatchBins();
  MatchBins() = default;
  MatchBins(const MatchBins&) = delete;
  MatchBins& operator=(const MatchBins&) = delete;

  /// `link` 0 is the entry's own; 1 to 3 are a MatchMessage's wildcard links. False: no memory; the entry is
  /// not there.
  [[nodiscard]] bool push(const MatchKey& key, MatchEntry& entry, int link) noexcept;
  void unlink(MatchEntry& entry, int link);
  /// The oldest entry under a key, or nullptr.
  MatchEntry* oldest(const MatchKey& key) const;
  size_t size() const { return bins_; }
  /// Forgets all entries, whose links mean nothing any more.
  void clear() noexcept;

 private:
  MatchBin* find(const MatchKey& key) const;
  /// Twice as many heads; false: no memory, all as before.
  bool grow() noexcept;
  void remove(MatchBin* bin);

  std::vector<MatchBin*> heads_;
  size_t bins_ = 0;
  MatchBin* spare_ = nullptr;  // for reuse
};

/// What both queues share: the list of all entries.
class MatchQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return static_cast<size_t>(added_ - removed_); }
  /// How many entries have ever been queued.
  uint64_t total() const { return added_; }
  bool binned() const { return binned_; }
  MatchEntry* first() const { return first_; }

 protected:
  // A search that walked this many entries makes the bins: below, walking costs less than hashing.
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

/// Receives that wait for messages.
class PostedQueue : public MatchQueue {
 public:
  void add(MatchEntry& entry) noexcept {
    append(entry);
    if (__builtin_expect(binned_, 0) && !add_to_bins(entry)) drop_bins();
  }
  void remove(MatchEntry& entry);
  /// Removes and returns the oldest receive that a message fits, or nullptr.
  MatchEntry* take(const MatchKey& message) {
    // Nearly always it is the first, and has no wildcard.
    MatchEntry* entry = first_;
    if (entry == nullptr) return nullptr;
    if (__builtin_expect(binned_ || !(entry->key == message), 0)) return search(message);
    remove_first(*entry);
    ++searched_;
    return entry;
  }
  /// Whether a message that fits this entry is its own: no older one could take it.
  bool is_first(const MatchEntry& entry) const { return &entry == first_ && !binned_; }
  /// Pre: is_first(entry).
  void remove_first(MatchEntry& entry) {
    first_ = entry.order.next;
    (first_ != nullptr ? first_->order.previous : last_) = nullptr;
    entry.queued = false;
    ++removed_;
  }
  /// How many were taken by remove_first(), without a search.
  uint64_t taken_at_once() const { return removed_ - searched_; }

 private:
  MatchEntry* search(const MatchKey& message) noexcept;
  [[nodiscard]] bool add_to_bins(MatchEntry& entry) noexcept;
  MatchEntry* find_in_bins(const MatchKey& message) const;
  void make_bins() noexcept;

  uint64_t searched_ = 0;  // of those removed, all others
};

/// Messages that wait for receives.
class UnexpectedQueue : public MatchQueue {
 public:
  void add(MatchMessage& entry) noexcept;
  void remove(MatchMessage& entry);
  /// The oldest message that fits a receive, or nullptr. It stays in the queue.
  MatchMessage* find(const MatchKey& pattern) noexcept;

 private:
  [[nodiscard]] bool add_to_bins(MatchMessage& entry) noexcept;
  void make_bins() noexcept;
};

/// Whether a message fits the pattern of a receive.
bool fits(const MatchKey& pattern, const MatchKey& message);

}  // namespace hearth::p2p
