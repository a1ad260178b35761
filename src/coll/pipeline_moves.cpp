#include "base/copy.h"
#include "coll/access_counters.h"
#include "coll/pipeline.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

PipelineBlocks blocks_of(const RankBlocks& blocks) {
  Type& type = blocks.type(0);
  return {.base = blocks.place(0),
          .stride = blocks.count(0) * type.extent,
          .bytes = blocks.bytes(0),
          .type = &type};
}

/// The same block for every rank.
PipelineBlocks one_block(void* buffer, Count count, Type& type) {
  return {.base = static_cast<std::byte*>(buffer), .stride = 0, .bytes = count * type.size, .type = &type};
}

// Longest data of one call that the string copy may take: they stay in the L2 cache. Of 1 MiB, an allgather
// without a shared cache took 1.4 times as long with it, and of 64 KiB 0.95 (AMD Zen 5, November 2026).
constexpr int64_t kSharedCopyBytesMax = 256 * 1024;

constexpr int64_t to_lines(int64_t bytes) {
  constexpr int64_t kLine = shm::kLineBytes;
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

void PipelineMoves::cut(int64_t bytes, int parts) {
  piece_bytes_ = std::min(pipeline_piece_bytes(bytes), ring().stage_bytes_max() / parts / 2 / 64 * 64);
  part_bytes_ = to_lines(piece_bytes_);
  set_stages((bytes + piece_bytes_ - 1) / piece_bytes_, parts * part_bytes_);
}

void PipelineMoves::keep_own(Schedule& schedule, const OwnBlock& own, int own_rank) {
  std::byte* place = in_.place(own_rank);
  if (own.type.contiguous && in_.type->contiguous && puts()) {
    own_from_ = static_cast<const std::byte*>(own.buffer) + own.type.true_lower_bound;
    own_to_ = place + in_.type->true_lower_bound;
    own_bytes_ = own.bytes();
    return;
  }
  const Count count = in_.type->size == 0 ? 0 : in_.length(own_rank) / in_.type->size;
  schedule.copy(own.buffer, own.count, own.type, place, count, *in_.type);
}

// Exposes all data that leave this rank, if they are one piece of memory and equal to their packed form.
void PipelineMoves::offer_blocks(const PipelineBlocks& blocks, int64_t bytes) {
  if (!blocks.type->contiguous || !puts()) return;
  const std::byte* const first = apart_ ? blocks.place(0) : blocks.place(rank());
  offer(first + blocks.type->true_lower_bound, bytes);
}

void PipelineMoves::bcast(void* buffer, Count count, Type& type, int root) {
  out_ = in_ = one_block(buffer, count, type);
  taken_from_ = root;
  set_part({.puts = rank() == root, .takes = rank() != root});
  offer_blocks(out_, out_.bytes);
  set_kind(Collective::bcast, out_.bytes);
  cut(out_.bytes, 1);
}

void PipelineMoves::gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  const bool at_root = rank() == root;
  set_part({.puts = !at_root, .takes = at_root, .reader = root});
  if (at_root) {
    out_ = in_ = blocks_of(blocks);
    if (own.buffer != MPI_IN_PLACE) keep_own(schedule, own, root);
  } else {
    out_ = in_ = one_block(own.buffer, own.count, own.type);
  }
  offer_blocks(out_, out_.bytes);
  set_kind(Collective::gather, out_.bytes);
  cut(out_.bytes, 1);
}

void PipelineMoves::scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  const bool at_root = rank() == root;
  apart_ = true;
  taken_from_ = root;
  set_part({.puts = at_root, .takes = !at_root});
  if (own.buffer != MPI_IN_PLACE) in_ = one_block(own.buffer, own.count, own.type);
  out_ = at_root ? blocks_of(blocks) : in_;
  if (own.buffer == MPI_IN_PLACE) {
    in_ = out_;
  } else if (at_root) {
    keep_own(schedule, {blocks.place(root), blocks.count(root), blocks.type(root)}, root);
  }
  offer_blocks(out_, saturated_product(size(), out_.bytes));
  set_kind(Collective::scatter, saturated_product(size(), out_.bytes));
  cut(out_.bytes, size() - 1);
}

