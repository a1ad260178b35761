// A ring carries packets from one process to another: one writer, one reader, no lock, no read-modify-write.
// It lies in shared memory and belongs to the receiver; writer and reader each keep their position in
// memory of their own.
//
//   line 0            credit: written by the reader, read by the writer
//   line 1            empty: processors fetch lines in aligned pairs, and the credit must not come along
//   lines 2..n+1      slots of one cache line; n is a power of two
//
// A packet is one or several consecutive lines, 16 bytes of header in front of the payload:
//
//   | commit word (8) | match word (8) | payload 48 ... | payload goes on in the next lines, no gap |
//
//   commit word = kind 8 | flags 8 | bytes 16 | cookie 32. Zero: no packet here yet.
//
// The writer fills in everything else, clears the commit word of the line behind the packet, and then
// stores the packet's commit word (release). The reader polls that one word (acquire), so a packet of up to
// 48 bytes moves exactly one line between the caches. Clearing the next word first means that whatever old
// payload lies there is never taken for a packet. Then one line more is cleared, which brings that line over:
// a packet of one line finds the word behind it cleared already.
// A packet that would not fit before the end of the ring is preceded by one of kind `pad`.
//
// Invariants: reader.tail <= writer.head <= reader.tail + n - 1; the commit word at writer.head is zero, and
// the one behind it as well while there is room for two lines before the ring's end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"
#include "shm/layout.h"
#include "shm/wait.h"

namespace hearth::shm {

constexpr size_t kHeaderBytes = 16;
/// Lines in front of the slots.
constexpr size_t kRingHeadLines = 2;

/// What stands in front of every packet.
struct PacketHeader {
  uint64_t commit;
  uint64_t match;  // of the layer above: context and tag

  static constexpr uint64_t make_commit(uint8_t kind, uint8_t flags, uint16_t bytes, uint32_t cookie) {
    return uint64_t{kind} | uint64_t{flags} << 8 | uint64_t{bytes} << 16 | uint64_t{cookie} << 32;
  }
  uint8_t kind() const { return static_cast<uint8_t>(commit); }
  uint8_t flags() const { return static_cast<uint8_t>(commit >> 8); }
  uint16_t bytes() const { return static_cast<uint16_t>(commit >> 16); }
  uint32_t cookie() const { return static_cast<uint32_t>(commit >> 32); }
};
static_assert(sizeof(PacketHeader) == kHeaderBytes);

/// Kind of the filler in front of the ring's end; all other kinds but 0 belong to the layer above.
constexpr uint8_t kPadKind = 0xff;

/// The longest payload of a packet of one line.
constexpr size_t kLinePayloadBytes = kLineBytes - kHeaderBytes;

/// Lines that a packet with so many bytes of payload takes.
constexpr uint32_t lines_of(size_t payload_bytes) {
  return static_cast<uint32_t>((kHeaderBytes + payload_bytes + kLineBytes - 1) / kLineBytes);
}

/// The longest payload for a ring of so many lines. Any packet fits once the reader has read everything,
/// wherever the positions stand: with its pad it takes at most 2 * lines - 1, and the reader may hold back
/// the news of a quarter ring.
constexpr size_t payload_bytes_max(uint32_t ring_lines) {
  const size_t bytes = size_t{ring_lines} * 3 / 8 * kLineBytes - kHeaderBytes;
  return bytes < 65535 ? bytes : 65535;
}

/// The reader's word to the writer, in line 0.
struct Credit {
  uint32_t consumed;        // lines read so far, modulo 2^32
  uint32_t unexpected_kib;  // KiB of this writer's messages that wait unmatched at the reader

  uint64_t word() const { return uint64_t{consumed} | uint64_t{unexpected_kib} << 32; }
  static Credit of(uint64_t word) { return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)}; }
};

/// Views of one line.
inline PacketHeader& header_at(std::byte* line) {
  return *reinterpret_cast<PacketHeader*>(line);
}
inline std::byte* payload_at(std::byte* line) {
  return line + kHeaderBytes;
}
inline const PacketHeader& header_at(const std::byte* line) {
  return *reinterpret_cast<const PacketHeader*>(line);
}
inline const std::byte* payload_at(const std::byte* line) {
  return line + kHeaderBytes;
}

class RingWriter {
 public:
  RingWriter() = default;
  /// `memory` is a zeroed ring of `lines` slots that no writer has used yet; `reader` tells the process that
  /// reads it.
  RingWriter(std::byte* memory, uint32_t lines, Bell reader)
      : here_(memory + kRingHeadLines * kLineBytes),
        room_(lines - 1),
        stop_(lines - 1),
        slots_(here_),
        mask_(lines - 1),
        limit_(lines - 1),
        reader_(reader) {}

