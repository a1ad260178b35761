#include "io/medium.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/os_memory.h"
#include "base/param.h"

namespace hearth::io {
namespace {

// Memory that is not contiguous is packed into a buffer that stays in the L2 cache.
constexpr int64_t kPackedBytes = 256 * 1024;
// Pages of a mapping are made present by this many bytes at a time.
constexpr int64_t kPopulatedBytes = int64_t{4} << 20;
// If runs are further apart, populating would allocate pages between them that no run needs.
constexpr int64_t kMappedDistanceMax = 8192;
// Length of one read of a file without mappings, from which the runs are copied.
constexpr int64_t kSieveBytes = 512 * 1024;
// Holes that a read through a sieve may include, in bytes for each byte of data.
constexpr int64_t kSieveHolesMax = 16;

// `hearth top` sees the progress of longer transfers in steps of this length.
constexpr int64_t kCountedBytes = int64_t{64} << 20;

template <class Transfer>
os::Moved move_counted(const Medium& medium, bool writing, int64_t bytes, int64_t offset, Transfer transfer) {
  os::Moved all;
  while (all.bytes < bytes && all.error == 0) {
    const int64_t part = std::min(bytes - all.bytes, kCountedBytes);
    const os::Moved moved = transfer(all.bytes, part, offset == os::kNoOffset ? offset : offset + all.bytes);
    count_moved(medium, writing, moved.bytes);
    all.bytes += moved.bytes;
    all.error = moved.error;
    if (moved.bytes < part) break;
  }
  return all;
}

/// Part of the data of a view and the consecutive memory that they go to or come from.
struct Piece {
  const View& view;
  int64_t data_offset;
  bool writing;
  std::byte* memory;
  int64_t bytes;
};

os::Moved move_by_calls(const Medium& medium, const Piece& piece) {
  os::Moved all;
  piece.view.for_each_run(piece.data_offset, piece.bytes, [&](int64_t offset, int64_t bytes) {
    if (!medium.facts.seekable) offset = os::kNoOffset;
    std::byte* const at = piece.memory + all.bytes;
    const os::Moved moved =
        piece.writing ? write_counted(medium, at, bytes, offset) : read_counted(medium, at, bytes, offset);
    all.bytes += moved.bytes;
    all.error = moved.error;
    return moved.bytes == bytes;
  });
  return all;
}

/// Reads the holes between the runs as well, in long calls.
os::Moved read_through_sieve(const Medium& medium, const Piece& piece) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kSieveBytes);
  os::Moved all;
  int64_t begin = 0;
  int64_t end = 0;  // of what the buffer has
  const int64_t last = piece.view.file_offset(piece.data_offset + piece.bytes - 1) + 1;
  piece.view.for_each_run(piece.data_offset, piece.bytes, [&](int64_t offset, int64_t bytes) {
    while (bytes > 0) {
      if (offset < begin || offset >= end) {
        const int64_t wanted = std::min(kSieveBytes, last - offset);
        const os::Moved read = read_counted(medium, buffer.get(), wanted, offset);
        all.error = read.error;
        if (read.bytes == 0) return false;
        begin = offset;
        end = offset + read.bytes;
      }
      const int64_t part = std::min(bytes, end - offset);
      std::memcpy(piece.memory + all.bytes, buffer.get() + (offset - begin), static_cast<size_t>(part));
      all.bytes += part;
      offset += part;
      bytes -= part;
    }
    return true;
  });
  return all;
}

/// Copies runs through mappings. stopped(): the system refused to map or populate; calls move the rest.
class MapTransfer {
 public:
  MapTransfer(Medium& medium, const Piece& piece, int64_t end)
      : medium_(medium), piece_(piece), end_(end), page_(static_cast<int64_t>(os::page_bytes())) {}

  bool copy(int64_t offset, int64_t bytes) {
    if (offset >= part_begin_ && offset + bytes <= populated_) [[likely]] {
      copy_run(offset, bytes);
      return true;
    }
    const bool whole = offset + bytes <= end_;
    bytes = std::min(bytes, end_ - offset);
    while (bytes > 0) {
      if ((offset < part_begin_ || offset >= populated_) && !open_part(offset)) return false;
      const int64_t part = std::min(bytes, populated_ - offset);
      copy_run(offset, part);
      offset += part;
      bytes -= part;
    }
    return whole;
  }
  int64_t moved() const { return moved_; }
  bool stopped() const { return stopped_; }

