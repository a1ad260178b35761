// The shared segment of a job on one machine: created by the launcher (or by a singleton for itself), mapped
// by every rank through an inherited descriptor. It has no name and is freed when the last process that has
// it open ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "shm/layout.h"

namespace hearth::shm {

/// Sizes of a segment; for_ranks() takes the defaults from the parameter table (base/param), adapted to the
/// number of ranks.
struct SegmentPlan {
  uint32_t rank_count = 1;
  uint32_t ring_lines = 0;
  uint32_t buffer_bytes = 0;
  uint32_t buffer_count = 0;
  uint32_t region_count = 0;
  uint64_t pipeline_bytes = 0;
  bool is_bridge = false;       // connects processes of several jobs, and is not the segment of one
  bool rings_in_pages = false;  // each ring in pages of its own, to place it on its receiver's memory node

  static SegmentPlan for_ranks(uint32_t rank_count);
  /// Overflow and pipeline buffers of one process in one region; 0 without pipeline buffers.
  uint64_t long_bytes() const;
  /// Address space of the whole segment.
  uint64_t segment_bytes() const;
  /// Memory that is really allocated: for each rank before it communicates, and for each pair that does.
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

  /// Creates a segment in a sealed memory file. The descriptor is close-on-exec. `memory`: the memory nodes
  /// of each rank's parts; empty if there is no choice.
  static Status create(const SegmentPlan& plan, Segment& segment, std::span<const RankMemory> memory = {});
  /// Maps the segment of an inherited descriptor, which this object owns from now on, and checks that it is a
  /// Hearth segment of this version.
  static Status attach(int descriptor, Segment& segment);
  /// The same with a read-only mapping, for tools. Takes ownership of the descriptor only on success.
  static Status attach_read_only(int descriptor, Segment& segment);

  int descriptor() const { return descriptor_; }
  bool mapped() const { return base_ != nullptr; }
  /// The header with the words that change. For the constants in it, geometry() is a private copy, which no
  /// other process can overwrite.
  JobHeader& job() const { return *reinterpret_cast<JobHeader*>(base_); }
  const JobGeometry& geometry() const { return geometry_; }
  int rank_count() const { return static_cast<int>(geometry_.rank_count); }
  RankBlock& rank(int rank) const;

  /// The connect bitmap of `rank`: bit s % 64 of word s / 64 is set when rank s has opened a ring to `rank`,
  /// until `rank` has opened it too.
  std::span<uint64_t> connect_bitmap(int rank) const;
  /// Number + 1 of the ring from `sender` to `receiver`; 0 if there is none yet.
  uint32_t& ring_number(int receiver, int sender) const;
  /// Upper limit of the number of rings.
  uint64_t ring_count_max() const {
    return (geometry_.segment_bytes - geometry_.rings_offset) / geometry_.ring_bytes;
  }
  /// The memory of ring `number` (0-based).
  std::byte* ring_memory(uint32_t number) const;
  /// Takes the next free ring and allocates it on the memory node of its receiver; -1 if memory is short.
  int64_t take_ring(int receiver) const;

  // Collective regions. Region 0 belongs to MPI_COMM_WORLD and is allocated from the start.
  /// Bit r % 64 of word r / 64: the row of process r may contain nonzero words.
  std::span<uint64_t> used_slots(int region) const;
  /// The same for processes that have not left the region.
  std::span<uint64_t> present(int region) const;
  /// The same for the members when the region was taken.
  std::span<uint64_t> counted(int region) const;
  RankSlots& rank_slots(int region, int process) const;
  /// Allocates the rows of a region; false if memory is short.
  bool reserve_region(int region) const;
  /// Makes the pipeline and overflow buffers of a region accessible to this process; false if the system
  /// refuses. Before it, access faults.
  bool open_pipeline_buffers(int region) const;
  /// The pipeline buffers of a process in a region: whole pages, allocated as they are touched. Pre:
  /// open_pipeline_buffers().
  std::span<std::byte> pipeline_buffers(int region, int process) const;
  /// The overflow buffers of its slots. Pre: there are pipeline buffers.
  std::byte* overflow_buffers(int region, int process) const;

  /// How often receivers have emptied a buffer (shm/buffer_pool.h).
  uint32_t& buffer_mark(int owner, uint32_t buffer) const;
  std::byte* buffer_memory(int owner, uint32_t buffer) const;
  /// Allocates some buffers of a pool; false if memory is short.
  bool reserve_buffers(int owner, uint32_t first, uint32_t count) const;

 private:
  std::byte* region_memory(int region) const;
  static Status map(int descriptor, void* (*how)(int descriptor, size_t bytes), Segment& segment);
  Status take_room(const SegmentPlan& plan, uint64_t offset, uint64_t bytes) const;
  void bind_parts(std::span<const RankMemory> memory) const;
  void close_pipeline_buffers() const;

  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
  JobGeometry geometry_ = {};
  uint64_t pool_bytes_ = 0;  // distance from one rank's buffers to the next rank's
};

}  // namespace hearth::shm
