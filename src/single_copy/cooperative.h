// Two processes copy one message: sender and receiver take pieces of it from a shared counter, the copy desk,
// until none is left. Both see both buffers: in the arena by plain loads and stores, elsewhere by a
// single-copy method, the receiver reading and the sender writing. Each receiver has one desk in the segment
// and copies one message at a time, so the desk is its own; the helper is the message's sender.
//
//   receiver                                   sender
//   open: takes the first piece
//   sends an invitation                   ->   comes, if it is inside MPI
//   takes pieces, copies, until none is left   takes pieces, copies, until none is left
//   waits for pieces that the sender took      (goes on with other things)
//   tells the sender that all is copied
//
// Nobody waits for a sender that does not come: the receiver takes all pieces then. A sender that comes when
// the desk serves another message finds another mark on it and leaves. One that dies with a piece in its
// hands, or is refused by the system, has its pieces copied by the receiver.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/layout.h"

namespace hearth::single_copy {

/// A part of a message, from byte `at`.
struct Piece {
  size_t at = 0;
  size_t bytes = 0;
};

/// How long pieces are, in blocks of 4 KiB: a share of what is left between these limits. With `grow` the
/// first one is the shortest and no piece is longer than all before it.
struct PieceSizes {
  size_t blocks_min;
  size_t blocks_max;
  bool grow;
};
/// For plain loads: large ones first, which cost few looks at the counter.
constexpr PieceSizes kPlainPieces = {2, 32, false};
/// For calls of the system, which take pages into their hands before they copy: the shorter the first piece,
/// the sooner the second process has something to do (openmx-single-copy-2009). 16 KiB, then up to 256.
constexpr PieceSizes kSystemPieces = {4, 64, true};

/// Who may help with which message. The number counts a pair's messages that were copied together. It comes
/// round after 65,536, while no more invitations than a ring has lines can be on their way to one sender, so
/// an old invitation never has the mark of a new one.
constexpr uint32_t desk_mark(uint16_t helper, uint16_t number) {
  return uint32_t{helper} << 16 | number;
}

/// One message at a desk. The same in both processes.
struct Message {
  uint32_t mark;
  size_t bytes;
  PieceSizes sizes;
};

/// How a process copies pieces, and what it knows of the other one.
class Copier {
 public:
  /// False when the system refuses: the piece may be half copied.
  virtual bool copy(const Piece& piece) = 0;
  /// For the receiver, asked now and then while it waits: whether the sender's process has ended.
  virtual bool sender_is_gone() { return false; }

 protected:
  ~Copier() = default;
};

/// For the receiver: opens the desk for a message and takes its first piece.
Piece open_desk(shm::CopyDesk& desk, const Message& message);
/// For the receiver: copies that piece and all that it can take, and waits for what the sender took. Whether
/// the message is whole. False only when `copier` fails; the sender has left the message alone then.
bool receive_pieces(shm::CopyDesk& desk, const Message& message, Piece first, Copier& copier);

/// What a sender did.
struct Help {
  size_t bytes = 0;
  bool refused = false;  // the system let it copy nothing more; the receiver knows
};
/// For the sender: takes pieces and copies them until none is left or the desk serves another message.
Help send_pieces(shm::CopyDesk& desk, const Message& message, Copier& copier);

/// For both, and for tests: the next piece; of 0 bytes when none is left or the desk serves another message.
Piece take_piece(shm::CopyDesk& desk, const Message& message);
/// For the sender: a piece that it took is copied.
void report_piece(shm::CopyDesk& desk, const Piece& piece);

}  // namespace hearth::single_copy
