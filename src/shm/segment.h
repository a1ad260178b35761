// The shared segment of a job on one machine: made by the launcher (or by a singleton for itself), mapped by
// every rank through an inherited descriptor, named nowhere, gone with the last process that has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "shm/layout.h"

namespace hearth::shm {

/// Sizes of a segment; the default of each comes from the parameter table (base/param) for the rank count.
struct SegmentPlan {
  uint32_t rank_count = 1;
  uint32_t ring_lines = 0;
  uint32_t cell_bytes = 0;
  uint32_t cell_count = 0;
  uint32_t area_count = 0;
  uint64_t chunk_bytes = 0;
  bool rings_in_pages = false;  // each in pages of its own, so that each can lie near its receiver

  static SegmentPlan for_ranks(uint32_t rank_count);
  /// Of one process in one area: what is beside its row. 0 without chunks.
  uint64_t long_bytes() const;
  /// Address space of the whole segment.
  uint64_t segment_bytes() const;
  /// Memory really used: by every rank before it talks, and more by each pair that talks.
  uint64_t bytes_per_rank() const;
  uint64_t bytes_per_pair() const;
};

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// Makes a segment in a sealed memory file. The descriptor is close-on-exec. `memory`: for each rank, on
  /// which memory nodes its parts lie; empty where there is nothing to choose.
  static Status create(const SegmentPlan& plan, Segment& segment, std::span<const RankMemory> memory = {});
  /// Maps the segment behind an inherited descriptor, which this object owns from now on, and checks that
  /// it is one of ours and of this version.
  static Status attach(int descriptor, Segment& segment);
  /// The same for whoever only looks at a job: nothing in it may be written. Takes the descriptor only when
  /// it is one of ours.
  static Status look(int descriptor, Segment& segment);

  int descriptor() const { return descriptor_; }
  bool mapped() const { return base_ != nullptr; }
  /// The words that live. Of what was decided once, geometry() is the copy that nobody can overwrite.
  JobHeader& job() const { return *reinterpret_cast<JobHeader*>(base_); }
  const JobGeometry& geometry() const { return geometry_; }
  int rank_count() const { return static_cast<int>(geometry_.rank_count); }
  RankBlock& rank(int rank) const;

  /// Bit s % 64 of word s / 64: rank s has opened a ring to `rank` that it may not know yet.
  std::span<uint64_t> knocks(int rank) const;
  /// Number + 1 of the ring from `sender` to `receiver`; 0 while there is none.
  uint32_t& ring_number(int receiver, int sender) const;
  /// Rings that there is room for: what a ring's number is below.
  uint64_t ring_count_max() const {
    return (geometry_.segment_bytes - geometry_.rings_offset) / geometry_.ring_bytes;
  }
  /// The memory of ring `number` (0-based).
  std::byte* ring_memory(uint32_t number) const;
  /// Takes the next free ring and room for it, on the memory node of its receiver; -1 when memory is short.
  int64_t take_ring(int receiver) const;

  // Control areas of collectives. Area 0 is MPI_COMM_WORLD's and has memory from the start.
  /// Bit r % 64 of word r / 64: the row of process r is not all zeros any more.
  std::span<uint64_t> used_rows(int area) const;
  /// The same for processes that have not left the area.
  std::span<uint64_t> present(int area) const;
  /// And for those that were in it when it was taken.
  std::span<uint64_t> counted(int area) const;
  ControlRow& control_row(int area, int process) const;
  /// Takes memory for an area's rows now; false when it is short.
  bool reserve_area(int area) const;
  /// Lets this process use the chunks of an area, and the wide parts; false when the system refuses. Before
  /// it, access faults.
  bool open_chunks(int area) const;
  /// The chunk memory of a process in an area: whole pages, taken from the system as they are touched. Pre:
  /// open_chunks().
  std::span<std::byte> chunks(int area, int process) const;
  /// The wide parts of its slots there. Pre: there are chunks.
  std::byte* wide_parts(int area, int process) const;

  /// How often receivers have emptied a cell (shm/cells.h).
  uint32_t& cell_mark(int owner, uint32_t cell) const;
  std::byte* cell_memory(int owner, uint32_t cell) const;
  /// Takes memory for some cells of a pool now; false when it is short.
  bool reserve_cells(int owner, uint32_t first, uint32_t count) const;

 private:
  std::byte* area_memory(int area) const;
  static Status map(int descriptor, void* (*how)(int descriptor, size_t bytes), Segment& segment);
  Status take_room(const SegmentPlan& plan, uint64_t offset, uint64_t bytes) const;
  void bind_parts(std::span<const RankMemory> memory) const;
  void close_chunks() const;

  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
  JobGeometry geometry_ = {};
  uint64_t pool_bytes_ = 0;  // from the cells of one rank to those of the next
};

}  // namespace hearth::shm