 private:
  /// Pre: the pages are present.
  void copy_run(int64_t offset, int64_t bytes) {
    std::byte* const in_file = part_ + (offset - part_begin_);
    std::byte* const memory = piece_.memory + moved_;
    copy_bytes(piece_.writing ? in_file : memory, piece_.writing ? memory : in_file,
               static_cast<size_t>(bytes));
    moved_ += bytes;
  }
  /// Maps and populates from `offset` on, within the part of the file that contains it.
  bool open_part(int64_t offset) {
    const int64_t begin = offset / MappedParts::kPartBytes * MappedParts::kPartBytes;
    if (part_ == nullptr || begin != part_begin_) {
      part_ = medium_.parts.part(medium_.descriptor.number(), begin, medium_.writes);
      part_begin_ = begin;
    }
    stopped_ = part_ == nullptr;
    if (stopped_) return false;
    const int64_t from = offset / page_ * page_;
    const int64_t to = std::min({from + kPopulatedBytes, end_, begin + MappedParts::kPartBytes});
    const int64_t pages = (to - from + page_ - 1) / page_ * page_;
    // populate returns an error where an access would raise SIGBUS: another program shortened the file, or no
    // space is left.
    stopped_ =
        os::populate_file_pages(part_ + (from - begin), static_cast<size_t>(pages), piece_.writing) != 0;
    populated_ = stopped_ ? 0 : to;
    return !stopped_;
  }

  Medium& medium_;
  const Piece& piece_;
  const int64_t end_;  // of the data, or of a file that is shorter
  const int64_t page_;
  std::byte* part_ = nullptr;
  int64_t part_begin_ = -1;
  int64_t populated_ = 0;  // file offset
  int64_t moved_ = 0;
  bool stopped_ = false;
};

/// Lengthens the file to `end` if it is shorter, for an access that begins at `first`; a hole before `first`
/// stays. Never overwrites data, so that another handle may write to the same range at the same time. False
/// if this fails: calls then move the data, and report the error.
///
/// A length that fstat() reports is not enough for stores: a system call of another process that lengthens
/// the file publishes the new length before it zeroes the rest of the last page, and would zero a store made
/// in between (ext4 of Linux 6.18 does). Such calls hold the inode's lock throughout, and fallocate() takes
/// it, so the length is settled once a fallocate() of this process has returned.
bool make_room(Medium& medium, int64_t first, int64_t end) {
  const int descriptor = medium.descriptor.number();
  int64_t length = 0;
  if (os::file_length(descriptor, length) != 0) return false;
  // Another handle may have shortened the file.
  medium.settled_bytes = std::min(medium.settled_bytes, length);
  if (end <= medium.settled_bytes) return true;
  const int64_t begin = std::clamp(length, first, end - 1);
  if (os::allocate_file_space(descriptor, begin, end - begin) != 0) return false;
  medium.settled_bytes = end;
  return true;
}

/// Returns false if calls have to move the rest.
bool move_by_map(Medium& medium, const Piece& piece, os::Moved& moved) {
  const std::lock_guard guard(medium.parts.mutex);
  int64_t end = piece.view.file_offset(piece.data_offset + piece.bytes - 1) + 1;
  if (piece.writing) {
    if (!make_room(medium, piece.view.file_offset(piece.data_offset), end)) return false;
  } else {
    int64_t length = 0;
    if (os::file_length(medium.descriptor.number(), length) != 0) return false;
    end = std::min(end, length);
  }
  MapTransfer transfer(medium, piece, end);
  piece.view.for_each_run(piece.data_offset, piece.bytes,
                          [&](int64_t offset, int64_t bytes) { return transfer.copy(offset, bytes); });
  moved.bytes = transfer.moved();
  count_moved(medium, piece.writing, moved.bytes);
  return !transfer.stopped();
}

