// The claim word of the control block: the mark in the upper half, the number of claimed blocks of 4 KiB in
// the lower half. The word `copied` counts the sender's bytes; its highest bit means that the sender has not
// copied a piece that it claimed.
//
// Memory order. The receiver clears `copied`, then stores the claim word (release); a sender claims a piece
// by compare-exchange (acquire), so it adds to a cleared count. It copies, then adds (release); the receiver
// loads the count (acquire), so it sees the copied bytes. The sender's message was written before the
// announcement that the receiver has read.
#include "single_copy/cooperative.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_wait.h"

namespace hearth::single_copy {
namespace {

constexpr size_t kBlockBytes = 4096;
// A piece is a third of the rest, so that both processes end at about the same time, whichever began later:
// the last pieces are small, so the wait for the other process is short.
constexpr size_t kShare = 3;
// Polls of the sender's count between two yields of the processor. Each yield also checks whether the sender
// is alive. A piece takes the sender 10 to 60 us unless it is descheduled.
constexpr int kLooksPerYield = 2000;
constexpr uint64_t kUndone = uint64_t{1} << 63;

size_t blocks_of(size_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

size_t next_piece(size_t blocks_taken, size_t blocks_left, const PieceSizes& sizes) {
  const size_t most =
      sizes.grow ? std::clamp(blocks_taken, sizes.blocks_min, sizes.blocks_max) : sizes.blocks_max;
  return std::min(blocks_left, std::clamp(blocks_left / kShare, sizes.blocks_min, most));
}

Piece piece_at(size_t block, size_t blocks, size_t bytes) {
  const size_t at = block * kBlockBytes;
  return {at, std::min(bytes - at, blocks * kBlockBytes)};
}

uint64_t claim_word(uint32_t mark, size_t blocks_taken) {
  return uint64_t{mark} << 32 | blocks_taken;
}

// Claims the rest of the message, so that the sender claims nothing more. Returns how many bytes were claimed
// before.
size_t close_control_block(shm::CopyControlBlock& control_block, const Message& message) {
  const uint64_t before =
      atomic::exchange(control_block.claim, claim_word(message.mark, blocks_of(message.bytes)));
  return std::min(message.bytes, static_cast<size_t>(static_cast<uint32_t>(before)) * kBlockBytes);
}

// Waits until the sender has copied `bytes`, all that it claimed. False if it has left a part of it uncopied.
bool await_pieces(const shm::CopyControlBlock& control_block, size_t bytes, Copier& copier) {
  bool gone = false;
  for (int look = 1;; ++look) {
    // Pairs with the addition in report_piece. After the sender's death the count is read once more, because
    // its last additions are valid.
    const uint64_t copied = atomic::load_acquire(control_block.copied);
    if (copied & kUndone) return false;
    if (copied >= bytes) return true;
    if (gone) return false;
    atomic::cpu_relax();
    if (look % kLooksPerYield == 0) {
      os::yield_processor();
      gone = copier.sender_is_gone();
    }
  }
}

}  // namespace

Piece open_control_block(shm::CopyControlBlock& control_block, const Message& message) {
  const size_t blocks = next_piece(0, blocks_of(message.bytes), message.sizes);
  atomic::store_relaxed(control_block.copied, uint64_t{0});
  atomic::store_release(control_block.claim, claim_word(message.mark, blocks));
  return piece_at(0, blocks, message.bytes);
}

Piece take_piece(shm::CopyControlBlock& control_block, const Message& message) {
  for (;;) {
    const uint64_t word = atomic::load_acquire(control_block.claim);
    const size_t taken = static_cast<uint32_t>(word);
    if (word >> 32 != message.mark || taken >= blocks_of(message.bytes)) return {};
    const size_t blocks = next_piece(taken, blocks_of(message.bytes) - taken, message.sizes);
    if (atomic::compare_exchange(control_block.claim, word, claim_word(message.mark, taken + blocks))) {
      return piece_at(taken, blocks, message.bytes);
    }
  }
}

void report_piece(shm::CopyControlBlock& control_block, const Piece& piece) {
  atomic::fetch_add(control_block.copied, uint64_t{piece.bytes});
}

bool receive_pieces(shm::CopyControlBlock& control_block, const Message& message, Piece first,
                    Copier& copier) {
  size_t own = 0;
  for (Piece piece = first; piece.bytes > 0; piece = take_piece(control_block, message)) {
    chaos::at(chaos::Point::piece_taken);
    if (!copier.copy(piece)) {
      // The sender must not write to the buffer after this function returns.
      const size_t taken = close_control_block(control_block, message);
      // Less than this process has claimed: the control block is corrupt.
      if (taken < own + piece.bytes) return false;
      await_pieces(control_block, taken - own - piece.bytes, copier);
      return false;
    }
    own += piece.bytes;
  }
  // The missing pieces are unknown, so the receiver copies the whole message. It happens once per pair:
  // afterwards the sender no longer helps.
  return await_pieces(control_block, message.bytes - own, copier) || copier.copy({0, message.bytes});
}

SenderPart send_pieces(shm::CopyControlBlock& control_block, const Message& message, Copier& copier) {
  SenderPart sender_part;
  for (;;) {
    const Piece piece = take_piece(control_block, message);
    if (piece.bytes == 0) return sender_part;
    chaos::at(chaos::Point::piece_taken);
    if (!copier.copy(piece)) {
      atomic::fetch_add(control_block.copied, kUndone);
      sender_part.refused = true;
      return sender_part;
    }
    report_piece(control_block, piece);
    sender_part.bytes += piece.bytes;
  }
}

}  // namespace hearth::single_copy
