#include "shm/arena_slices.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os_memory.h"
#include "mpi.h"

namespace hearth::shm {
namespace {

// A slice is made accessible in steps of this length.
constexpr uint64_t kAccessibleStep = uint64_t{4} << 20;

uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

ArenaSlices::~ArenaSlices() {
  for (const Slice& slice : slices_) {
    if (slice.begin != nullptr) os::release(slice.begin, slice_bytes_);
  }
}

ArenaSlices::ArenaSlices(ArenaSlices&& other) noexcept {
  *this = std::move(other);
}

ArenaSlices& ArenaSlices::operator=(ArenaSlices&& other) noexcept {
  std::swap(slice_bytes_, other.slice_bytes_);
  std::swap(slices_, other.slices_);
  std::swap(file_, other.file_);
  std::swap(identity_, other.identity_);
  return *this;
}

Status ArenaSlices::create(uint32_t rank_count, uint64_t slice_bytes, ArenaSlices& slices) {
  ArenaSlices made;
  made.file_ = os::Descriptor(os::create_sparse_memory("hearth arena", slice_bytes * rank_count));
  if (!made.file_.open()) {
    return fail(MPI_ERR_NO_MEM, "cannot make a sparse memory file of %llu bytes: memfd_create: %s",
                static_cast<unsigned long long>(slice_bytes * rank_count), std::strerror(errno));
  }
  made.slice_bytes_ = slice_bytes;
  slices = std::move(made);
  return {};
}

Status ArenaSlices::open(os::Descriptor file, uint32_t rank_count, ArenaSlices& slices) {
  const uint64_t bytes = os::file_bytes(file.number());
  const uint64_t slice = bytes / rank_count;
  if (slice < kSliceBytesMin || !std::has_single_bit(slice) || slice * rank_count != bytes) {
    return fail(MPI_ERR_OTHER,
                "the file that was handed over is not the arena of %u ranks: it has %llu bytes", rank_count,
                static_cast<unsigned long long>(bytes));
  }
  ArenaSlices made;
  os::set_close_on_exec(file.number(), true);
  made.slice_bytes_ = slice;
  made.slices_.resize(rank_count);
  made.identity_ = os::identity_of(file.number());
  made.file_ = std::move(file);
  slices = std::move(made);
  return {};
}

bool ArenaSlices::has_file() const {
  return file_.open() && os::identity_of(file_.number()) == identity_;
}

std::byte* ArenaSlices::map_own(int rank) {
  Slice& slice = slices_[static_cast<size_t>(rank)];
  if (!map(rank)) return nullptr;
  slice.accessible_end[0] = slice_bytes_ / 2;
  slice.accessible_end[1] = slice_bytes_;
  return slice.begin;
}

void ArenaSlices::refuse_all_but(const std::byte* own) {
  for (Slice& slice : slices_) {
    if (slice.begin != own) slice = {.refused = true};
  }
}

bool ArenaSlices::map(int rank) {
  Slice& slice = slices_[static_cast<size_t>(rank)];
  if (slice.refused) return false;
  if (has_file()) {
    slice.begin = static_cast<std::byte*>(
        os::reserve_shared(file_.number(), static_cast<uint64_t>(rank) * slice_bytes_, slice_bytes_));
  }
  slice.refused = slice.begin == nullptr;
  slice.accessible_end[1] = slice_bytes_ / 2;
  return !slice.refused;
}

// mlockall() populates what is accessible, so a slice becomes accessible only as far as its messages reach.
std::byte* ArenaSlices::extend(int rank, uint64_t offset, size_t bytes) {
  Slice& slice = slices_[static_cast<size_t>(rank)];
  if (slice.begin == nullptr && !map(rank)) return nullptr;
  const uint64_t half_bytes = slice_bytes_ / 2;
  const auto half = static_cast<size_t>(offset >= half_bytes);
  const uint64_t half_end = half == 0 ? half_bytes : slice_bytes_;
  uint64_t& end = slice.accessible_end[half];
  if (offset + bytes > half_end) return nullptr;
  if (offset + bytes > end) {
    const uint64_t wanted = std::min(round_up(offset + bytes, kAccessibleStep), half_end);
    if (!os::make_accessible(slice.begin + end, wanted - end)) return nullptr;
    end = wanted;
  }
  return slice.begin + offset;
}

}  // namespace hearth::shm
