// Two processes copy one message: sender and receiver take pieces of it from a shared counter, the copy desk,
// until none is left (both must see both buffers: shm/arena.h). Each receiver has one desk in the segment and
// copies one message at a time, so the desk is its own; the helper is the message's sender.
//
//   receiver                                   sender
//   open: takes the first piece
//   sends an invitation                   ->   comes, if it is inside MPI
//   takes pieces, copies, until none is left   takes pieces, copies, until none is left
//   waits for pieces that the sender took      (goes on with other things)
//   tells the sender that all is copied
//
// Nobody waits for a sender that does not come: the receiver takes all pieces then. A sender that comes when
// the desk serves another message finds another mark on it and leaves.
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

/// Who may help with which message. The number counts a pair's messages that were copied together. It comes
/// round after 65,536, while no more invitations than a ring has lines can be on their way to one sender, so
/// an old invitation never has the mark of a new one.
constexpr uint32_t desk_mark(uint16_t helper, uint16_t number) {
  return uint32_t{helper} << 16 | number;
}

/// For the receiver: opens the desk for a message of so many bytes and takes its first piece.
Piece open_desk(shm::CopyDesk& desk, uint32_t mark, size_t bytes);
/// For both: the next piece; of 0 bytes when none is left or the desk serves another message.
Piece take_piece(shm::CopyDesk& desk, uint32_t mark, size_t bytes);
/// For the sender: a piece that it took is copied.
void report_piece(shm::CopyDesk& desk, const Piece& piece);
/// For the receiver: waits until the sender has copied `bytes`, all that the receiver did not.
void await_pieces(const shm::CopyDesk& desk, size_t bytes);

}  // namespace hearth::single_copy
