// Accesses of a process to the part of another one: put, get, accumulate.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/lock.h"
#include "base/os_wait.h"
#include "datatype/reduce.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"
#include "rma/window.h"

namespace hearth::rma {
namespace {

using datatype::Block;
using objects::Op;
using objects::OpKind;

constexpr size_t kElementBytesMax = 64;  // of a predefined type, gaps included

Status check_lengths(const char* own_name, int64_t own_bytes, int64_t target_bytes) {
  if (own_bytes == target_bytes) return {};
  return fail(MPI_ERR_TYPE, "the %s has %lld bytes, the target %lld: they must have the same", own_name,
              static_cast<long long>(own_bytes), static_cast<long long>(target_bytes));
}

std::vector<Block> moved(std::vector<Block> blocks, uint64_t by) {
  for (Block& block : blocks) block.offset += static_cast<int64_t>(by);
  return blocks;
}

std::vector<std::byte> packed(const Data& data) {
  std::vector<std::byte> bytes(static_cast<size_t>(data.bytes()));
  datatype::pack(*data.type, data.buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

/// Longest store through the caches. Beyond it non-temporal stores are faster, even if the target has not
/// read the old data: 1 MiB in 39 us instead of 58 with a shared cache and 388 without. For 64 KiB they are
/// slower: 2.4 us instead of 1.3 and 1.6 (development machine, November 2026).
constexpr size_t kStoredCachedBytesMax = size_t{128} << 10;

/// Stores data for another process, which may share no cache with this one.
Status store(const Data& origin, const Target& target, std::byte* here) {
  if (!origin.type->contiguous || !target.type->contiguous)
    return datatype::copy(origin.buffer, origin.count, *origin.type, here, target.count, *target.type);
  std::byte* const to = here + target.type->true_lower_bound;
  const auto* const from = static_cast<const std::byte*>(origin.buffer) + origin.type->true_lower_bound;
  const auto bytes = static_cast<size_t>(target.bytes());
  if (bytes <= kStoredCachedBytesMax) {
    copy_shared_bytes(to, from, bytes, bytes);
  } else {
    copy::run(copy::choose(bytes, false), to, from, bytes);
  }
  return {};
}

/// Loads data for this process.
Status load(const std::byte* here, const Target& target, const Data& result) {
  if (!result.type->contiguous || !target.type->contiguous)
    return datatype::copy(here, target.count, *target.type, result.buffer, result.count, *result.type);
  const auto bytes = static_cast<size_t>(target.bytes());
  copy_shared_bytes(static_cast<std::byte*>(result.buffer) + result.type->true_lower_bound,
                    here + target.type->true_lower_bound, bytes, bytes);
  return {};
}

void set_over(p2p::Request** request) {
  if (request != nullptr) *request = p2p::engine().requests().completed_send();
}

}  // namespace

Status Window::check_access(int rank) {
  Access& access = access_[static_cast<size_t>(rank)];
  Held& held = access.held;
  // Another thread of this process may be acquiring the lock, which then counts for all threads.
  if (held == Held::asked_for) {
    p2p::engine().wait_until([&held] { return held != Held::asked_for; },
                             [this, rank](p2p::WaitDiagnostics& note) { describe_lock_wait(rank, note); });
  }
  if (held != Held::no || fence_open_ || access.started) return {};
  if (!all_locked_) {
    return fail(MPI_ERR_RMA_SYNC,
                "there is no epoch in which this process may access the part of rank %d. Remedy: first call "
                "MPI_Win_fence, MPI_Win_start with a group that has that rank, MPI_Win_lock or "
                "MPI_Win_lock_all",
                rank);
  }
  // MPI_Win_lock_all has locked the parts that this process reaches by loads and stores. The others are
  // locked here, by a message, at the first access.
  Status status;
  if (!unchecked_) {
    held = Held::asked_for;
    status = acquire(rank, false);
  }
  held = !status.ok() ? Held::no : unchecked_ ? Held::unchecked : Held::shared;
  if (LibraryLock::enabled) p2p::engine().wake_threads();
  return status;
}

// Only the bytes that the datatype accesses have to be attached, not the gaps between them.
bool Window::all_attached(const Target& target, const datatype::Span& span) const {
  const auto address = static_cast<uint64_t>(target.displacement);
  if (is_attached(address + static_cast<uint64_t>(span.lowest), span.bytes)) return true;
  return std::ranges::all_of(datatype::blocks_of(*target.type, target.count), [&](const Block& block) {
    return is_attached(address + static_cast<uint64_t>(block.offset), block.bytes);
  });
}

Status Window::locate(const Target& target, Spot& spot) {
  HEARTH_TRY(check_access(target.rank));
  const auto index = static_cast<size_t>(target.rank);
  const Part& part = parts_[index];
  const datatype::Span span = datatype::span_of(*target.type, target.count);
  spot.empty = span.bytes == 0;
  if (spot.empty) return {};
  if (!own_.dynamic) {
    int64_t offset, first;
    if (__builtin_mul_overflow(target.displacement, part.displacement_unit, &offset) ||
        __builtin_add_overflow(offset, span.lowest, &first) || first < 0 || span.bytes > part.bytes ||
        first > part.bytes - span.bytes) {
      return fail(MPI_ERR_RMA_RANGE,
                  "displacement %lld in units of %lld bytes and a span of %lld bytes from %lld on leave the "
                  "part of rank %d, which has %lld bytes",
                  static_cast<long long>(target.displacement), static_cast<long long>(part.displacement_unit),
                  static_cast<long long>(span.bytes), static_cast<long long>(span.lowest), target.rank,
                  static_cast<long long>(part.bytes));
    }
    spot.address = part.base + static_cast<uint64_t>(offset);
    std::byte* const memory = access_[index].memory;
    if (memory != nullptr) spot.here = memory + offset;
    return {};
  }
  // Dynamic window: displacements are addresses.
  spot.address = static_cast<uint64_t>(target.displacement);
  const uint64_t first = spot.address + static_cast<uint64_t>(span.lowest);
  if (target.rank == comm_.rank) {
    if (!all_attached(target, span)) {
      return fail(MPI_ERR_RMA_RANGE, "%p and the %lld bytes behind it are not attached to the window",
                  reinterpret_cast<const void*>(first), static_cast<long long>(span.bytes));
    }
    spot.here = reinterpret_cast<std::byte*>(spot.address);
  } else if (first >= part.arena_begins && first < part.arena_ends &&
             static_cast<uint64_t>(span.bytes) <= part.arena_ends - first) {
    std::byte* const here =
        reach(peer(target.rank), first - part.arena_begins, static_cast<size_t>(span.bytes));
    if (here != nullptr) spot.here = here - span.lowest;
  }
  return {};
}

Status Window::put(const Data& origin, const Target& target, p2p::Request** request) {
  Spot spot;
  HEARTH_TRY(check_lengths("origin", origin.bytes(), target.bytes()));
  HEARTH_TRY(locate(target, spot));
  if (spot.empty || spot.here != nullptr) {
    set_over(request);
    if (spot.empty) return {};
    return store(origin, target, spot.here);
  }
  const std::vector<std::byte> data = packed(origin);
  return messages_.ask({.wanted = Wanted::put, .target = target.rank, .data = data.data()},
                       moved(datatype::blocks_of(*target.type, target.count), spot.address), request);
}

Status Window::get(const Data& result, const Target& target, p2p::Request** request) {
  Spot spot;
  HEARTH_TRY(check_lengths("origin", result.bytes(), target.bytes()));
  HEARTH_TRY(locate(target, spot));
  if (spot.empty || spot.here != nullptr) {
    set_over(request);
    if (spot.empty) return {};
    return load(spot.here, target, result);
  }
  return messages_.ask(
      {.wanted = Wanted::get, .target = target.rank, .result = result.buffer, .result_type = result.type},
      moved(datatype::blocks_of(*target.type, target.count), spot.address), request);
}

// The accumulate lock stores its owner; if the owner died, the next waiter takes over. The dead owner's
// operation may then be half done, which the standard leaves open.

Window::AccumulateLock::AccumulateLock(Window& window, int rank)
    : word_(window.board_of(rank)->accumulate_lock) {
  const uint32_t self = static_cast<uint32_t>(p2p::engine().self()) + 1;
  for (int tries = 1; !atomic::compare_exchange(word_, uint32_t{0}, self); ++tries) {
    constexpr int kTriesPerLook = 64;
    atomic::cpu_relax();
    if (tries % kTriesPerLook != 0) continue;
    os::yield_processor();
    p2p::Engine& engine = p2p::engine();
    engine.failure_handler().poll();
    const uint32_t holder = atomic::load_relaxed(word_);
    if (holder == 0 || holder > static_cast<uint32_t>(engine.processes().count())) continue;
    if (!engine.failures().is_dead(static_cast<PeerIndex>(holder - 1))) continue;
    if (atomic::compare_exchange(word_, holder, self)) return;
  }
}

Window::AccumulateLock::~AccumulateLock() {
  // Pairs with the acquire in the constructor.
  atomic::store_release(word_, uint32_t{0});
}

Status Window::combine(const Op& op, const Type& element, const std::byte* packed, std::byte* to,
                       std::span<const Block> blocks) {
  if (op.kind == OpKind::no_op) return {};
  for (const Block& block : blocks) {
    auto* const at =
        reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(to) + static_cast<uint64_t>(block.offset));
    if (op.kind == OpKind::replace) {
      if (datatype::has_gap(element)) {
        datatype::unpack(element, at, 0, packed, static_cast<size_t>(block.bytes));
      } else {
        std::memcpy(at, packed, static_cast<size_t>(block.bytes));
      }
      packed += block.bytes;
      continue;
    }
    if (element.size == element.extent) {
      HEARTH_TRY(datatype::reduce(op, element, packed, at, block.bytes / element.size));
      packed += block.bytes;
      continue;
    }
    // Pair types with padding, which packed pairs do not have.
    for (int64_t offset = 0; offset < block.bytes; offset += element.size) {
      alignas(kElementBytesMax) std::byte pair[kElementBytesMax] = {};
      datatype::unpack(element, pair, 0, packed, static_cast<size_t>(element.size));
      HEARTH_TRY(datatype::reduce(op, element, pair, at + offset, 1));
      packed += element.size;
    }
  }
  return {};
}

Status Window::accumulate(const Data& origin, const Target& target, const Op& op, const Data* result,
                          p2p::Request** request) {
  Spot spot;
  const bool only_fetches = op.kind == OpKind::no_op;
  if (!only_fetches) HEARTH_TRY(check_lengths("origin", origin.bytes(), target.bytes()));
  if (result != nullptr) HEARTH_TRY(check_lengths("result", result->bytes(), target.bytes()));
  if (op.predefined == 0) {
    return fail(MPI_ERR_OP, "the operation is the user's own: only predefined ones can be used here");
  }
  if (only_fetches && result == nullptr) {
    return fail(MPI_ERR_OP, "MPI_NO_OP is for calls that fetch: nothing would be done here");
  }
  const Type* const element = datatype::element_of(*target.type);
  if (element == nullptr && target.bytes() > 0) {
    return fail(MPI_ERR_TYPE,
                "the target's datatype is not made of one predefined type: what is combined must be "
                "(MPI 5.0 section 12.3.4)");
  }
  HEARTH_TRY(locate(target, spot));
  if (spot.empty) {
    set_over(request);
    return {};
  }
  if (!only_fetches && op.kind != OpKind::replace) HEARTH_TRY(datatype::check_reduction(op, *element));
  const bool is_plain = !only_fetches && op.kind != OpKind::replace && origin.type->contiguous &&
                        target.type->contiguous && element->size == element->extent &&
                        element == datatype::element_of(*origin.type);
  if (board_of(target.rank) != nullptr && spot.here != nullptr) {
    // Packing allocates, so it comes before the lock: without memory nothing is locked or changed.
    std::vector<std::byte> data;
    std::vector<Block> blocks;
    if (!is_plain && !only_fetches) {
      data = packed(origin);
      blocks = datatype::blocks_of(*target.type, target.count, *element);
    }
    const AccumulateLock accumulate_lock(*this, target.rank);
    Status status;
    if (result != nullptr) status = load(spot.here, target, *result);
    if (is_plain && status.ok()) {
      status = datatype::reduce(op, *element,
                                static_cast<const std::byte*>(origin.buffer) + origin.type->true_lower_bound,
                                spot.here + target.type->true_lower_bound, target.bytes() / element->size);
    } else if (!only_fetches && status.ok()) {
      status = combine(op, *element, data.data(), spot.here, blocks);
    }
    set_over(request);
    return status;
  }
  std::vector<std::byte> data;
  if (only_fetches) {
    data.resize(static_cast<size_t>(target.bytes()));
  } else {
    data = packed(origin);
  }
  Messages::Operation operation = {.wanted = Wanted::accumulate,
                                   .target = target.rank,
                                   .op = &op,
                                   .element = element,
                                   .data = data.data()};
  if (result != nullptr) {
    operation.result = result->buffer;
    operation.result_type = result->type;
  }
  return messages_.ask(
      operation, moved(datatype::blocks_of(*target.type, target.count, *element), spot.address), request);
}

Status Window::compare_and_swap(const void* origin, const void* compare, void* result, const Target& target) {
  Spot spot;
  const Type& type = *target.type;
  const auto bytes = static_cast<size_t>(type.size);
  HEARTH_TRY(locate(target, spot));
  if (spot.here != nullptr && board_of(target.rank) != nullptr) {
    const AccumulateLock accumulate_lock(*this, target.rank);
    const bool is_equal = std::memcmp(spot.here, compare, bytes) == 0;
    std::memcpy(result, spot.here, bytes);
    if (is_equal) std::memcpy(spot.here, origin, bytes);
    return {};
  }
  std::vector<std::byte> data(2 * bytes);
  std::memcpy(data.data(), compare, bytes);
  std::memcpy(data.data() + bytes, origin, bytes);
  const Block block = {static_cast<int64_t>(spot.address), type.size};
  return messages_.ask({.wanted = Wanted::compare_and_swap,
                        .target = target.rank,
                        .element = &type,
                        .data = data.data(),
                        .result = result,
                        .result_type = target.type},
                       {&block, 1}, nullptr);
}

}  // namespace hearth::rma