Status PipelineMoves::allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  std::byte* memory;
  HEARTH_TRY(schedule.scratch(size() * static_cast<int64_t>(sizeof(PipelineBlocks::Part)), memory));
  auto* parts = reinterpret_cast<PipelineBlocks::Part*>(memory);
  int64_t bytes_max = 0;
  for (int rank = 0; rank < size(); ++rank) {
    parts[rank] = {blocks.place(rank), blocks.bytes(rank)};
    bytes_max = std::max(bytes_max, parts[rank].bytes);
  }
  in_ = {.parts = parts, .type = &blocks.type(0)};
  if (own.buffer == MPI_IN_PLACE) {
    out_ = in_;
  } else {
    out_ = one_block(own.buffer, own.count, own.type);
    keep_own(schedule, own, rank());
  }
  offer_blocks(out_, out_.length(rank()));
  set_kind(Collective::allgather, bytes_max);
  cut(bytes_max, 1);
  return {};
}

void PipelineMoves::alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  apart_ = true;
  out_ = blocks_of(out);
  in_ = blocks_of(in);
  if (out.place(0) != in.place(0)) {
    offer_blocks(out_, saturated_product(size(), out_.bytes));
    keep_own(schedule, {out.place(rank()), out.count(rank()), out.type(rank())}, rank());
  }
  set_kind(Collective::alltoall, saturated_product(size(), in_.bytes));
  cut(in_.bytes, size() - 1);
}

void PipelineMoves::put_piece(int64_t stage, int rank, std::byte* stage_data) {
  const int64_t bytes = piece_of(stage, out_.length(rank));
  if (bytes <= 0) return;
  ring().store_policy.fill(*out_.type, out_.place(rank), stage * piece_bytes_, stage_data,
                           static_cast<size_t>(bytes));
  access_counters::writes(stage_data, bytes);
  access_counters::copies(bytes);
}

bool PipelineMoves::put(int64_t stage, std::byte* stage_data) {
  if (!apart_) {
    put_piece(stage, rank(), stage_data);
  } else {
    for (int way = 1; way < size(); ++way) {
      put_piece(stage, (rank() + way) % size(), stage_data + (way - 1) * part_bytes_);
    }
  }
  return true;
}

// The own block is copied after the pieces of the other ranks are published, so that those ranks can proceed.
void PipelineMoves::after_put(int64_t stage) {
  const int64_t bytes = piece_of(stage, own_bytes_);
  if (bytes <= 0) return;
  const int64_t begin = stage * piece_bytes_;
  copy_bytes(own_to_ + begin, own_from_ + begin, static_cast<size_t>(bytes));
  access_counters::copies(bytes);
}

bool PipelineMoves::takes_from(int64_t stage, int from) const {
  return (taken_from_ < 0 || from == taken_from_) && piece_of(stage, in_.length(from)) > 0;
}

void PipelineMoves::take(int64_t stage, int from, uint64_t begin) {
  const int64_t bytes = piece_of(stage, in_.length(from));
  const int64_t at = stage * piece_bytes_;
  const int64_t part = apart_ ? ((rank() - from + size()) % size() - 1) * part_bytes_ : 0;
  const int64_t block = apart_ ? rank() * in_.length(from) : 0;
  const std::byte* const piece = source(from, begin, part, block + at, bytes);
  const int64_t whole_bytes = saturated_product(taken_from_ < 0 ? size() : 1, in_.length(from));
  if (in_.type->contiguous && whole_bytes <= kSharedCopyBytesMax) {
    copy_shared_bytes(in_.place(from) + in_.type->true_lower_bound + at, piece, static_cast<size_t>(bytes),
                      static_cast<uint64_t>(whole_bytes));
  } else {
    datatype::unpack(*in_.type, in_.place(from), at, piece, static_cast<size_t>(bytes));
  }
  access_counters::reads(piece, bytes);
  access_counters::copies(bytes);
}

}  // namespace hearth::coll
