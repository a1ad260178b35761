// The arena: one sparse memory file of the job, in which every rank owns a window. What a rank puts into its
// window every other rank reaches with plain loads and stores: MPI_Alloc_mem, and the heap of a program that
// shares it.
//
//   file   | window of rank 0 | window of rank 1 | ...        window_bytes each, a power of two
//   window | blocks: the first half | heap: the second half |
//   half   | handed out by grow(): accessible, memory where touched | reserved: access faults |
//
// The launcher makes it beside the segment, without a name; it is gone with the last process that has it. A
// rank maps its own window when it starts and a peer's when that peer's first message asks for it. Only
// offsets within a window are exchanged. Where there is no arena it is not usable(), reason() says why, and
// everything works without it. docs/design/arena.md has the policy of growth and return.
//
// The heap stays shared only while that does not change what fork() means: see take_heap_back(). A peer may
// use memory of the heap while an Exposure of it exists.
//
// grow(), give_back() and expose() may be called by any thread at any time, everything else under the
// library's lock. Once watch_forks_for() knows the object it stays where it is (arena_fork.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "base/os_io.h"
#include "base/status.h"

namespace hearth::shm {

class Arena;

/// Permission for peers to use a range of the own window. While one for a range of the heap exists, the heap
/// stays shared.
class Exposure {
 public:
  Exposure() = default;
  Exposure(Exposure&& other) noexcept
      : arena_(std::exchange(other.arena_, nullptr)), offset_(other.offset_), counted_(other.counted_) {}
  Exposure& operator=(Exposure&& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(offset_, other.offset_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  Exposure(const Exposure&) = delete;
  Exposure& operator=(const Exposure&) = delete;
  ~Exposure() { end(); }

  /// False: the peers cannot reach the range.
  explicit operator bool() const { return arena_ != nullptr; }
  /// Where the range begins in the window. Pre: it is one.
  uint64_t offset() const { return offset_; }
  void end();

 private:
  friend class Arena;
  Exposure(Arena* arena, uint64_t offset, bool counted) : arena_(arena), offset_(offset), counted_(counted) {}

  Arena* arena_ = nullptr;
  uint64_t offset_ = 0;
  bool counted_ = false;
};

class Arena {
 public:
  /// The two users of a window: MPI_Alloc_mem with its like, and the program's heap.
  enum class Half : uint8_t { blocks, heap };

  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// The launcher's: makes the file and maps nothing. An error where memory files, address space or the limit
  /// on the length of files do not allow a window of useful size.
  static Status create(uint32_t rank_count, Arena& arena);
  /// A rank's: takes the descriptor over, checks the file's length, maps the own window.
  static Status attach(os::Descriptor file, uint32_t rank_count, int self, Arena& arena);
  /// The window of each rank in a job of so many on a machine with so much memory, under these limits of a
  /// process; 0 when there is no room for a useful one.
  static uint64_t plan_window_bytes(uint32_t rank_count, uint64_t memory_bytes, uint64_t address_space_bytes,
                                    uint64_t file_bytes_max);

  int descriptor() const { return file_.number(); }
  bool usable() const { return base_ != nullptr; }
  /// Why it is not usable, in words; "" when it is.
  const std::string& reason() const { return reason_; }
  /// Remembers why there is none.
  void set_reason(std::string reason) { reason_ = std::move(reason); }
  size_t window_bytes() const { return window_bytes_; }
  size_t half_bytes() const { return window_bytes_ / 2; }
  /// Where a half of the own window begins. Pre: usable().
  std::byte* begin_of(Half half) const { return base_ + (half == Half::heap ? half_bytes() : 0); }

  /// Whether peers can reach all these bytes, which lie in the own window: a few comparisons.
  bool holds(const void* address, size_t bytes) const {
    const size_t offset = offset_in_window(address);
    return offset < reachable_end() && bytes <= reachable_end() - offset;
  }
  /// Pre: holds(address, 1).
  uint64_t offset_of(const void* address) const { return offset_in_window(address); }
  /// Whether the heap's half is shared with the peers: until take_heap_back(), and not in a child.
  bool heap_is_shared() const { return !is_private(Half::heap); }
  /// Offsets in the own window from here on are not reachable by peers.
  size_t reachable_end() const;
  /// Lets peers use a range until the exposure ends; none where holds() is false.
  Exposure expose(const void* address, size_t bytes);
  /// How many exposures of the heap there have been. Any thread.
  uint64_t heap_exposures() const { return atomic::load_relaxed(exposures_) >> kActiveBits; }
  /// A function that is called for each long message from memory that peers cannot reach; nullptr for none.
  void set_on_private_message(void (*call)()) { on_private_message_ = call; }
  void note_private_message() const {
    if (on_private_message_ != nullptr) on_private_message_();
  }
  /// The same for all of the heap.
  Exposure expose_heap() { return expose(begin_of(Half::heap), half_bytes()); }

  /// A peer's memory, as this process reaches it: nullptr when the range does not lie in one half of its
  /// window or the window cannot be mapped. The first call for a peer maps.
  std::byte* memory_of(int rank, uint64_t offset, size_t bytes) {
    if (offset > window_bytes_ || bytes > window_bytes_ - offset) [[unlikely]]
      return nullptr;
    const PeerWindow& window = windows_[static_cast<size_t>(rank)];
    const auto half = static_cast<size_t>(offset >= half_bytes());
    if (window.begin == nullptr || offset + bytes > window.accessible_end[half]) [[unlikely]]
      return extend_window_of(rank, offset, bytes);
    return window.begin + offset;
  }

  /// The next fresh piece of a half of the own window: zeros, and without memory until it is touched. nullptr
  /// when the half is used up. Pre: both are multiples of the page, the alignment a power of two.
  std::byte* grow(Half half, size_t bytes, size_t alignment);
  /// Asks that the window's memory comes from a memory node, as long as it has some.
  void prefer_node(int node);
  /// Lets core files have what lies there; nothing of the window goes there otherwise.
  void show_in_core_files(std::byte* from, size_t bytes);
  /// Returns the memory of whole pages to the system; the addresses stay, and read as zeros. False when the
  /// system refuses.
  bool give_back(std::byte* from, size_t bytes);

  // Around a fork, in the thread that forks (arena_fork.cpp).

  /// Before a fork: makes the heap's memory private again, in place and for good, so that parent and child
  /// share it copy-on-write as the standard of fork() has it. Copies its pages once; peers lose access, and
  /// messages from it take bounce buffers from then on. Does nothing while the heap is empty. False, and
  /// nothing has changed, while an exposure of the heap exists or memory is short. Pre: no other thread is in
  /// grow() or give_back() of the heap.
  bool take_heap_back();
  /// Bytes of the own window that a child would need copied, because they are shared; 0 when it was never
  /// used.
  uint64_t bytes_to_copy() const;
  /// Whether the heap's half can be touched: false in a child that got no copy.
  bool heap_is_reachable() const { return heap_is_reachable_; }
  /// In the child, which inherits nothing of a shared window: its own copy in the same place, or, when `copy`
  /// is false or fails, nothing that can be touched. Peers' windows go.
  void become_private(bool copy);

 private:
  friend class Exposure;
  static constexpr int kActiveBits = 32;
  static constexpr uint64_t kActiveMask = (uint64_t{1} << kActiveBits) - 1;
  struct PeerWindow {
    std::byte* begin = nullptr;           // nullptr: not mapped yet
    uint64_t accessible_end[2] = {0, 0};  // of each half, as an offset in the window
    bool refused = false;                 // mapping it has failed
  };

  size_t offset_in_window(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  }
  uint64_t begin_offset(Half half) const { return half == Half::heap ? half_bytes() : 0; }
  bool is_private(Half half) const;
  std::byte* extend_window_of(int rank, uint64_t offset, size_t bytes);
  bool map_window_of(int rank);
  bool has_file() const;
  uint64_t file_offset() const { return static_cast<uint64_t>(self_) * window_bytes_; }
  template <class Action>
  void for_each_piece_with_pages(Half half, Action action) const;
  uint64_t bytes_in(Half half) const;
  bool restore(Half half, bool copy);
  bool copy_pages(Half half);
  void forget();

  std::byte* base_ = nullptr;
  size_t window_bytes_ = 0;
  std::vector<PeerWindow> windows_;  // by rank
  uint64_t used_[2] = {0, 0};        // of each half, handed out by grow(); atomic
  uint64_t exposures_ = 0;  // of the heap: all so far, and in the last kActiveBits those that exist; atomic
  void (*on_private_message_)() = nullptr;
  uint32_t heap_is_private_ = 0;   // for good; atomic
  bool heap_is_detached_ = false;  // and its pages no longer depend on the file
  int self_ = 0;
  bool is_child_ = false;  // in a child made by fork, where nothing is shared
  bool heap_is_reachable_ = true;
  os::Descriptor file_;
  os::FileIdentity identity_;
  std::string reason_ = "this process was not started by mpiexec";
};

/// Has a fork of this process call become_private() in the child. Called before the arena is first used,
/// never from within an allocator: the handlers of a fork take the lock of this list before the allocator's.
void watch_forks_for(Arena& arena);
/// Before the arena goes away.
void ignore_forks_for(const Arena& arena);

}  // namespace hearth::shm
