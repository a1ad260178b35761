#include "io/view.h"

#include "datatype/lifetime.h"
#include "mpi.h"

namespace hearth::io {
namespace {

/// Order of a layout's blocks in the file.
struct Order {
  int64_t first_begin = 0;
  int64_t last_begin = 0;
  int64_t last_end = 0;
  int64_t blocks = 0;
  bool sorted = true;    // begins do not decrease
  bool disjoint = true;  // and no two blocks overlap

  /// Appends a piece at a distance.
  void append(const Order& piece, int64_t distance) {
    if (blocks == 0) {
      const Order placed = {piece.first_begin + distance,
                            piece.last_begin + distance,
                            piece.last_end + distance,
                            piece.blocks,
                            piece.sorted,
                            piece.disjoint};
      *this = placed;
      return;
    }
    sorted = sorted && piece.sorted && piece.first_begin + distance >= last_begin;
    disjoint = disjoint && piece.disjoint && piece.first_begin + distance >= last_end;
    last_begin = piece.last_begin + distance;
    last_end = piece.last_end + distance;
    blocks += piece.blocks;
  }
  /// Appends count - 1 copies, each at a distance of `stride` from the copy before.
  void repeat(int64_t count, int64_t stride) {
    if (count == 1) return;
    const Order one = *this;
    append(one, stride);  // all later copies are in the same relation to the copy before
    blocks = one.blocks * count;
    last_begin = one.last_begin + (count - 1) * stride;
    last_end = one.last_end + (count - 1) * stride;
  }
};

/// Takes time in the length of the description, not in the number of blocks.
Order order_of(const datatype::Layout& layout) {
  Order order;
  for (const datatype::Block& block : layout.blocks)
    order.append({block.offset, block.offset, block.offset + block.bytes, 1}, 0);
  for (const datatype::Part& part : layout.parts) order.append(order_of(*part.layout), part.offset);
  for (size_t level = layout.loops.size(); level-- > 0;)
    order.repeat(layout.loops[level].count, layout.loops[level].stride);
  return order;
}

Status check_order(const Order& order, bool writable, const char* what) {
  if (order.first_begin < 0) {
    return fail(
        MPI_ERR_TYPE,
        "the %s has data at %lld: displacements in a file must not be negative (MPI 5.0 section 14.1)", what,
        static_cast<long long>(order.first_begin));
  }
  if (!order.sorted) {
    return fail(MPI_ERR_TYPE,
                "the displacements of the %s decrease: a file view goes forward only (MPI 5.0 section 14.1). "
                "Remedy: sort the blocks of the filetype, and reorder the buffer's datatype instead",
                what);
  }
  if (writable && !order.disjoint) {
    return fail(MPI_ERR_TYPE,
                "blocks of the %s overlap, and the file is open for writing (MPI 5.0 section 14.3). Remedy: "
                "open it with MPI_MODE_RDONLY, or use another filetype",
                what);
  }
  return {};
}

}  // namespace

Status View::make(int64_t displacement, Type& etype, Type& filetype, const char* representation,
                  bool writable, std::shared_ptr<const View>& made) {
  if (displacement < 0) {
    return fail(MPI_ERR_ARG, "disp is %lld: it must not be negative", static_cast<long long>(displacement));
  }
  std::shared_ptr<View> view(new View());
  view->displacement_ = displacement;
  HEARTH_TRY(find_representation(representation, view->representation_));
  datatype::retain(etype);
  view->etype_ = &etype;
  datatype::retain(filetype);
  view->filetype_ = &filetype;
  datatype::Shape etype_shape;
  HEARTH_TRY(view->representation_->shape_in_file(etype, etype_shape));
  HEARTH_TRY(view->representation_->shape_in_file(filetype, view->tile_));
  view->etype_bytes_ = etype_shape.size;
  datatype::Shape& tile = view->tile_;
  if (tile.size > 0 && (etype_shape.size == 0 || tile.size % etype_shape.size != 0)) {
    return fail(
        MPI_ERR_TYPE,
        "the filetype has %lld bytes, which is no multiple of the etype's %lld: a filetype is made of "
        "etypes (MPI 5.0 section 14.1)",
        static_cast<long long>(tile.size), static_cast<long long>(etype_shape.size));
  }
  if (tile.size > 0 && tile.extent <= 0) {
    return fail(MPI_ERR_TYPE, "the extent of the filetype is %lld: copies of it would not go forward",
                static_cast<long long>(tile.extent));
  }
  if (tile.contiguous) {
    if (tile.size > 0 && tile.true_lower_bound < 0) {
      return fail(MPI_ERR_TYPE, "the filetype has data at %lld: displacements in a file must not be negative",
                  static_cast<long long>(tile.true_lower_bound));
    }
  } else {
    const Order order = order_of(*tile.layout);
    HEARTH_TRY(check_order(order, writable, "filetype"));
    view->increasing_ = order.disjoint && order.first_begin + tile.extent >= order.last_end;
    view->run_bytes_ = tile.size / order.blocks;
    view->run_distance_ = tile.extent / order.blocks;
  }
  made = std::move(view);
  return {};
}

View::~View() {
  if (etype_ != nullptr) datatype::release(*etype_);
  if (filetype_ != nullptr) datatype::release(*filetype_);
}

int64_t View::file_offset(int64_t data_offset) const {
  int64_t found = displacement_;
  for_each_run(data_offset, 1, [&](int64_t offset, int64_t) {
    found = offset;
    return false;
  });
  return found;
}

int64_t View::data_before(int64_t file_offset) const {
  if (tile_.size == 0) return 0;
  const int64_t distance = file_offset - displacement_ - tile_.true_lower_bound;
  if (distance <= 0) return 0;
  if (tile_.contiguous) return distance;
  // Tiles that end before the offset, then each one that begins before it.
  const int64_t ended = std::max<int64_t>(0, (distance - tile_.true_extent) / tile_.extent + 1);
  int64_t before = distance < tile_.true_extent ? 0 : ended * tile_.size;
  for (int64_t tile = before / tile_.size; tile * tile_.extent < distance; ++tile) {
    for_each_run(tile * tile_.size, tile_.size, [&](int64_t offset, int64_t bytes) {
      before += std::clamp<int64_t>(file_offset - offset, 0, bytes);
      return true;
    });
  }
  return before;
}

bool View::data_offset(int64_t etypes, int64_t bytes, int64_t& offset) const {
  if (__builtin_mul_overflow(etypes, etype_bytes_, &offset)) return false;
  if (tile_.size == 0) return true;
  int64_t end;
  int64_t tiles;
  return !__builtin_add_overflow(offset, bytes, &end) &&
         !__builtin_mul_overflow(end / tile_.size + 1, tile_.extent, &tiles) &&
         !__builtin_add_overflow(tiles, displacement_, &tiles) &&
         !__builtin_add_overflow(tiles, tile_.true_lower_bound + tile_.true_extent, &tiles);
}

}  // namespace hearth::io
