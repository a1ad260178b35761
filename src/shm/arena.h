// The arena: one sparse memory file of the job, in which every rank owns a window. What a rank puts into its
// window every other rank reaches with plain loads and stores: MPI_Alloc_mem, and the heap of a program that
// shares it.
//
//   file   | window of rank 0 | window of rank 1 | ...        window_bytes each, a power of two
//   window | handed out by grow(), page by page touched | never touched: no memory |
//
// Made by the launcher beside the segment, named nowhere, gone with the last process that has it. A rank maps
// its own window when it starts and a peer's when that peer's first message asks for it. Only offsets within
// a window are exchanged. Where the arena cannot be had it is not usable(), reason() says why, and everything
// works without it. docs/design/arena.md has the policy of growth and return.
//
// grow() and give_back() may be called by any thread at any time, everything else under the library's lock.
// Once watch_forks_for() knows the object it stays where it is (arena_fork.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::shm {

class Arena {
 public:
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
  /// Where the own window begins. Pre: usable().
  std::byte* memory_of_self() const { return base_; }

  /// Whether all these bytes lie in the own window: two comparisons.
  bool holds(const void* address, size_t bytes) const {
    const size_t offset = offset_in_window(address);
    return offset < window_bytes_ && bytes <= window_bytes_ - offset;
  }
  /// Pre: holds(address, 1).
  uint64_t offset_of(const void* address) const { return offset_in_window(address); }

  /// A peer's memory, as this process reaches it: nullptr when the range does not lie in its window or the
  /// window cannot be mapped. The first call for a peer maps.
  std::byte* memory_of(int rank, uint64_t offset, size_t bytes) {
    if (offset > window_bytes_ || bytes > window_bytes_ - offset) [[unlikely]]
      return nullptr;
    std::byte* const window = windows_[static_cast<size_t>(rank)];
    if (window == nullptr) [[unlikely]]
      return map_window_of(rank, offset);
    return window + offset;
  }

  /// The next fresh piece of the own window: zeros, and without memory until it is touched. nullptr when the
  /// window is used up. Pre: both are multiples of the page, the alignment a power of two.
  std::byte* grow(size_t bytes, size_t alignment);
  /// Asks that the window's memory comes from a memory node, as long as it has some.
  void prefer_node(int node);
  /// Lets core files have what lies there; nothing of the window goes there otherwise.
  void show_in_core_files(std::byte* from, size_t bytes);
  /// Returns the memory of whole pages to the system; the addresses stay, and read as zeros. False when the
  /// system refuses.
  bool give_back(std::byte* from, size_t bytes);

  // Around a fork, in the thread that forks (arena_fork.cpp).

  /// Bytes of the own window that a child would need copied; 0 when it was never used.
  uint64_t bytes_to_copy() const;
  /// Whether the own window can be touched: false in a child that got no copy.
  bool reachable() const { return reachable_; }
  /// In the child, which shares the window with its parent until then: its own copy in the same place, or,
  /// when `copy` is false or fails, nothing that can be reached. Peers' windows go.
  void become_private(bool copy);

 private:
  size_t offset_in_window(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  }
  std::byte* map_window_of(int rank, uint64_t offset);
  bool has_file() const;
  uint64_t file_offset() const { return static_cast<uint64_t>(self_) * window_bytes_; }
  template <class Action>
  void for_each_piece_with_pages(Action action) const;
  bool copy_into(std::byte* copy) const;
  void forget();

  std::byte* base_ = nullptr;
  size_t window_bytes_ = 0;
  std::vector<std::byte*> windows_;  // by rank; nullptr: not mapped yet
  std::vector<bool> unreachable_;    // by rank: mapping it has failed
  uint64_t used_ = 0;                // handed out by grow(); atomic
  int self_ = 0;
  bool private_ = false;   // in a child made by fork
  bool reachable_ = true;  // false in one without a copy
  os::Descriptor file_;
  os::FileIdentity identity_;
  std::string reason_ = "this process was not started by mpiexec";
};

/// Looks after an arena when this process forks: see become_private(). Called before the arena is first used,
/// never from within an allocator: a fork takes the allocator's locks after its own.
void watch_forks_for(Arena& arena);
/// Before the arena goes away.
void ignore_forks_for(const Arena& arena);

}  // namespace hearth::shm
