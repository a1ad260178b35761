#include "shm/arena.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic.h"
#include "base/check.h"
#include "base/os_memory.h"
#include "mpi.h"

namespace hearth::shm {
namespace {

// Twice the memory, so that each half of a slice (docs/design/arena.md) has addresses for all of it.
constexpr uint64_t kSlicesPerMemory = 2;
constexpr uint64_t kSliceBytesUsual = uint64_t{1} << 30;
// Smaller slices are not useful.
constexpr uint64_t kSliceBytesMin = ArenaSlices::kSliceBytesMin;
// All slices together: a quarter of the 47-bit address space of a process.
constexpr uint64_t kArenaBytesMax = uint64_t{1} << 45;
// If the address space is limited, the arena takes at most 1/4 of it; the program needs the rest.
constexpr uint64_t kAddressSpaceShare = 4;

unsigned long long number(uint64_t value) {
  return value;
}

uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Arena::~Arena() {
  forget();
}

Arena::Arena(Arena&& other) noexcept {
  *this = std::move(other);
}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(slices_, other.slices_);
  std::swap(used_, other.used_);
  std::swap(exposures_, other.exposures_);
  std::swap(on_private_message_, other.on_private_message_);
  std::swap(heap_is_private_, other.heap_is_private_);
  std::swap(heap_is_detached_, other.heap_is_detached_);
  std::swap(self_, other.self_);
  std::swap(is_child_, other.is_child_);
  std::swap(heap_is_reachable_, other.heap_is_reachable_);
  std::swap(reason_, other.reason_);
  return *this;
}

void Arena::forget() {
  ignore_forks_for(*this);
  slices_ = {};
  base_ = nullptr;
}

uint64_t Arena::plan_slice_bytes(uint32_t rank_count, uint64_t memory_bytes, uint64_t address_space_bytes,
                                 uint64_t file_bytes_max) {
  const uint64_t wished = std::max(std::bit_ceil(memory_bytes * kSlicesPerMemory), kSliceBytesUsual);
  const uint64_t together =
      std::min({kArenaBytesMax, address_space_bytes / kAddressSpaceShare, file_bytes_max});
  const uint64_t slice = std::min(wished, std::bit_floor(together / rank_count));
  return slice < kSliceBytesMin ? 0 : slice;
}

Status Arena::create(uint32_t rank_count, Arena& arena) {
  if (os::memory_is_strict()) {
    return fail(
        MPI_ERR_NO_MEM,
        "the system limits memory strictly (vm.overcommit_memory=2): pages of a sparse file may be missing");
  }
  const uint64_t slice = plan_slice_bytes(rank_count, os::machine_memory_bytes(),
                                          os::address_space_limit_bytes(), os::file_limit_bytes());
  if (slice == 0) {
    return fail(MPI_ERR_NO_MEM,
                "%u windows of %llu MiB or more do not fit. Remedy: raise the limits of ulimit -v and -f",
                rank_count, number(kSliceBytesMin >> 20));
  }
  Arena made;
  HEARTH_TRY(ArenaSlices::create(rank_count, slice, made.slices_));
  made.reason_ = "it is mapped by ranks only";
  arena = std::move(made);
  return {};
}

Status Arena::attach(os::Descriptor file, uint32_t rank_count, int self, Arena& arena) {
  HEARTH_CHECK(rank_count > 0 && self >= 0 && static_cast<uint32_t>(self) < rank_count);
  Arena made;
  made.self_ = self;
  HEARTH_TRY(ArenaSlices::open(std::move(file), rank_count, made.slices_));
  made.base_ = made.slices_.map_own(self);
  if (made.base_ == nullptr) {
    return fail(MPI_ERR_NO_MEM,
                "cannot map a window of %llu bytes: %s. Remedy: raise the limit on address space (ulimit -v)",
                number(made.slice_bytes()), std::strerror(errno));
  }
  made.reason_.clear();
  arena = std::move(made);
  return {};
}

bool Arena::is_private(Half half) const {
  return is_child_ || (half == Half::heap && atomic::load_relaxed(heap_is_private_) != 0);
}

size_t Arena::reachable_end() const {
  return __builtin_expect(atomic::load_relaxed(heap_is_private_) == 0, 1) ? slice_bytes() : half_bytes();
}

Exposure Arena::expose(const void* address, size_t bytes) {
  if (!holds(address, bytes)) return {};
  const uint64_t offset = offset_of(address);
  if (offset + bytes <= half_bytes()) return {this, offset, false};
  // Pairs with the fence in take_heap_back(). Each side has a fence between its store and its load: either
  // take_heap_back() sees this exposure, or this thread sees that the heap is private.
  atomic::fetch_add(exposures_, (uint64_t{1} << kActiveBits) + 1);
  atomic::fence_full();
  Exposure exposure(this, offset, true);
  if (atomic::load_relaxed(heap_is_private_) != 0) return {};
  return exposure;
}

void Exposure::end() {
  Arena* const arena = std::exchange(arena_, nullptr);
  // Pairs with the acquire load in take_heap_back(): the stores of peers are visible after it.
  if (arena != nullptr && counted_) atomic::fetch_add(arena->exposures_, ~uint64_t{0});
}

std::byte* Arena::grow(Half half, size_t bytes, size_t alignment) {
  HEARTH_DCHECK(bytes % os::page_bytes() == 0 && std::has_single_bit(alignment));
  if (bytes == 0 || bytes > half_bytes()) return nullptr;
  std::byte* const begin = begin_of(half);
  uint64_t& used_bytes = used_[static_cast<size_t>(half)];
  for (;;) {
    const uint64_t used = atomic::load_relaxed(used_bytes);
    const auto address = reinterpret_cast<uintptr_t>(begin);
    const uint64_t from = round_up(address + used, alignment) - address;
    if (from > half_bytes() || bytes > half_bytes() - from) return nullptr;
    if (!atomic::compare_exchange(used_bytes, used, from + bytes)) continue;
    std::byte* const piece = begin + from;
    const bool ready =
        is_private(half) ? os::map_zeros_over(piece, bytes) : os::make_accessible(piece, bytes);
    return ready ? piece : nullptr;  // the addresses of a refused piece are lost
  }
}

void Arena::prefer_node(int node) {
  os::prefer_node(base_, slice_bytes(), node);
}

void Arena::show_in_core_files(std::byte* from, size_t bytes) {
  os::put_in_core_files(from, bytes);
}

bool Arena::give_back(std::byte* from, size_t bytes) {
  const bool in_heap = from >= begin_of(Half::heap);
  if (!is_private(in_heap ? Half::heap : Half::blocks)) return os::drop_shared_pages(from, bytes);
  // A dropped private page shows the file again, so the file must be empty there.
  return (!in_heap || heap_is_detached_) && os::drop_private_pages(from, bytes);
}

}  // namespace hearth::shm