bool maps(const Medium& medium, const View& view, bool writing) {
  if (view.contiguous() || !view.increasing() || !medium.facts.coherent_mapping) return false;
  if (medium.choice == EngineChoice::calls || !medium.reads || (writing && !medium.writes)) return false;
  if (medium.choice == EngineChoice::map) return true;
  return view.run_bytes() < static_cast<int64_t>(param::get_bytes(param::Id::file_mapped_run_max)) &&
         view.run_distance() <= kMappedDistanceMax;
}

bool sieves(const Medium& medium, const View& view) {
  return medium.choice != EngineChoice::calls && medium.facts.seekable && !view.contiguous() &&
         view.increasing() && view.run_bytes() < kMappedDistanceMax &&
         view.run_distance() <= view.run_bytes() * kSieveHolesMax;
}

}  // namespace

void count_moved(const Medium& medium, bool writing, int64_t bytes) {
  if (medium.traffic == nullptr || bytes == 0) return;
  atomic::fetch_add(writing ? medium.traffic->file_written : medium.traffic->file_read,
                    static_cast<uint64_t>(bytes));
}

os::Moved read_counted(const Medium& medium, std::byte* to, int64_t bytes, int64_t offset) {
  return move_counted(medium, false, bytes, offset, [&](int64_t done, int64_t part, int64_t at) {
    return os::read_file(medium.descriptor.number(), to + done, part, at);
  });
}

os::Moved write_counted(const Medium& medium, const std::byte* from, int64_t bytes, int64_t offset) {
  return move_counted(medium, true, bytes, offset, [&](int64_t done, int64_t part, int64_t at) {
    return os::write_file(medium.descriptor.number(), from + done, part, at);
  });
}

MappedParts::~MappedParts() {
  for (const Part& part : parts_) {
    if (part.begin != nullptr) os::release(part.begin, kPartBytes);
  }
}

std::byte* MappedParts::part(int descriptor, int64_t offset, bool writable) {
  Part* oldest = &parts_[0];
  for (Part& part : parts_) {
    if (part.begin != nullptr && part.offset == offset) {
      part.used = ++uses_;
      return part.begin;
    }
    if (part.used < oldest->used) oldest = &part;
  }
  if (oldest->begin != nullptr) os::release(oldest->begin, kPartBytes);
  oldest->begin = static_cast<std::byte*>(os::map_file(descriptor, offset, kPartBytes, writable));
  oldest->offset = offset;
  oldest->used = oldest->begin != nullptr ? ++uses_ : 0;
  return oldest->begin;
}

os::Moved move_piece(Medium& medium, const View& view, int64_t data_offset, bool writing, std::byte* memory,
                     int64_t bytes) {
  os::Moved moved;
  if (bytes == 0) return moved;
  const Piece piece = {view, data_offset, writing, memory, bytes};
  if (maps(medium, view, writing)) {
    if (move_by_map(medium, piece, moved)) return moved;
  } else if (!writing && sieves(medium, view)) {
    return read_through_sieve(medium, piece);
  }
  const Piece rest = {view, data_offset + moved.bytes, writing, memory + moved.bytes, bytes - moved.bytes};
  const os::Moved later = move_by_calls(medium, rest);
  return {moved.bytes + later.bytes, later.error};
}

os::Moved move_data(Medium& medium, const View& view, int64_t data_offset, bool writing, const Data& data) {
  const int64_t bytes = data.bytes();
  if (bytes == 0) return {};
  if (datatype::is_one_run(*data.type, data.count)) {
    std::byte* const memory = static_cast<std::byte*>(data.buffer) + data.type->true_lower_bound;
    return move_piece(medium, view, data_offset, writing, memory, bytes);
  }
  os::Moved all;
  const auto buffer =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(std::min(bytes, kPackedBytes)));
  while (all.bytes < bytes && all.error == 0) {
    const int64_t part = std::min(bytes - all.bytes, kPackedBytes);
    if (writing) datatype::pack(*data.type, data.buffer, all.bytes, buffer.get(), static_cast<size_t>(part));
    const os::Moved moved = move_piece(medium, view, data_offset + all.bytes, writing, buffer.get(), part);
    if (!writing)
      datatype::unpack(*data.type, data.buffer, all.bytes, buffer.get(), static_cast<size_t>(moved.bytes));
    all.bytes += moved.bytes;
    all.error = moved.error;
    if (moved.bytes < part) break;
  }
  return all;
}

}  // namespace hearth::io
