// Cooperative copy: sender and receiver copy one message together. They claim pieces of it from a shared
// counter in a control block until none is left. Both can access both buffers: in the arena by plain loads
// and stores, elsewhere by a single-copy method, where the receiver reads and the sender writes. Each
// receiver has one control block in the segment and copies one message at a time, so the block has one user;
// the helper is the sender of the message.
//
//   receiver                                   sender
//   opens the block, claims the first piece
//   sends a request                       ->   polls it, if it is inside MPI
//   claims and copies pieces until the end     claims and copies pieces until the end
//   waits for the sender's pieces              (continues with other work)
//   informs the sender that all is copied
//
// The receiver never depends on the sender's help: if the sender does not poll, the receiver copies all
// pieces. If the block already serves another message, its mark differs and the sender does nothing. If the
// sender dies with a claimed piece, or the system refuses its copy, the receiver copies its pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/layout.h"

namespace hearth::single_copy {

/// A part of a message; `at` is its offset in bytes.
struct Piece {
  size_t at = 0;
  size_t bytes = 0;
};

/// Limits on the length of a piece, in blocks of 4 KiB; between them a piece is a share of the rest. With
/// `grow`, the first piece has the minimum length, and no piece is longer than all pieces before it together.
struct PieceSizes {
  size_t blocks_min;
  size_t blocks_max;
  bool grow;
};
/// For plain loads: starts with large pieces, which need few accesses to the counter.
constexpr PieceSizes kPlainPieces = {2, 32, false};
/// For system calls, which pin pages before they copy: the shorter the first piece, the earlier the second
/// process can begin (openmx-single-copy-2009). 16 KiB, then up to 256 KiB.
constexpr PieceSizes kSystemPieces = {4, 64, true};

/// Identifies the helper and the message. `number` counts the cooperative copies of a pair. It wraps after
/// 65,536, but at most as many requests as a ring has slots can be in flight to a sender, so an old request
/// never has the mark of a new one.
constexpr uint32_t copy_mark(uint16_t helper, uint16_t number) {
  return uint32_t{helper} << 16 | number;
}

/// A message in a control block; equal in both processes.
struct Message {
  uint32_t mark;
  size_t bytes;
  PieceSizes sizes;
};

/// Copies pieces for one process, and checks its peer.
class Copier {
 public:
  /// False if the system refuses; the piece may be partly copied.
  virtual bool copy(const Piece& piece) = 0;
  /// For the receiver, called now and then while it waits: whether the sender's process has ended.
  virtual bool sender_is_gone() { return false; }

 protected:
  ~Copier() = default;
};

/// For the receiver: opens the control block for a message and claims its first piece.
Piece open_control_block(shm::CopyControlBlock& control_block, const Message& message);
/// For the receiver: copies that piece and all others that it can claim, then waits for the sender's. Returns
/// whether the message is complete. False only if `copier` fails; the sender does not access the message
/// afterwards.
bool receive_pieces(shm::CopyControlBlock& control_block, const Message& message, Piece first,
                    Copier& copier);

/// The sender's part of a cooperative copy.
struct SenderPart {
  size_t bytes = 0;
  bool refused = false;  // the system refused its copies from some piece on; the receiver is informed
};
/// For the sender: claims and copies pieces until none is left or the control block serves another message.
SenderPart send_pieces(shm::CopyControlBlock& control_block, const Message& message, Copier& copier);

/// For both, and for tests: claims the next piece; 0 bytes if none is left or the control block serves
/// another message.
Piece take_piece(shm::CopyControlBlock& control_block, const Message& message);
/// For the sender: reports that a claimed piece is copied.
void report_piece(shm::CopyControlBlock& control_block, const Piece& piece);

}  // namespace hearth::single_copy
