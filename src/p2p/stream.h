// Long messages under way: the sender's view and the receiver's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "p2p/envelope.h"
#include "p2p/fresh_pages.h"
#include "p2p/match.h"
#include "shm/arena.h"

namespace hearth::p2p {

struct Request;

constexpr int kCellsInFlightMax = 32;

/// A long message that this process sends in pieces. Cells that the receiver still holds are a queue, oldest
/// first; as many as come back may be taken anew.
struct SendStream {
  uint32_t slot;
  uint32_t alive;

  Request* request = nullptr;
  int64_t total_bytes = 0;
  int64_t sent_bytes = 0;
  int64_t next_part_bytes = 0;  // as far as the message is long enough
  bool next_is_longer = false;
  bool travels = false;         // in cells that go to and fro (kept_cells.h)
  bool cleared = false;         // the receiver has matched: the ring may carry fragments
  bool held = false;            // nothing may be sent before clear_to_send or finished
  uint8_t offered = 0;          // the buffer itself is exposed: kSingleCopy or kInArena
  shm::Exposure exposure;       // with kInArena
  bool buffer_awaited = false;  // the transport is to carry the whole buffer, as soon as there is room for it
  bool to_answer = false;       // an invitation to write must still be answered, with these flags
  uint8_t answer_flags = 0;
  bool recalled = false;  // its cells may not be kept any more
  int place = -1;         // in Engine::sending_; -1: not there, being held
  int in_flight = 0;
  int oldest = 0;
  struct Part {
    PeerIndex owner;
    int cell;  // -1: it has come back, with an answer in it
    uint32_t ticket;
  };
  std::array<Part, kCellsInFlightMax> parts;

  /// The receiver has sent us a part in that cell: it has emptied it, although the mark does not say so.
  void note_answer(PeerIndex owner, int cell) {
    for (int i = 0; i < in_flight; ++i) {
      Part& part = parts[static_cast<size_t>((oldest + i) % kCellsInFlightMax)];
      if (part.cell == cell && part.owner == owner) part.cell = -1;
    }
  }
};

/// A long message that arrives in pieces; unmatched ones keep what has been announced.
struct ReceiveStream {
  uint32_t slot;
  uint32_t alive;

  PeerIndex from = 0;
  uint32_t cookie = 0;  // of the sender's request
  uint8_t flags = 0;
  uint64_t address = 0;  // in the sender
  int64_t total_bytes = 0;
  int64_t announced_bytes = 0;
  int64_t copied_bytes = 0;
  Request* request = nullptr;   // once matched
  FreshPages fresh;             // of its buffer
  bool asked_to_write = false;  // the sender has been given the receive buffer
  bool buffer_awaited = false;  // the transport has been given it
  bool keeps_cells = false;     // that are emptied (kept_cells.h)
  int place = -1;               // in Peer::streams; -1: not there, nothing more is to come for now
  std::vector<CellPart> parts;  // announced before the match
};

/// A message that came before its receive was posted. Eager payloads of a line are kept inside.
struct UnexpectedMessage : MatchMessage {
  UnexpectedMessage() {}  // NOLINT(modernize-use-equals-default): see MatchEntry

  uint32_t slot;
  uint32_t alive;

  uint8_t flags = 0;
  uint32_t cookie = 0;
  int64_t bytes = 0;
  ReceiveStream* stream = nullptr;  // of a long message
  std::byte* payload = nullptr;     // of an eager one: `own` or a block of malloc
  std::byte own[shm::kLineBytes - shm::kHeaderBytes];
};

// Lists in no particular order, whose members know their places: thousands may be under way.
template <class Stream>
void list(std::vector<Stream*>& streams, Stream& stream) {
  stream.place = static_cast<int>(streams.size());
  streams.push_back(&stream);
}
template <class Stream>
void unlist(std::vector<Stream*>& streams, Stream& stream) {
  if (stream.place < 0) return;
  streams.back()->place = stream.place;
  streams[static_cast<size_t>(stream.place)] = streams.back();
  streams.pop_back();
  stream.place = -1;
}

}  // namespace hearth::p2p