  bool open() const { return slots_ != nullptr; }

  /// The line where a packet of `payload_bytes` may be written, or nullptr when the reader has not made
  /// room yet. Claiming again without commit gives the same place.
  std::byte* claim(size_t payload_bytes) {
    const uint32_t lines = lines_of(payload_bytes);
    return __builtin_expect(lines <= room_, 1) ? here_ : make_room(lines);
  }
  /// Makes the packet at the claimed place visible. Pre: claim() of the same payload size gave a place, and
  /// the payload has been written there.
  void commit(uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie, uint64_t match) {
    header_at(here_).match = match;
    publish(lines_of(payload_bytes),
            PacketHeader::make_commit(kind, flags, static_cast<uint16_t>(payload_bytes), cookie));
    reader_.ring();
  }

  /// Modulo 2^32.
  uint32_t lines_written() const { return head(); }

  /// claim() for a packet of one line, in the usual case only: otherwise nullptr, and claim() may know
  /// better.
  std::byte* claim_line() { return __builtin_expect(room_ > 2, 1) ? here_ : nullptr; }
  /// commit() for what claim_line() gave.
  void commit_line(uint64_t commit_word, uint64_t match) {
    std::byte* first = here_;
    header_at(first).match = match;
    here_ = first + kLineBytes;
    --room_;
    // As in publish().
    atomic::store_release(header_at(first).commit, commit_word);
    clear(first + 2 * kLineBytes);
    reader_.ring();
  }

  /// Brings the lines over where the next packet of so many bytes will be written, for a writer who has time:
  /// they lie in the reader's cache since they were read, and cost a journey each otherwise. A store does it;
  /// prefetching for writing brought nothing where it was measured. What it clears is nobody's, and
  /// the word at head() stays as it is.
  /// False: not all of them are free yet.
  bool bring_over(size_t payload_bytes) {
    const uint32_t lines = lines_of(payload_bytes);
    if (room_ < lines) refresh();
    const uint32_t to_end = mask_ + 1 - (head() & mask_);
    const bool around = lines > to_end;
    if (limit_ - head() < lines + (around ? to_end : 0)) return false;
    // With the line behind the packet, which publish() clears before anything is seen.
    const uint32_t place = around ? 0 : head() & mask_;
    for (uint32_t line = around ? 0 : 1; line <= lines; ++line) {
      clear(slots_ + size_t{(place + line) & mask_} * kLineBytes);
    }
    return true;
  }

  /// What the reader said last, as far as this writer has looked.
  uint32_t unexpected_kib() const { return unexpected_kib_; }
  /// Looks at the credit line now.
  void look() { refresh(); }
  /// Whether the reader has taken everything (as of now).
  bool drained() {
    refresh();
    return limit_ == head() + mask_;
  }

 private:
  // Lines written so far.
  uint32_t head() const { return stop_ - room_; }

  // Pre: room for `lines` and one more. The release store pairs with the acquire load in RingReader::peek.
  void publish(uint32_t lines, uint64_t commit_word) {
    std::byte* first = here_;
    room_ -= lines;
    here_ += size_t{lines} * kLineBytes;
    if (__builtin_expect(room_ < 2, 0)) renew(head());
    clear(here_);
    atomic::store_release(header_at(first).commit, commit_word);
    if (__builtin_expect(room_ >= 2, 1)) clear(here_ + kLineBytes);
  }
  static void clear(std::byte* line) { atomic::store_relaxed(header_at(line).commit, uint64_t{0}); }

  // What lies before us from `now` on, without looking at the credit line; goes round at the ring's end.
  [[gnu::noinline]] void renew(uint32_t now) {
    const uint32_t place = now & mask_;
    const uint32_t to_end = mask_ + 1 - place;
    const uint32_t credit = limit_ - now;
    here_ = slots_ + size_t{place} * kLineBytes;
    room_ = credit < to_end ? credit : to_end;
    stop_ = now + room_;
    if (room_ >= 2) clear(here_ + kLineBytes);
  }

  [[gnu::noinline]] std::byte* make_room(uint32_t lines) {
    const uint32_t to_end = mask_ + 1 - (head() & mask_);
    const uint32_t wanted = lines <= to_end ? lines : to_end + lines;
    if (limit_ - head() < wanted) refresh();
    if (limit_ - head() < wanted) return nullptr;
    if (lines > to_end) publish(to_end, PacketHeader::make_commit(kPadKind, 0, 0, 0));
    return here_;
  }

