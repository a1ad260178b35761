// The arena: one sparse memory file per job. Each rank owns a slice of it and allocates from that slice; the
// other ranks access the slice by plain loads and stores. A slice holds the memory of MPI_Alloc_mem and of
// MPI windows, and the heap of a program that shares it.
//
//   file   | slice of rank 0 | slice of rank 1 | ...          slice_bytes() each, a power of two
//   slice  | blocks: the first half | heap: the second half |
//   half   | handed out by grow(): accessible, memory once touched | reserved: access faults |
//
// The launcher creates the file together with the segment. It has no name and disappears with the last
// process that has it open or mapped. A rank maps its own slice at startup, and the slice of a peer on the
// first access to it. Processes exchange only offsets in a slice. If there is no arena, usable() is false,
// reason() returns the cause, and messages and windows work without it. docs/design/arena.md describes how
// slices grow and return memory.
//
// The heap stays shared only as long as that does not change the semantics of fork(): see take_heap_back().
// Peers may access memory of the heap only while an Exposure of it exists.
//
// Any thread may call grow(), give_back() and expose() at any time. All other functions need the library's
// lock. After watch_forks_for() the object must not move (arena_fork.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "base/os_io.h"
#include "base/status.h"
#include "shm/arena_slices.h"

namespace hearth::shm {

class Arena;

/// Permission for peers to access a range of the own slice. The heap stays shared while an exposure of a
/// range in it exists.
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

  /// False: peers cannot access the range.
  explicit operator bool() const { return arena_ != nullptr; }
  /// Offset of the range in the slice. Pre: operator bool() is true.
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
  /// The two users of a slice: MPI_Alloc_mem and MPI windows; the program's heap.
  enum class Half : uint8_t { blocks, heap };

  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Called by the launcher: creates the file and maps nothing. Fails if memory files, address space or the
  /// limit on file lengths do not allow slices of useful size.
  static Status create(uint32_t rank_count, Arena& arena);
  /// Called by a rank: takes ownership of the descriptor, checks the length of the file and maps the own
  /// slice.
  static Status attach(os::Descriptor file, uint32_t rank_count, int self, Arena& arena);
  /// Length of each slice in a job of `rank_count` ranks on a machine with this memory, under these limits of
  /// a process; 0 if there is no room for slices of useful size.
  static uint64_t plan_slice_bytes(uint32_t rank_count, uint64_t memory_bytes, uint64_t address_space_bytes,
                                   uint64_t file_bytes_max);

  int descriptor() const { return slices_.descriptor(); }
  bool usable() const { return base_ != nullptr; }
  /// Why it is not usable, as text; empty if it is usable.
  const std::string& reason() const { return reason_; }
  /// Sets the reason why there is no arena.
  void set_reason(std::string reason) { reason_ = std::move(reason); }
  size_t slice_bytes() const { return slices_.slice_bytes(); }
  size_t half_bytes() const { return slice_bytes() / 2; }
  /// Start of a half of the own slice. Pre: usable().
  std::byte* begin_of(Half half) const { return base_ + (half == Half::heap ? half_bytes() : 0); }

  /// Whether all these bytes are in the own slice and peers can access them. Costs a few comparisons.
  bool holds(const void* address, size_t bytes) const {
    const size_t offset = offset_in_slice(address);
    return offset < reachable_end() && bytes <= reachable_end() - offset;
  }
  /// Pre: holds(address, 1).
  uint64_t offset_of(const void* address) const { return offset_in_slice(address); }
  /// Whether peers can access the heap's half: true until take_heap_back(), false in a child process.
  bool heap_is_shared() const { return !is_private(Half::heap); }
  /// Peers can access offsets of the own slice below this one.
  size_t reachable_end() const;
  /// Lets peers access a range until the exposure ends. The result is false if holds() is false.
  Exposure expose(const void* address, size_t bytes);
  /// The same for the whole half of the heap.
  Exposure expose_heap() { return expose(begin_of(Half::heap), half_bytes()); }
  /// Number of exposures of the heap so far. Any thread.
  uint64_t heap_exposures() const { return atomic::load_relaxed(exposures_) >> kActiveBits; }
  /// A function that is called for each long message from memory that peers cannot reach; nullptr for none.
  void set_on_private_message(void (*call)()) { on_private_message_ = call; }
  void note_private_message() const {
    if (on_private_message_ != nullptr) on_private_message_();
  }

