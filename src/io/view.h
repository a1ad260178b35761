// A file view (MPI 5.0 section 14.3): which bytes of the file a process accesses, and in which order.
//
// The data of a view are numbered from 0, holes left out. `data offset` is such a number, `file offset` a
// position in the file. Sizes are those of the view's representation, in the file.
//
//   file   | displacement | tile: ##  #  | tile: ##  #  | ...     data bytes 0 1 2, 3 4 5, ...
//
// Immutable. Made and destroyed under the library's lock; any thread may read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "datatype/type.h"
#include "io/representation.h"

namespace hearth::io {

using datatype::Type;

class View {
 public:
  /// Collective arguments of MPI_File_set_view, already valid handles. `writable`: overlapping data are
  /// refused. MPI_ERR_TYPE, MPI_ERR_ARG, MPI_ERR_UNSUPPORTED_DATAREP.
  static Status make(int64_t displacement, Type& etype, Type& filetype, const char* representation,
                     bool writable, std::shared_ptr<const View>& made);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  int64_t displacement() const { return displacement_; }
  Type& etype() const { return *etype_; }
  Type& filetype() const { return *filetype_; }
  const Representation& representation() const { return *representation_; }
  int64_t etype_bytes() const { return etype_bytes_; }
  /// The data are consecutive bytes of the file.
  bool contiguous() const { return tile_.contiguous; }
  /// File offsets increase with data offsets. False if tiles overlap, as filetypes with a smaller extent do.
  bool increasing() const { return increasing_; }
  /// Mean bytes of a run of consecutive bytes, and mean distance between the beginnings of two runs. Pre: not
  /// contiguous and of some size.
  int64_t run_bytes() const { return run_bytes_; }
  int64_t run_distance() const { return run_distance_; }

  /// File offset of a data byte. Pre: the filetype's size is not 0.
  int64_t file_offset(int64_t data_offset) const;
  /// Number of data bytes before a file offset.
  int64_t data_before(int64_t file_offset) const;
  bool empty() const { return tile_.size == 0; }
  /// Data offset of an offset in etypes; false if it, or the file offset of the `bytes` data that follow,
  /// does not fit into 63 bits.
  bool data_offset(int64_t etypes, int64_t bytes, int64_t& offset) const;

  /// Calls visit(file offset, bytes) for each run of consecutive bytes of the file that `bytes` data bytes
  /// from `data_offset` on occupy, in the order of the data, until it returns false. Adjacent runs are
  /// joined.
  template <class Visit>
  void for_each_run(int64_t data_offset, int64_t bytes, Visit&& visit) const;

 private:
  View() = default;

  int64_t displacement_ = 0;
  Type* etype_ = nullptr;     // one reference held
  Type* filetype_ = nullptr;  // likewise
  std::shared_ptr<const Representation> representation_;
  datatype::Shape tile_;
  int64_t etype_bytes_ = 1;
  bool increasing_ = true;
  int64_t run_bytes_ = 0;
  int64_t run_distance_ = 0;
};

/// Joins adjacent runs before they are visited.
template <class Visit>
class RunJoiner {
 public:
  explicit RunJoiner(Visit& visit) : visit_(visit) {}
  bool add(int64_t offset, int64_t bytes) {
    if (offset == end_) {
      end_ += bytes;
      return true;
    }
    if (!flush()) return false;
    begin_ = offset;
    end_ = offset + bytes;
    return true;
  }
  bool flush() { return end_ == begin_ || visit_(begin_, end_ - begin_); }

  /// Packed bytes [from, from + bytes) of a layout whose origin is at `origin`.
  bool walk(const datatype::Layout& layout, size_t level, int64_t origin, int64_t from, int64_t bytes) {
    if (level < layout.loops.size()) {
      const datatype::Loop& loop = layout.loops[level];
      origin += from / loop.turn_bytes * loop.stride;
      from %= loop.turn_bytes;
      // The innermost loop of a vector: no call for each block.
      const bool one_block = level + 1 == layout.loops.size() && layout.blocks.size() == 1;
      for (; bytes > 0; origin += loop.stride, from = 0) {
        const int64_t part = std::min(loop.turn_bytes - from, bytes);
        if (one_block) {
          if (!add(origin + layout.blocks[0].offset + from, part)) return false;
        } else if (!walk(layout, level + 1, origin, from, part)) {
          return false;
        }
        bytes -= part;
      }
      return true;
    }
    size_t index = layout.index_at(from);
    from -= layout.start_of(index);
    for (; bytes > 0; ++index, from = 0) {
      int64_t part;
      if (layout.parts.empty()) {
        const datatype::Block& block = layout.blocks[index];
        part = std::min(block.bytes - from, bytes);
        if (!add(origin + block.offset + from, part)) return false;
      } else {
        const datatype::Part& piece = layout.parts[index];
        part = std::min(piece.layout->bytes() - from, bytes);
        if (!walk(*piece.layout, 0, origin + piece.offset, from, part)) return false;
      }
      bytes -= part;
    }
    return true;
  }

 private:
  Visit& visit_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

template <class Visit>
void View::for_each_run(int64_t data_offset, int64_t bytes, Visit&& visit) const {
  if (bytes == 0 || tile_.size == 0) return;
  if (tile_.contiguous) {
    visit(displacement_ + tile_.true_lower_bound + data_offset, bytes);
    return;
  }
  RunJoiner<std::remove_reference_t<Visit>> joiner(visit);
  int64_t from = data_offset % tile_.size;
  int64_t origin = displacement_ + data_offset / tile_.size * tile_.extent;
  for (; bytes > 0; origin += tile_.extent, from = 0) {
    const int64_t part = std::min(tile_.size - from, bytes);
    if (tile_.layout->one_block()) {
      if (!joiner.add(origin + tile_.true_lower_bound + from, part)) return;
    } else if (!joiner.walk(*tile_.layout, 0, origin, from, part)) {
      return;
    }
    bytes -= part;
  }
  joiner.flush();
}

}  // namespace hearth::io