  // The acquire load pairs with the release store in RingReader::publish_credit: lines counted as consumed
  // have really been read before we write over them.
  void refresh() {
    const Credit credit =
        Credit::of(atomic::load_acquire(*reinterpret_cast<uint64_t*>(slots_ - kRingHeadLines * kLineBytes)));
    limit_ = credit.consumed + mask_;  // one line stays free for the cleared commit word
    unexpected_kib_ = credit.unexpected_kib;
    renew(head());
  }

  std::byte* here_ = nullptr;  // the line at head()
  uint32_t room_ = 0;          // lines from here_ on that may be written as they lie
  uint32_t stop_ = 0;          // head() when room_ is zero
  std::byte* slots_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t limit_ = 0;  // head() may grow up to here
  uint32_t unexpected_kib_ = 0;
  Bell reader_;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(std::byte* memory, uint32_t lines, Bell writer)
      : here_(memory + kRingHeadLines * kLineBytes), slots_(here_), mask_(lines - 1), writer_(writer) {
    renew(0);
  }

  bool open() const { return slots_ != nullptr; }

  /// The line of the oldest packet not yet consumed, or nullptr.
  std::byte* peek() {
    // Pairs with the release store in RingWriter::publish: header and payload are complete.
    const uint64_t commit = atomic::load_acquire(header_at(here_).commit);
    if (__builtin_expect(commit == 0, 1)) return nullptr;
    if (__builtin_expect(static_cast<uint8_t>(commit) == kPadKind, 0)) {
      skip(mask_ + 1 - (tail() & mask_));
      return peek();
    }
    return here_;
  }
  /// Where the next packet will be, as far as peek_line() may be used there; otherwise nullptr.
  const std::byte* next_line() const { return __builtin_expect(left_ > 1, 1) ? here_ : nullptr; }
  /// The commit word at next_line(), 0 while there is none: for a reader who knows which packet of one line
  /// it wants, and lets peek() see to any other.
  static uint64_t peek_line(const std::byte* line) {
    // As in peek().
    return atomic::load_acquire(header_at(line).commit);
  }
  /// consume() for the packet at next_line().
  void consume_line() {
    here_ += kLineBytes;
    --left_;
  }

  /// Has the processor fetch the lines behind the next packet's first.
  void fetch_ahead() const {
    for (uint32_t line = 1; line <= kFetchAhead; ++line) {
      __builtin_prefetch(slots_ + size_t{(tail() + line) & mask_} * kLineBytes);
    }
  }

  /// Gives the lines of the packet that peek() showed back to the writer, who is told in batches of a quarter
  /// ring: a credit costs a line transfer.
  void consume(size_t payload_bytes) { skip(lines_of(payload_bytes)); }

  /// Tells the writer the present state at once.
  void publish_credit() {
    const Credit credit = {tail(), static_cast<uint32_t>(unexpected_bytes >> 10)};
    // Pairs with the acquire load in RingWriter::refresh.
    atomic::store_release(*reinterpret_cast<uint64_t*>(slots_ - kRingHeadLines * kLineBytes), credit.word());
    published_ = credit.consumed;
    renew(credit.consumed);
    writer_.ring();
  }

  /// Bytes of this writer's messages that wait unmatched; kept by the layer above.
  uint64_t unexpected_bytes = 0;

 private:
  static constexpr uint32_t kFetchAhead = 3;

  // Lines read so far.
  uint32_t tail() const { return turn_ - static_cast<uint32_t>(left_); }

  void skip(uint32_t lines) {
    here_ += size_t{lines} * kLineBytes;
    left_ -= static_cast<int32_t>(lines);
    if (__builtin_expect(left_ <= 0, 0)) turn();
  }

  // At the ring's end, or when the writer is to be told.
  [[gnu::noinline]] void turn() {
    const uint32_t now = tail();
    if (now - published_ >= (mask_ + 1) / 4) {
      publish_credit();
    } else {
      renew(now);
    }
  }
  void renew(uint32_t now) {
    const uint32_t place = now & mask_;
    const uint32_t to_end = mask_ + 1 - place;
    const uint32_t to_credit = (mask_ + 1) / 4 - (now - published_);
    here_ = slots_ + size_t{place} * kLineBytes;
    left_ = static_cast<int32_t>(to_credit < to_end ? to_credit : to_end);
    turn_ = now + static_cast<uint32_t>(left_);
  }

  std::byte* here_ = nullptr;  // the line at tail()
  int32_t left_ = 0;           // lines until the next turn()
  uint32_t turn_ = 0;          // tail() when left_ is zero
  std::byte* slots_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t published_ = 0;  // tail() when the writer was last told
  Bell writer_;
};

}  // namespace hearth::shm