  /// Address of a peer's memory in this process. nullptr if the range does not lie in one half of the peer's
  /// slice or the slice cannot be mapped. The first call for a peer maps its slice.
  std::byte* memory_of(int rank, uint64_t offset, size_t bytes) {
    return slices_.memory_of(rank, offset, bytes);
  }

  /// Hands out the next unused addresses of a half of the own slice; they read as zeros and take no memory
  /// until they are touched. nullptr if the half is used up. Pre: `bytes` and `alignment` are multiples of
  /// the page size, `alignment` is a power of two.
  std::byte* grow(Half half, size_t bytes, size_t alignment);
  /// Takes new pages of the own slice from this memory node while the node has free memory.
  void prefer_node(int node);
  /// Includes this range in core files, which contain nothing else of the slice.
  void show_in_core_files(std::byte* from, size_t bytes);
  /// Returns the memory of whole pages to the system. The addresses stay valid and read as zeros. False if
  /// the system refuses.
  bool give_back(std::byte* from, size_t bytes);

  // Called around a fork by the thread that forks (arena_fork.cpp).

  /// Before a fork: makes the memory of the heap private again, permanently and at the same addresses, so
  /// that parent and child share it copy-on-write as POSIX requires. Copies its pages once. Peers lose
  /// access, and later messages from the heap use bounce buffers. Returns false and changes nothing if the
  /// heap has no pages, if it is private already, if an exposure of the heap exists, or if memory is short.
  /// Pre: no other thread is in grow() or give_back() of the heap.
  bool take_heap_back();
  /// Number of bytes of the own slice that must be copied for a child because they are shared; 0 if the slice
  /// was never used.
  uint64_t bytes_to_copy() const;
  /// Whether this process can access the heap's half: false in a child that got no copy.
  bool heap_is_reachable() const { return heap_is_reachable_; }
  /// Called in the child, which inherits no mapping of shared memory. Creates a private copy at the same
  /// addresses; if `copy` is false or copying fails, the addresses stay inaccessible. The slices of peers are
  /// not mapped again.
  void become_private(bool copy);

 private:
  friend class Exposure;
  static constexpr int kActiveBits = 32;
  static constexpr uint64_t kActiveMask = (uint64_t{1} << kActiveBits) - 1;

  size_t offset_in_slice(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  }
  uint64_t begin_offset(Half half) const { return half == Half::heap ? half_bytes() : 0; }
  bool is_private(Half half) const;
  uint64_t file_offset() const { return static_cast<uint64_t>(self_) * slice_bytes(); }
  template <class Action>
  void for_each_piece_with_pages(Half half, Action action) const;
  uint64_t bytes_in(Half half) const;
  bool restore(Half half, bool copy);
  bool copy_pages(Half half);
  void forget();

  std::byte* base_ = nullptr;
  ArenaSlices slices_;
  uint64_t used_[2] = {0, 0};  // bytes of each half handed out by grow(); atomic
  uint64_t exposures_ = 0;  // of the heap: all so far, and in the last kActiveBits those that exist; atomic
  void (*on_private_message_)() = nullptr;
  uint32_t heap_is_private_ = 0;   // permanent; atomic
  bool heap_is_detached_ = false;  // its private pages do not depend on the file any more
  int self_ = 0;
  bool is_child_ = false;  // this process is a child made by fork and shares nothing
  bool heap_is_reachable_ = true;
  std::string reason_ = "this process was not started by mpiexec";
};

/// Registers the arena, so that a child made by fork() calls become_private(). Call before the first use of
/// the arena and never inside an allocator: fork handlers take the lock of this list before the allocator's
/// lock.
void watch_forks_for(Arena& arena);
/// Removes the arena from the list. Call before it is destroyed.
void ignore_forks_for(const Arena& arena);

}  // namespace hearth::shm
