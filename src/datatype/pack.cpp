// Packing starts and ends at any byte, so that long messages travel in pieces of whatever size the transport
// likes. Nothing here allocates.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

/// The direction: from elements into packed bytes. `packed` moves on.
struct Packing {
  using Memory = const std::byte;
  std::byte* packed;

  void copy(const std::byte* memory, size_t bytes) {
    copy_bytes(packed, memory, bytes);
    packed += bytes;
  }
  template <size_t bytes>
  void copy_fixed(const std::byte* memory) {
    std::memcpy(packed, memory, bytes);
    packed += bytes;
  }
};

/// From packed bytes into elements.
struct Unpacking {
  using Memory = std::byte;
  const std::byte* packed;

  void copy(std::byte* memory, size_t bytes) {
    copy_bytes(memory, packed, bytes);
    packed += bytes;
  }
  template <size_t bytes>
  void copy_fixed(std::byte* memory) {
    std::memcpy(memory, packed, bytes);
    packed += bytes;
  }
};

template <size_t bytes, class Direction>
void copy_run_fixed(Direction& direction, typename Direction::Memory* memory, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) direction.template copy_fixed<bytes>(memory + i * stride);
}

/// `count` whole blocks, `stride` apart: the inner loop of everything. Blocks of the size of numbers are
/// copied without a call.
template <class Direction>
void copy_run(Direction& direction, typename Direction::Memory* memory, int64_t block_bytes, int64_t count,
              int64_t stride) {
  switch (block_bytes) {
    case 1:
      return copy_run_fixed<1>(direction, memory, count, stride);
    case 2:
      return copy_run_fixed<2>(direction, memory, count, stride);
    case 4:
      return copy_run_fixed<4>(direction, memory, count, stride);
    case 8:
      return copy_run_fixed<8>(direction, memory, count, stride);
    case 12:
      return copy_run_fixed<12>(direction, memory, count, stride);
    case 16:
      return copy_run_fixed<16>(direction, memory, count, stride);
    case 24:
      return copy_run_fixed<24>(direction, memory, count, stride);
    case 32:
      return copy_run_fixed<32>(direction, memory, count, stride);
    default:
      for (int64_t i = 0; i < count; ++i)
        direction.copy(memory + i * stride, static_cast<size_t>(block_bytes));
  }
}

/// One unit from its packed byte `within` on, at most `bytes`; how many there were.
template <class Direction>
int64_t copy_unit(Direction& direction, const Layout& layout, typename Direction::Memory* origin,
                  int64_t within, int64_t bytes) {
  int64_t copied = 0;
  for (const Block& block : layout.blocks) {
    if (within >= block.bytes) {
      within -= block.bytes;
      continue;
    }
    const int64_t part = std::min(block.bytes - within, bytes - copied);
    direction.copy(origin + block.offset + within, static_cast<size_t>(part));
    within = 0;
    copied += part;
    if (copied == bytes) break;
  }
  return copied;
}

/// Where turn number `outer` of all loops but the innermost begins; the elements are the outermost loop.
int64_t outer_offset(const Layout& layout, int64_t extent, int64_t outer) {
  int64_t offset = 0;
  for (size_t i = layout.loops.size() - 1; i-- > 0;) {
    offset += outer % layout.loops[i].count * layout.loops[i].stride;
    outer /= layout.loops[i].count;
  }
  return offset + outer * extent;
}

template <class Direction>
void walk(Direction& direction, const Type& type, typename Direction::Memory* buffer, Count count,
          int64_t offset, int64_t bytes) {
  const Layout& layout = *type.layout;
  const bool looped = !layout.loops.empty();
  const Loop inner = looped ? layout.loops.back() : Loop{count, type.extent};
  const int64_t unit = offset / layout.unit_bytes;
  int64_t within = offset % layout.unit_bytes;
  int64_t outer = unit / inner.count;
  int64_t turn = unit % inner.count;
  const bool single = layout.blocks.size() == 1;
  while (bytes > 0) {
    auto* origin = buffer + (looped ? outer_offset(layout, type.extent, outer) : 0);
    while (turn < inner.count && bytes > 0) {
      auto* here = origin + turn * inner.stride;
      const int64_t whole =
          within == 0 && single ? std::min(inner.count - turn, bytes / layout.unit_bytes) : 0;
      if (whole > 0) {
        copy_run(direction, here + layout.blocks[0].offset, layout.unit_bytes, whole, inner.stride);
        bytes -= whole * layout.unit_bytes;
        turn += whole;
      } else {
        bytes -= copy_unit(direction, layout, here, within, bytes);
        within = 0;
        ++turn;
      }
    }
    turn = 0;
    ++outer;
  }
}

}  // namespace

void pack(const Type& type, const void* buffer, Count count, int64_t offset, void* packed, size_t bytes) {
  const auto* memory = static_cast<const std::byte*>(buffer);
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(packed, memory + type.true_lower_bound + offset, bytes);
  } else if (bytes > 0) {
    Packing direction{static_cast<std::byte*>(packed)};
    walk(direction, type, memory, count, offset, static_cast<int64_t>(bytes));
  }
}

void unpack(const Type& type, void* buffer, Count count, int64_t offset, const void* packed, size_t bytes) {
  auto* memory = static_cast<std::byte*>(buffer);
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(memory + type.true_lower_bound + offset, packed, bytes);
  } else if (bytes > 0) {
    Unpacking direction{static_cast<const std::byte*>(packed)};
    walk(direction, type, memory, count, offset, static_cast<int64_t>(bytes));
  }
}

Status copy(const void* from, Count from_count, const Type& from_type, void* to, Count to_count,
            const Type& to_type) {
  const int64_t bytes = from_count * from_type.size;
  const int64_t room = to_count * to_type.size;
  const int64_t fitting = std::min(bytes, room);
  const bool same_place = from == to && &from_type == &to_type;
  if (fitting > 0 && !same_place) {
    if (from_type.contiguous) {
      unpack(to_type, to, to_count, 0, static_cast<const std::byte*>(from) + from_type.true_lower_bound,
             static_cast<size_t>(fitting));
    } else if (to_type.contiguous) {
      pack(from_type, from, from_count, 0, static_cast<std::byte*>(to) + to_type.true_lower_bound,
           static_cast<size_t>(fitting));
    } else {
      // Through a piece of the stack that stays in the first-level cache.
      std::byte piece[4096];
      for (int64_t done = 0; done < fitting;) {
        const auto part = static_cast<size_t>(std::min<int64_t>(sizeof piece, fitting - done));
        pack(from_type, from, from_count, done, piece, part);
        unpack(to_type, to, to_count, done, piece, part);
        done += static_cast<int64_t>(part);
      }
    }
  }
  if (bytes > room) {
    return fail(
        MPI_ERR_TRUNCATE,
        "%lld bytes (%lld elements) do not fit into %lld bytes (%lld elements) of the same process; the rest "
        "is lost. Likely cause: the counts or datatypes of the two buffers differ",
        static_cast<long long>(bytes), static_cast<long long>(from_count), static_cast<long long>(room),
        static_cast<long long>(to_count));
  }
  return {};
}

Span span_of(const Type& type, Count count) {
  if (count == 0 || type.size == 0) return {0, 0};
  const int64_t last = (count - 1) * type.extent;
  return {type.true_lower_bound + std::min<int64_t>(0, last), type.true_extent + std::max(last, -last)};
}

}  // namespace hearth::datatype
