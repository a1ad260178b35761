#include "shm/segment.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic.h"
#include "base/check.h"
#include "base/contexts.h"
#include "base/os_inspect.h"
#include "base/os_io.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "mpi.h"
#include "shm/ring.h"

namespace hearth::shm {
namespace {

// Lower limits of the reductions for large jobs: smaller values cost more time than the saved memory is
// worth.
constexpr uint32_t kRingLinesMin = 64;
constexpr uint32_t kBufferCountMin = 32;
constexpr uint64_t kPipelineBytesMin = 512 * 1024;
// The shortest ring that holds the longest reply packet and its pad.
constexpr uint32_t kRingLinesLeast = 16;
constexpr uint32_t kRingLinesMax = 1 << 20;
constexpr uint32_t kBufferBytesMax = 1 << 30;
constexpr uint32_t kBufferCountMax = 1 << 20;
// Upper limit of file lengths and of the user address space.
constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 47;

// Memory is bound to nodes page by page. All processes that map a segment run on one kernel, so they have the
// same page size.
uint64_t to_pages(uint64_t bytes) {
  const uint64_t page = os::page_bytes();
  return (bytes + page - 1) / page * page;
}

uint64_t connect_bitmap_bytes(uint64_t ranks) {
  return (ranks + 63) / 64 * 8;
}

uint64_t table_bytes(uint64_t ranks) {
  const uint64_t bytes = connect_bitmap_bytes(ranks) + ranks * sizeof(uint32_t);
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

uint64_t block_bytes(const SegmentPlan& plan) {
  return to_pages(sizeof(RankBlock) + table_bytes(plan.rank_count) +
                  uint64_t{plan.buffer_count} * kLineBytes);
}

uint64_t ring_bytes(const SegmentPlan& plan) {
  const uint64_t bytes = (uint64_t{plan.ring_lines} + kRingHeadLines) * kLineBytes;
  return plan.rings_in_pages ? to_pages(bytes) : bytes;
}

uint64_t pool_bytes(const SegmentPlan& plan) {
  return to_pages(uint64_t{plan.buffer_count} * plan.buffer_bytes);
}

uint64_t blocks_offset() {
  return to_pages(sizeof(JobHeader));
}
uint64_t buffers_offset(const SegmentPlan& plan) {
  return blocks_offset() + plan.rank_count * block_bytes(plan);
}
uint64_t region_head_bytes(uint64_t ranks) {
  return (3 * connect_bitmap_bytes(ranks) + kLineBytes - 1) / kLineBytes * kLineBytes;
}
uint64_t region_bytes(const SegmentPlan& plan) {
  return to_pages(region_head_bytes(plan.rank_count) + plan.rank_count * sizeof(RankSlots));
}
uint64_t regions_offset(const SegmentPlan& plan) {
  return buffers_offset(plan) + plan.rank_count * pool_bytes(plan);
}
uint64_t pipelines_offset(const SegmentPlan& plan) {
  return regions_offset(plan) + plan.region_count * region_bytes(plan);
}
uint64_t rings_offset(const SegmentPlan& plan) {
  return to_pages(pipelines_offset(plan) + uint64_t{plan.region_count} * plan.rank_count * plan.long_bytes());
}

// Pipeline buffers are used without reserve_room(), which only a memfd permits, and only where memory is not
// limited strictly.
bool has_memory_files() {
  static const bool there = os::Descriptor(os::create_sparse_memory("hearth", os::page_bytes())).open();
  return there;
}

/// The plan of an existing segment, as far as its header has it.
SegmentPlan plan_of(const JobGeometry& geometry) {
  SegmentPlan plan;
  plan.rank_count = geometry.rank_count;
  plan.ring_lines = geometry.ring_lines;
  plan.buffer_bytes = geometry.buffer_bytes;
  plan.buffer_count = geometry.buffer_count;
  plan.region_count = geometry.region_count;
  plan.pipeline_bytes = geometry.pipeline_bytes;
  plan.is_bridge = geometry.is_bridge != 0;
  plan.rings_in_pages = geometry.ring_bytes % os::page_bytes() == 0;
  return plan;
}

/// Whether the header is consistent: all offsets and lengths equal those of a plan with its numbers.
bool is_sound(const JobGeometry& geometry) {
  constexpr uint32_t kRanksMax = 1 << 20;
  if (geometry.rank_count == 0 || geometry.rank_count > kRanksMax || geometry.region_count > kRegionsMax ||
      geometry.segment_bytes > kSegmentBytesMax || geometry.ring_lines == 0 ||
      geometry.ring_lines > kRingLinesMax || geometry.buffer_count == 0 || geometry.buffer_bytes == 0) {
    return false;
  }
  // Checks the largest parts first, so that no product below overflows 64 bits.
  const uint64_t ranks = geometry.rank_count;
  const uint64_t pipeline_buffers = geometry.region_count * ranks;
  const uint64_t lines = geometry.segment_bytes / kLineBytes;
  if (uint64_t{geometry.buffer_count} * geometry.buffer_bytes > geometry.segment_bytes / ranks ||
      geometry.ring_lines > lines / (ranks * ranks) ||
      (pipeline_buffers > 0 && geometry.pipeline_bytes > geometry.segment_bytes / pipeline_buffers)) {
    return false;
  }
  const SegmentPlan plan = plan_of(geometry);
  return geometry.blocks_offset == blocks_offset() && geometry.block_bytes == block_bytes(plan) &&
         geometry.buffers_offset == buffers_offset(plan) && geometry.regions_offset == regions_offset(plan) &&
         geometry.region_bytes == region_bytes(plan) && geometry.pipelines_offset == pipelines_offset(plan) &&
         geometry.pipeline_bytes == to_pages(plan.pipeline_bytes) &&
         geometry.rings_offset == rings_offset(plan) && geometry.ring_bytes == ring_bytes(plan) &&
         geometry.segment_bytes == plan.segment_bytes();
}

}  // namespace

SegmentPlan SegmentPlan::for_ranks(uint32_t rank_count) {
  SegmentPlan plan;
  plan.rank_count = rank_count;
  // Rings are halved each time the number of ranks grows fourfold beyond 16, pools beyond 64, so that a job
  // with traffic between all pairs stays within a bounded budget: docs/design/scaling.md has the table.
  const uint64_t ring_lines = param::get_bytes(param::Id::shm_ring_bytes) / kLineBytes;
  plan.ring_lines =
      static_cast<uint32_t>(std::bit_floor(std::clamp<uint64_t>(ring_lines, kRingLinesLeast, kRingLinesMax)));
  const uint64_t buffer_bytes =
      std::clamp<uint64_t>(param::get_bytes(param::Id::shm_buffer_bytes), 1, kBufferBytesMax);
  plan.buffer_bytes = static_cast<uint32_t>((buffer_bytes + kLineBytes - 1) / kLineBytes * kLineBytes);
  plan.buffer_count = static_cast<uint32_t>(
      std::clamp<int64_t>(param::get_count(param::Id::shm_buffer_count), 1, kBufferCountMax));
  // A single rank needs no collective region.
  const int64_t regions = rank_count > 1 ? param::get_count(param::Id::coll_regions) : 0;
  plan.region_count = static_cast<uint32_t>(std::clamp<int64_t>(regions, 0, kRegionsMax));
  plan.pipeline_bytes = to_pages(param::get_bytes(param::Id::coll_pipeline_bytes));
  for (uint32_t ranks = rank_count; ranks > 16; ranks /= 4) {
    if (plan.ring_lines > kRingLinesMin) plan.ring_lines /= 2;
    if (plan.pipeline_bytes > kPipelineBytesMin) plan.pipeline_bytes = to_pages(plan.pipeline_bytes / 2);
    if (plan.buffer_count > kBufferCountMin && ranks > 64) plan.buffer_count /= 2;
  }
  if (!has_memory_files() || os::memory_is_strict()) plan.pipeline_bytes = 0;
  // If the limits on files or address space are low (ulimit -f, -v), reduces the number of collective
  // regions, which are optional.
  const uint64_t bytes_max = std::min(os::file_limit_bytes(), os::address_space_limit_bytes()) / 2;
  while (plan.region_count > 0 && plan.segment_bytes() > bytes_max) plan.region_count /= 2;
  return plan;
}

uint64_t SegmentPlan::long_bytes() const {
  return pipeline_bytes == 0 ? 0 : kOverflowBuffersBytes + to_pages(pipeline_bytes);
}

uint64_t SegmentPlan::segment_bytes() const {
  const uint64_t pairs = uint64_t{rank_count} * rank_count;  // including each rank's ring to itself
  return to_pages(rings_offset(*this) + pairs * ring_bytes(*this));
}

uint64_t SegmentPlan::bytes_per_rank() const {
  return block_bytes(*this) + pool_bytes(*this) + (region_count > 0 ? sizeof(RankSlots) : 0);
}

uint64_t SegmentPlan::bytes_per_pair() const {
  return ring_bytes(*this);
}

Segment::~Segment() {
  if (base_ != nullptr) os::release(base_, bytes_);
  if (descriptor_ >= 0) os::close_descriptor(descriptor_);
}

Segment::Segment(Segment&& other) noexcept {
  *this = std::move(other);
}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(geometry_, other.geometry_);
  std::swap(pool_bytes_, other.pool_bytes_);
  return *this;
}

namespace {

Status no_memory_file(const SegmentPlan& plan, int error) {
  const auto bytes = static_cast<unsigned long long>(plan.segment_bytes());
  if (error == EFBIG) {
    return fail(MPI_ERR_NO_MEM,
                "cannot make the shared segment of %llu bytes for %u ranks: files may not be that long here. "
                "Remedy: raise the limit on their length (ulimit -f)",
                bytes, plan.rank_count);
  }
  if (error == EMFILE || error == ENFILE) {
    return fail(MPI_ERR_NO_MEM,
                "cannot make the shared segment of %llu bytes for %u ranks: %s. Remedy: raise the limit on "
                "open files (ulimit -n)",
                bytes, plan.rank_count, std::strerror(error));
  }
  return fail(MPI_ERR_NO_MEM,
              "cannot make the shared segment of %llu bytes for %u ranks: memfd_create: %s, and no file can "
              "be made in its place in /dev/shm, TMPDIR, /tmp or /var/tmp. Likely cause: a sandbox. Remedy: "
              "allow memfd_create in it, or give it one of these folders to write in",
              bytes, plan.rank_count, std::strerror(error));
}

}  // namespace

Status Segment::create(const SegmentPlan& wish, Segment& segment, std::span<const RankMemory> memory) {
  SegmentPlan plan = wish;
  plan.rings_in_pages = !memory.empty();
  const uint64_t bytes = plan.segment_bytes();
  const int descriptor = os::create_shared_memory("hearth", bytes);
  if (descriptor < 0) return no_memory_file(plan, errno);
  Segment made;
  made.descriptor_ = descriptor;
  made.base_ = static_cast<std::byte*>(os::map_shared(descriptor, bytes));
  made.bytes_ = bytes;
  if (made.base_ == nullptr) {
    return fail(MPI_ERR_NO_MEM,
                "cannot map the shared segment of %llu bytes: %s. Remedy: raise the limit on address space "
                "(ulimit -v)",
                static_cast<unsigned long long>(bytes), std::strerror(errno));
  }
  // The header first: it has the offsets of all other parts.
  HEARTH_TRY(made.take_room(plan, 0, blocks_offset()));
  JobHeader& job = made.job();
  job.segment_bytes = bytes;
  job.rank_count = plan.rank_count;
  job.ring_lines = plan.ring_lines;
  job.buffer_bytes = plan.buffer_bytes;
  job.buffer_count = plan.buffer_count;
  job.blocks_offset = blocks_offset();
  job.block_bytes = block_bytes(plan);
  job.buffers_offset = buffers_offset(plan);
  job.rings_offset = rings_offset(plan);
  job.ring_bytes = ring_bytes(plan);
  job.regions_offset = regions_offset(plan);
  job.region_bytes = region_bytes(plan);
  job.pipelines_offset = pipelines_offset(plan);
  job.pipeline_bytes = to_pages(plan.pipeline_bytes);
  job.region_count = plan.region_count;
  job.is_bridge = plan.is_bridge ? 1 : 0;
  job.next_context = kFirstFreeContext;
  // Without random numbers, the time and the address tell jobs apart.
  if (!os::fill_with_chance(&job.job_id, sizeof job.job_id)) {
    job.job_id = os::now_ns() ^ reinterpret_cast<uintptr_t>(&segment);
  }
  made.geometry_ = job;
  made.geometry_.magic = kMagic;
  made.pool_bytes_ = pool_bytes(plan);
  made.bind_parts(memory);
  made.close_pipeline_buffers();
  // Every rank uses the blocks from the start. Allocates them now, so that a lack of memory is ENOSPC instead
  // of SIGBUS.
  HEARTH_TRY(made.take_room(plan, blocks_offset(), buffers_offset(plan) - blocks_offset()));
  if (plan.region_count > 0) {
    HEARTH_TRY(made.take_room(plan, regions_offset(plan), region_bytes(plan)));
    job.regions[0] = RegionState().at(RegionState::kUsed, 0).word;
    for (uint32_t r = 0; r < plan.rank_count; ++r) made.present(0)[r / 64] |= uint64_t{1} << (r % 64);
  }
  for (uint32_t r = 0; r < plan.rank_count; ++r) {
    RankBlock& block = made.rank(static_cast<int>(r));
    block.place = {-1, -1, -1, -1, -1, -1};
    block.memory = memory.empty() ? RankMemory{-1, -1, -1, -1, -1, -1, -1, 0} : memory[r];
  }
  job.magic = kMagic;
  segment = std::move(made);
  return {};
}

Status Segment::take_room(const SegmentPlan& plan, uint64_t offset, uint64_t bytes) const {
  if (os::reserve_room(descriptor_, offset, bytes)) return {};
  return fail(MPI_ERR_NO_MEM,
              "no room for the shared segment: %llu bytes for %u ranks: %s. Remedy: raise the memory limit, "
              "or, where "
              "memfd_create is refused, that of /dev/shm; or set HEARTH_SHM_BUFFER_COUNT lower",
              static_cast<unsigned long long>(buffers_offset(plan)), plan.rank_count, std::strerror(errno));
}

// Called before any of these pages is allocated. If a sandbox refuses, pages are allocated at first touch,
// which is right for bounce buffers too.
void Segment::bind_parts(std::span<const RankMemory> memory) const {
  const auto bind = [&](uint64_t offset, uint64_t bytes_each, int16_t RankMemory::*node) {
    for (size_t first = 0; first < memory.size();) {
      size_t last = first + 1;
      while (last < memory.size() && memory[last].*node == memory[first].*node) ++last;
      if (memory[first].*node >= 0)
        os::prefer_node(base_ + offset + first * bytes_each, (last - first) * bytes_each,
                        memory[first].*node);
      first = last;
    }
  };
  bind(geometry_.blocks_offset, geometry_.block_bytes, &RankMemory::rings);
  bind(geometry_.buffers_offset, pool_bytes_, &RankMemory::buffers);
}

Status Segment::attach(int descriptor, Segment& segment) {
  Segment made;
  HEARTH_TRY(map(descriptor, os::map_shared, made));
  made.close_pipeline_buffers();
  os::set_close_on_exec(descriptor, true);
  segment = std::move(made);
  return {};
}

Status Segment::attach_read_only(int descriptor, Segment& segment) {
  return map(descriptor, os::map_to_read, segment);
}

Status Segment::map(int descriptor, void* (*how)(int descriptor, size_t bytes), Segment& segment) {
  const size_t bytes = os::file_bytes(descriptor);
  Segment made;
  if (bytes < sizeof(JobHeader)) {
    return fail(
        MPI_ERR_OTHER,
        "descriptor %d, named by HEARTH_SEGMENT, is not a Hearth segment (%s). Likely cause: the program "
        "was not started by this mpiexec, or something in between closed its descriptors",
        descriptor, bytes == 0 ? std::strerror(errno) : "too small");
  }
  made.base_ = static_cast<std::byte*>(how(descriptor, bytes));
  made.bytes_ = bytes;
  if (made.base_ == nullptr) {
    return fail(
        MPI_ERR_NO_MEM,
        "cannot map the job's shared segment of %zu bytes: %s. Remedy: raise the limit on address space "
        "(ulimit -v)",
        bytes, std::strerror(errno));
  }
  const JobHeader& job = made.job();
  if (job.magic != kMagic || job.segment_bytes != bytes) {
    return fail(
        MPI_ERR_OTHER,
        "the segment behind descriptor %d was made by another version of Hearth. Remedy: use mpiexec and "
        "libmpi_abi.so of one installation",
        descriptor);
  }
  made.geometry_ = job;
  if (!is_sound(made.geometry_)) {
    return fail(
        MPI_ERR_OTHER,
        "the header of the segment behind descriptor %d is inconsistent: %u ranks in %zu bytes. Likely "
        "cause: a stray write by a program of the job",
        descriptor, made.geometry_.rank_count, bytes);
  }
  made.descriptor_ = descriptor;
  made.pool_bytes_ = pool_bytes(plan_of(made.geometry_));
  segment = std::move(made);
  return {};
}

RankBlock& Segment::rank(int rank) const {
  HEARTH_DCHECK(rank >= 0 && rank < rank_count());
  return *reinterpret_cast<RankBlock*>(base_ + geometry_.blocks_offset +
                                       static_cast<uint64_t>(rank) * geometry_.block_bytes);
}

std::span<uint64_t> Segment::connect_bitmap(int rank) const {
  auto* words = reinterpret_cast<uint64_t*>(&this->rank(rank) + 1);
  return {words, connect_bitmap_bytes(geometry_.rank_count) / 8};
}

uint32_t& Segment::ring_number(int receiver, int sender) const {
  auto* numbers = reinterpret_cast<uint32_t*>(reinterpret_cast<std::byte*>(&rank(receiver) + 1) +
                                              connect_bitmap_bytes(geometry_.rank_count));
  return numbers[sender];
}

std::byte* Segment::ring_memory(uint32_t number) const {
  return base_ + geometry_.rings_offset + uint64_t{number} * geometry_.ring_bytes;
}

int64_t Segment::take_ring(int receiver) const {
  const uint32_t number = atomic::fetch_add(job().rings_taken, 1u);
  const uint64_t offset = geometry_.rings_offset + uint64_t{number} * geometry_.ring_bytes;
  if (offset + geometry_.ring_bytes > bytes_) return -1;
  const int node = rank(receiver).memory.rings;
  if (node >= 0) os::prefer_node(base_ + offset, geometry_.ring_bytes, node);
  if (os::reserve_room(descriptor_, offset, geometry_.ring_bytes)) return number;
  // There is one number per pair: return it for a later attempt, unless another process has taken the next.
  static_cast<void>(atomic::compare_exchange(job().rings_taken, number + 1, number));
  return -1;
}

std::byte* Segment::region_memory(int region) const {
  HEARTH_DCHECK(region >= 0 && static_cast<uint32_t>(region) < geometry_.region_count);
  return base_ + geometry_.regions_offset + static_cast<uint64_t>(region) * geometry_.region_bytes;
}

std::span<uint64_t> Segment::used_slots(int region) const {
  return {reinterpret_cast<uint64_t*>(region_memory(region)), connect_bitmap_bytes(geometry_.rank_count) / 8};
}

std::span<uint64_t> Segment::present(int region) const {
  return {used_slots(region).data() + connect_bitmap_bytes(geometry_.rank_count) / 8,
          connect_bitmap_bytes(geometry_.rank_count) / 8};
}

std::span<uint64_t> Segment::counted(int region) const {
  return {present(region).data() + connect_bitmap_bytes(geometry_.rank_count) / 8,
          connect_bitmap_bytes(geometry_.rank_count) / 8};
}

RankSlots& Segment::rank_slots(int region, int process) const {
  HEARTH_DCHECK(process >= 0 && process < rank_count());
  std::byte* rows = region_memory(region) + region_head_bytes(geometry_.rank_count);
  return reinterpret_cast<RankSlots*>(rows)[process];
}

bool Segment::reserve_region(int region) const {
  return os::reserve_room(descriptor_, static_cast<size_t>(region_memory(region) - base_),
                          geometry_.region_bytes);
}

// Of all areas, by far most of the segment. If that is refused, mlockall() populates more.
void Segment::close_pipeline_buffers() const {
  const uint64_t bytes = geometry_.rings_offset - geometry_.pipelines_offset;
  if (bytes > 0) static_cast<void>(os::make_inaccessible(base_ + geometry_.pipelines_offset, bytes));
}

bool Segment::open_pipeline_buffers(int region) const {
  if (geometry_.pipeline_bytes == 0) return true;
  const uint64_t bytes = geometry_.rank_count * (kOverflowBuffersBytes + geometry_.pipeline_bytes);
  return os::make_accessible(base_ + geometry_.pipelines_offset + static_cast<uint64_t>(region) * bytes,
                             bytes);
}

std::byte* Segment::overflow_buffers(int region, int process) const {
  const uint64_t number =
      static_cast<uint64_t>(region) * geometry_.rank_count + static_cast<uint64_t>(process);
  return base_ + geometry_.pipelines_offset + number * (kOverflowBuffersBytes + geometry_.pipeline_bytes);
}

std::span<std::byte> Segment::pipeline_buffers(int region, int process) const {
  if (geometry_.pipeline_bytes == 0) return {};
  return {overflow_buffers(region, process) + kOverflowBuffersBytes, geometry_.pipeline_bytes};
}

uint32_t& Segment::buffer_mark(int owner, uint32_t buffer) const {
  std::byte* marks = reinterpret_cast<std::byte*>(&rank(owner) + 1) + table_bytes(geometry_.rank_count);
  return *reinterpret_cast<uint32_t*>(marks + uint64_t{buffer} * kLineBytes);
}

std::byte* Segment::buffer_memory(int owner, uint32_t buffer) const {
  return base_ + geometry_.buffers_offset + static_cast<uint64_t>(owner) * pool_bytes_ +
         uint64_t{buffer} * geometry_.buffer_bytes;
}

bool Segment::reserve_buffers(int owner, uint32_t first, uint32_t count) const {
  const auto offset = static_cast<size_t>(buffer_memory(owner, first) - base_);
  return os::reserve_room(descriptor_, offset, uint64_t{count} * geometry_.buffer_bytes);
}

}  // namespace hearth::shm
