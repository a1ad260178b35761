// The engine `window`: collective writes whose pieces interleave. Each process stores its pieces into a
// staging buffer of rank 0 in shared memory, and rank 0 writes the buffer by one call. A process computes the
// places of its pieces itself, so neither offsets nor data are sent.
//
//   processes   store cycle 0 | store cycle 1 into the other buffer | ...
//   rank 0                    | write cycle 0                       | write cycle 1
//                        barrier                              barrier
//
// For a read, rank 0 reads a cycle and all processes copy their pieces from the buffer.
//
// On several machines there is no such buffer, and writes are aggregated by messages (io/aggregation.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "io/file.h"

namespace hearth::io {

class StagingWindow {
 public:
  /// Collective: called after the view of `file` has changed. Makes the window if some process has a view for
  /// it and the memory can be shared.
  static Status prepare(OpenFile& file);
  ~StagingWindow();
  StagingWindow(const StagingWindow&) = delete;
  StagingWindow& operator=(const StagingWindow&) = delete;

  /// Collective. `checked`: whether the arguments of this process are valid; a process with invalid ones
  /// takes part without data. `moved` is false on all processes if the pieces do not interleave or leave
  /// holes: the access has to be independent then.
  Status move(const Access& access, Status checked, int64_t etypes, int64_t file_bytes, bool& moved,
              int64_t& bytes);

 private:
  static constexpr size_t kHeaderBytes = 4096;
  static constexpr int64_t kDefaultBytes = int64_t{4} << 20;

  /// At the beginning of the memory: bytes and errno of the read of rank 0 into each buffer.
  struct Header {
    int64_t valid_bytes[2];
    int32_t error[2];
  };
  /// Contribution of a process to the allgather of plan().
  struct Part {
    int64_t begin;
    int64_t end;   // 0: no data
    uint64_t sum;  // see coverage()
    int64_t refused;
  };
  /// The part of a process that is not moved yet.
  struct Rest {
    int64_t data_offset;
    int64_t bytes;
    int64_t done;
  };

  StagingWindow(OpenFile& file, int64_t buffer_bytes);
  static Status make(OpenFile& file);
  /// Collective. `window`: nullptr if this process has no memory for it.
  static Status share_memory(OpenFile& file, StagingWindow* window, bool& shared);
  bool allocate();
  Status move_by_messages(const Access& access, int64_t begin, int64_t end, const Rest& rest, bool& moved,
                          int64_t& bytes);
  Part part_of(int64_t data_offset, int64_t file_bytes) const;
  Status plan(const Part& own, bool writing, int64_t& begin, int64_t& end, bool& fits);
  void copy_cycle(const Access& access, std::byte* buffer, int64_t begin, int64_t end, Rest& rest) const;
  Status write_cycles(const Access& access, int64_t begin, int64_t end, Rest& rest);
  Status read_cycles(const Access& access, int64_t begin, int64_t end, Rest& rest);
  size_t memory_bytes() const { return static_cast<size_t>(2 * buffer_bytes_) + kHeaderBytes; }
  std::byte* buffer(int64_t cycle) const {
    return memory_ + kHeaderBytes + (cycle % 2 != 0 ? buffer_bytes_ : 0);
  }
  Header& header() const { return *reinterpret_cast<Header*>(memory_); }

  OpenFile& file_;
  int64_t buffer_bytes_;
  void* own_ = nullptr;          // memory of rank 0
  std::byte* memory_ = nullptr;  // nullptr: by messages
  bool in_use_ = false;          // the current view is one for the window
  bool reads_ = false;           // and all processes read through it
  std::vector<Part> parts_;      // of all processes, for plan()
};

}  // namespace hearth::io
