// The desk's claim word: the mark in the upper half, in the lower half how many blocks of 4 KiB are taken.
//
// Orders. The receiver clears `copied`, then stores the claim word (release); a sender takes a piece by
// compare-exchange (acquire) and so adds to a cleared count. It copies, then adds (release); the receiver
// loads the count (acquire) and so sees the copied bytes. The sender's bytes were written before its
// announcement of the message, which the receiver has read.
#include "single_copy/cooperative.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/os_wait.h"

namespace hearth::single_copy {
namespace {

constexpr size_t kBlockBytes = 4096;
// A piece is a share of what is left, so that both end at about the same time whoever was late: large ones
// first, which cost few looks at the counter, small ones at the end, for which one waits little.
constexpr size_t kShare = 3;
constexpr size_t kPieceBlocksMin = 2;
constexpr size_t kPieceBlocksMax = 32;
// Looks at the sender's count between two offers of the processor: it copies 128 KiB at most in the meantime.
constexpr int kLooksPerYield = 20000;

size_t blocks_of(size_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

size_t next_piece(size_t blocks_left) {
  return std::min(blocks_left, std::clamp(blocks_left / kShare, kPieceBlocksMin, kPieceBlocksMax));
}

Piece piece_at(size_t block, size_t blocks, size_t bytes) {
  const size_t at = block * kBlockBytes;
  return {at, std::min(bytes - at, blocks * kBlockBytes)};
}

uint64_t claim_word(uint32_t mark, size_t blocks_taken) {
  return uint64_t{mark} << 32 | blocks_taken;
}

}  // namespace

Piece open_desk(shm::CopyDesk& desk, uint32_t mark, size_t bytes) {
  const size_t blocks = next_piece(blocks_of(bytes));
  atomic::store_relaxed(desk.copied, uint64_t{0});
  atomic::store_release(desk.claim, claim_word(mark, blocks));
  return piece_at(0, blocks, bytes);
}

Piece take_piece(shm::CopyDesk& desk, uint32_t mark, size_t bytes) {
  for (;;) {
    const uint64_t word = atomic::load_acquire(desk.claim);
    const size_t taken = static_cast<uint32_t>(word);
    if (word >> 32 != mark || taken >= blocks_of(bytes)) return {};
    const size_t blocks = next_piece(blocks_of(bytes) - taken);
    if (atomic::compare_exchange(desk.claim, word, claim_word(mark, taken + blocks))) {
      return piece_at(taken, blocks, bytes);
    }
  }
}

void report_piece(shm::CopyDesk& desk, const Piece& piece) {
  atomic::fetch_add(desk.copied, uint64_t{piece.bytes});
}

void await_pieces(const shm::CopyDesk& desk, size_t bytes) {
  for (int look = 1; atomic::load_acquire(desk.copied) < bytes; ++look) {
    atomic::cpu_relax();
    if (look % kLooksPerYield == 0) os::yield_processor();
  }
}

}  // namespace hearth::single_copy
