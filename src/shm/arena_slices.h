// The file of an arena (shm/arena.h) and the slices that this process has mapped of it, by local rank. An
// Arena has those of its own job; the slices of a job to which a bridge leads (abi/bridges.h) stand alone.
// The first access to a slice maps it; it becomes accessible as far as messages reach.
//
// Under the library's lock. The mappings are private to the process, their memory is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::shm {

class ArenaSlices {
 public:
  ArenaSlices() = default;
  /// Unmaps all slices.
  ~ArenaSlices();
  ArenaSlices(ArenaSlices&& other) noexcept;
  ArenaSlices& operator=(ArenaSlices&& other) noexcept;
  ArenaSlices(const ArenaSlices&) = delete;
  ArenaSlices& operator=(const ArenaSlices&) = delete;

  /// Creates the file of an arena; maps nothing.
  static Status create(uint32_t rank_count, uint64_t slice_bytes, ArenaSlices& slices);
  /// Takes ownership of the descriptor and checks the length of the file. Fails if it is not the arena of
  /// this number of ranks.
  static Status open(os::Descriptor file, uint32_t rank_count, ArenaSlices& slices);
  /// Lengths of the slices of useful arenas are at least this.
  static constexpr uint64_t kSliceBytesMin = uint64_t{64} << 20;

  size_t slice_bytes() const { return slice_bytes_; }
  int descriptor() const { return file_.number(); }
  /// Whether the descriptor still denotes the file. A program that closes all descriptors may have closed
  /// this one and opened another file under its number.
  bool has_file() const;
  void close_file() { file_.reset(); }

  /// Maps a slice whole, as the own one of this process. nullptr: the system refuses.
  std::byte* map_own(int rank);
  /// No slice but this one is mapped any more, and none will be: for a child made by fork.
  void refuse_all_but(const std::byte* own);
  /// Address of memory in a slice. nullptr if the range does not lie in one half of the slice or the slice
  /// cannot be mapped.
  std::byte* memory_of(int rank, uint64_t offset, size_t bytes) {
    if (offset > slice_bytes_ || bytes > slice_bytes_ - offset) [[unlikely]]
      return nullptr;
    const Slice& slice = slices_[static_cast<size_t>(rank)];
    const auto half = static_cast<size_t>(offset >= slice_bytes_ / 2);
    if (slice.begin == nullptr || offset + bytes > slice.accessible_end[half]) [[unlikely]]
      return extend(rank, offset, bytes);
    return slice.begin + offset;
  }

 private:
  struct Slice {
    std::byte* begin = nullptr;           // nullptr: not mapped yet
    uint64_t accessible_end[2] = {0, 0};  // end of the accessible part of each half, an offset in the slice
    bool refused = false;                 // mapping the slice has failed
  };

  bool map(int rank);
  std::byte* extend(int rank, uint64_t offset, size_t bytes);

  size_t slice_bytes_ = 0;
  std::vector<Slice> slices_;  // by rank; empty: nothing may be mapped
  os::Descriptor file_;
  os::FileIdentity identity_;
};

}  // namespace hearth::shm
