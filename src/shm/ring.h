// A ring carries packets from one process to another: one writer, one reader, no lock, no read-modify-write.
// It lies in shared memory and belongs to the receiver; writer and reader each keep their position in private
// memory.
//
//   line 0            credit: written by the reader, read by the writer
//   line 1            empty: processors fetch lines in aligned pairs; keeps slots out of the credit's pair
//   lines 2..n+1      slots of half a cache line; n is a power of two
//
// A packet takes one or several consecutive slots: a header of 16 bytes, then the payload. So two messages of
// up to 16 bytes share a line, because the rate of messages is limited by the number of lines that move from
// one cache to the other.
//
//   | commit word (8) | match word (8) | payload 16 ... | payload goes on in the next slots, no gap |
//
//   commit word = kind 6 | lap 2 | flags 7 | bytes 17 | cookie 32
//
// The writer fills in everything else and then stores the packet's commit word (release). The reader polls
// that word (acquire). The lap, 1, 2, 3, 1, ... in successive rounds, never 0, distinguishes it from the
// previous contents. Most words after a packet are commit words of the previous lap, or zero, which the
// reader ignores. A word that was overwritten by payload may have any value. The writer records such words (a
// bit for each slot, in private memory) and stores zero there before it publishes the packet in front of
// them. So a stream of short messages writes each line once, and no other line. If a packet does not fit
// before the end of the ring, a packet of kind `pad` fills the rest.
//
// Invariants: reader.tail <= writer.head < reader.tail + slots; the word at writer.head is not of its lap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"
#include "base/packet_header.h"
#include "shm/layout.h"
#include "shm/wait.h"
#include "shm/write_prefetch.h"

namespace hearth::shm {

using hearth::PacketHeader;
constexpr size_t kHeaderBytes = kPacketHeaderBytes;
constexpr size_t kSlotBytes = kLineBytes / 2;
/// Lines before the slots.
constexpr size_t kRingHeadLines = 2;

/// Laps, at their position in the commit word: the bits that PacketHeader reserves for the transport.
constexpr uint64_t kLapMask = 0xc0;
constexpr uint64_t kFirstLap = 0x40;
constexpr uint64_t lap_after(uint64_t lap) {
  return lap == kLapMask ? kFirstLap : lap + kFirstLap;
}

/// Kind of the packet that fills the rest of the ring; all other kinds belong to the layer above.
constexpr uint8_t kPadKind = 0x3f;

/// The longest payload of a packet that is no longer than a cache line.
constexpr size_t kLinePayloadBytes = kLineBytes - kHeaderBytes;

/// Slots of a packet with this payload.
constexpr uint32_t slots_of(size_t payload_bytes) {
  return static_cast<uint32_t>((kHeaderBytes + payload_bytes + kSlotBytes - 1) / kSlotBytes);
}
/// The same for at most kLinePayloadBytes.
constexpr uint32_t slots_of_short(size_t payload_bytes) {
  return payload_bytes <= kSlotBytes - kHeaderBytes ? 1 : 2;
}

/// The longest payload for a ring with this many lines. Any packet fits once the reader has read everything,
/// at any position: with its pad and the slot after it, it takes at most three quarters of the ring, and the
/// reader may delay the credit for a quarter.
constexpr size_t payload_bytes_max(uint32_t ring_lines) {
  const size_t bytes = size_t{ring_lines} * 3 / 8 * kLineBytes - kHeaderBytes;
  return bytes < 65535 ? bytes : 65535;
}

/// Flow control from the reader to the writer, in line 0.
struct Credit {
  uint32_t consumed;        // slots read so far, modulo 2^32
  uint32_t unexpected_kib;  // KiB of this writer's unexpected messages at the reader

  uint64_t word() const { return uint64_t{consumed} | uint64_t{unexpected_kib} << 32; }
  static Credit of(uint64_t word) { return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)}; }
};

/// The processes of a ring, for error messages.
struct RingEnds {
  int from = -1;
  int to = -1;
};

/// Slots that the reader has acknowledged, modulo 2^32, for tools.
inline uint32_t slots_consumed(const std::byte* ring) {
  return Credit::of(atomic::load_relaxed(*reinterpret_cast<const uint64_t*>(ring))).consumed;
}

/// Access to a packet by its first slot.
inline PacketHeader& header_at(std::byte* slot) {
  return *reinterpret_cast<PacketHeader*>(slot);
}
inline std::byte* payload_at(std::byte* slot) {
  return slot + kHeaderBytes;
}
inline const PacketHeader& header_at(const std::byte* slot) {
  return *reinterpret_cast<const PacketHeader*>(slot);
}
inline const std::byte* payload_at(const std::byte* slot) {
  return slot + kHeaderBytes;
}

class RingWriter {
 public:
  RingWriter() = default;
  /// `memory` is a zeroed ring of `lines` that no writer has used yet; `reader` wakes the process that reads
  /// it; `notes` are note_words(lines) words of private memory, which must outlive the writer.
  RingWriter(std::byte* memory, uint32_t lines, WakeWord reader, uint64_t* notes, RingEnds ends = {})
      : slots_(memory + kRingHeadLines * kLineBytes),
        stop_(2 * lines),
        clean_(notes),
        count_(2 * lines),
        reader_(reader),
        ends_(ends) {
    std::fill_n(notes, note_words(lines), ~uint64_t{0});
  }
  static constexpr size_t note_words(uint32_t lines) { return (2 * size_t{lines} + 63) / 64; }

  bool open() const { return slots_ != nullptr; }

  /// Where to write a packet with this payload; nullptr if the ring is full. Another claim without commit
  /// returns the same slot.
  std::byte* claim(size_t payload_bytes) {
    const uint32_t slots = slots_of(payload_bytes);
    return __builtin_expect(place_ + slots < stop_, 1) ? at(place_) : make_room(slots);
  }
  /// Publishes the packet in the claimed slot. Pre: claim() of the same payload size has returned a slot, and
  /// the payload has been written there.
  void commit(uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie, uint64_t match) {
    header_at(at(place_)).match = match;
    publish(slots_of(payload_bytes),
            PacketHeader::make_commit(kind, flags, static_cast<uint32_t>(payload_bytes), cookie));
    reader_.wake();
  }

  /// Modulo 2^32.
  uint32_t slots_written() const { return head(); }
  /// Packets that commit_short() has published, modulo 2^32.
  uint32_t short_packets_written() const { return head() - other_slots_; }
  /// Limits claim_short() to that many packets until claim() is called, for a caller that must see one
  /// message out of that many; the last limit counts. The limit ends early at the end of the ring.
  void limit_short(uint32_t packets) {
    renew();
    if (packets + 2 < stop_ - place_) stop_ = place_ + packets + 2;
  }

  /// claim() for a packet of at most kLinePayloadBytes, without updating the credit: if it returns nullptr,
  /// claim() may still succeed.
  std::byte* claim_short() { return __builtin_expect(place_ + 2 < stop_, 1) ? at(place_) : nullptr; }
  /// commit() for a slot from claim_short(); `slots` is slots_of_short().
  [[gnu::always_inline]] void commit_short(uint32_t slots, uint64_t commit_word, uint64_t match) {
    const uint32_t place = place_;
    std::byte* slot = at(place);
    header_at(slot).match = match;
    if (slots == 2) {
      spoil(place + 1, place + 2);
      ++other_slots_;
    }
    place_ = place + slots;
    make_clean(place_);
    // As in publish().
    atomic::store_release(header_at(slot).commit, commit_word | lap_);
    if (slots == 2) take_next_line();
    reader_.wake();
  }

  /// Prefetches for write the lines of the next packet with this payload; called while the writer is idle.
  /// The lines are in the reader's cache since it read them, and would cost a cache miss each. Stores zeros,
  /// because prefetch instructions for writing gained nothing where it was measured. The cleared slots are
  /// free, and the line that the reader polls is not written. Returns false if some of the slots are not free
  /// yet; true also if prefetching gains nothing (shm/write_prefetch.h), since stores do not wait for the
  /// lines then.
  bool prefetch_for_write(size_t payload_bytes) {
    return write_prefetch_.run([&] { return clear_room(payload_bytes); }) || !write_prefetch_.pays();
  }

  /// KiB of this writer's unexpected messages, as of the last update of the credit.
  uint32_t unexpected_kib() const { return unexpected_kib_; }
  /// Updates the credit.
  void update_credit() { refresh(); }
  /// Whether the reader has read everything. Updates the credit.
  bool drained() {
    refresh();
    return free() == count_;
  }

 private:
  std::byte* at(uint32_t place) const { return slots_ + size_t{place} * kSlotBytes; }
  // Slots written so far.
  uint32_t head() const { return base_ + place_; }
  // Free slots from head() on, as of the last update of the credit.
  uint32_t free() const { return consumed_ + count_ - head(); }

  // Pre: room for `slots` and one more. The release store pairs with the acquire load in RingReader::peek.
  void publish(uint32_t slots, uint64_t commit_word) {
    std::byte* first = at(place_);
    const uint64_t lap = lap_;
    if (slots > 1) spoil(place_ + 1, place_ + slots);
    place_ += slots;
    other_slots_ += slots;
    // The ring's first slot always holds a commit word of the previous lap.
    if (__builtin_expect(place_ == count_, 0)) {
      go_round();
    } else {
      make_clean(place_);
    }
    atomic::store_release(header_at(first).commit, commit_word | lap);
    take_next_line();
  }

  // A slot is clean if its first word cannot be mistaken for a commit word when the writer reaches it next.
  void spoil(uint32_t slot, uint32_t end) {
    for (; slot < end; slot += 64 - slot % 64) clean_[slot / 64] &= ~mask_of(slot, end);
  }
  void make_clean(uint32_t slot) {
    if (__builtin_expect((clean_[slot / 64] >> (slot % 64) & 1) == 0, 0)) clear(slot);
  }
  void clear(uint32_t slot) {
    clean_[slot / 64] |= uint64_t{1} << (slot % 64);
    zero(slot);
  }
  void zero(uint32_t slot) { atomic::store_relaxed(header_at(at(slot)).commit, uint64_t{0}); }
  // Mask for the word of clean_ that contains `slot`: the bits from `slot` on, up to `end`.
  static uint64_t mask_of(uint32_t slot, uint32_t end) {
    const uint32_t to_end = end - slot < 64 - slot % 64 ? end - slot : 64 - slot % 64;
    return ~uint64_t{0} >> (64 - to_end) << (slot % 64);
  }

  // The first slot of the next line.
  static uint32_t line_behind(uint32_t slot) { return (slot + 2) & ~1u; }
  // Clears the first slot of the next line, so that the line is in the cache for a packet that begins or
  // continues there. The store becomes visible after the earlier stores, so it delays none of them.
  void take_next_line() {
    if (const uint32_t slot = line_behind(place_); slot < stop_) clear(slot);
  }

  void go_round() {
    place_ = 0;
    base_ += count_;
    lap_ = lap_after(lap_);
    renew();
  }
  // Computes how far the writer may write without reading the credit line.
  void renew() { stop_ = free() < count_ - place_ ? place_ + free() : count_; }

  [[gnu::noinline]] std::byte* make_room(uint32_t slots) {
    const uint32_t to_end = count_ - place_;
    const uint32_t wanted = slots <= to_end ? slots : to_end + slots;
    // One slot stays free: the one after the packet may have to be cleared.
    if (free() <= wanted) refresh();
    if (free() <= wanted) return nullptr;
    if (slots > to_end) publish(to_end, PacketHeader::make_commit(kPadKind, 0, 0, 0));
    return at(place_);
  }

  // The acquire load pairs with the release store in RingReader::publish_credit: slots counted as consumed
  // have been read before the writer overwrites them.
  void refresh() {
    const Credit credit =
        Credit::of(atomic::load_acquire(*reinterpret_cast<uint64_t*>(slots_ - kRingHeadLines * kLineBytes)));
    if (__builtin_expect(head() - credit.consumed > count_, 0)) refuse(credit);
    consumed_ = credit.consumed;
    unexpected_kib_ = credit.unexpected_kib;
    renew();
  }

  bool clear_room(size_t payload_bytes) {
    const uint32_t slots = slots_of(payload_bytes);
    if (place_ + slots >= stop_) refresh();
    const uint32_t to_end = count_ - place_;
    const bool around = slots > to_end;
    if (free() <= slots + (around ? to_end : 0)) return false;
    // Including the slot after the packet.
    const uint32_t first = around ? 0 : line_behind(place_);
    const uint32_t last = (around ? 0 : place_) + slots;
    const uint32_t end = last < count_ ? last + 1 : count_;
    for (uint32_t slot = first; slot < end; slot += 2) zero(slot);
    for (uint32_t slot = first; slot < end; slot += 64 - slot % 64) {
      clean_[slot / 64] |= kEvenSlots & mask_of(slot, end);
    }
    return true;
  }

  // The count is corrupt if it exceeds the slots written or is less than a previous count.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const Credit& credit) const;

  static constexpr uint64_t kEvenSlots = 0x5555555555555555;

  std::byte* slots_ = nullptr;
  uint32_t place_ = 0;         // slot of the next packet
  uint32_t stop_ = 0;          // a packet that ends before it needs no check of the credit
  uint64_t* clean_ = nullptr;  // a bit for each slot
  uint64_t lap_ = kFirstLap;
  uint32_t count_ = 0;  // slots
  uint32_t base_ = 0;   // slots written in former laps
  uint32_t consumed_ = 0;
  uint32_t unexpected_kib_ = 0;
  uint32_t other_slots_ = 0;  // slots written, minus the number of short packets
  WakeWord reader_;
  RingEnds ends_;
  WritePrefetch write_prefetch_;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(std::byte* memory, uint32_t lines, WakeWord writer, RingEnds ends = {})
      : slots_(memory + kRingHeadLines * kLineBytes), count_(2 * lines), writer_(writer), ends_(ends) {
    renew();
  }

  bool open() const { return slots_ != nullptr; }

  /// The oldest packet not yet consumed, or nullptr.
  std::byte* peek() {
    // Pairs with the release store in RingWriter::publish: header and payload are complete.
    const uint64_t commit = atomic::load_acquire(header_at(at(place_)).commit);
    if (__builtin_expect((commit & kLapMask) != lap_, 1)) return nullptr;
    if (__builtin_expect((commit & 0x3f) == kPadKind, 0)) {
      other_slots_ += count_ - place_;
      place_ = count_;
      turn();
      return peek();
    }
    return at(place_);
  }
  /// Whether the packet from peek() can have this length: no packet extends beyond the end of the ring. A
  /// packet of at most kLinePayloadBytes at next_slot() always fits.
  bool holds(size_t payload_bytes) const { return slots_of(payload_bytes) <= count_ - place_; }
  /// Reports a packet that does not fit.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const PacketHeader& header) const;
  /// The slot of the next packet, if peek_word() may be used on it; otherwise nullptr.
  const std::byte* next_slot() const {
    return __builtin_expect(place_ + 2 < stop_, 1) ? at(place_) : nullptr;
  }
  /// Adds the current lap to a commit word of lap 0.
  uint64_t commit_word(uint64_t of_lap_0) const { return of_lap_0 | lap_; }
  /// The word at next_slot(), for a reader that accepts only certain packets of at most kLinePayloadBytes and
  /// leaves all others to peek().
  static uint64_t peek_word(const std::byte* slot) {
    // As in peek().
    return atomic::load_acquire(header_at(slot).commit);
  }
  /// Whether such a word is a commit word of a packet.
  bool is_packet(uint64_t word) const { return (word & kLapMask) == lap_; }
  /// consume() for a packet of slots_of_short() slots at next_slot().
  void consume_short(uint32_t slots) {
    if (slots == 2) ++other_slots_;
    place_ += slots;
  }
  /// Packets consumed by consume_short(), modulo 2^32.
  uint32_t short_packets_read() const { return tail() - other_slots_; }
  /// Limits next_slot() to that many packets until peek() is called; the last limit counts. The limit ends
  /// when a credit is published, or at the end of the ring.
  void limit_short(uint32_t packets) {
    renew();
    if (packets + 2 < stop_ - place_) stop_ = place_ + packets + 2;
  }
  void lift_limit() { renew(); }

  /// Prefetches the lines after the first line of the next packet.
  void fetch_ahead() const {
    for (uint32_t line = 1; line <= kFetchAhead; ++line) {
      __builtin_prefetch(at((place_ + 2 * line) & (count_ - 1)));
    }
  }

  /// Releases the slots of the packet from peek(). Publishes the credit once per quarter of the ring, because
  /// each credit costs a line transfer.
  void consume(size_t payload_bytes) {
    const uint32_t slots = slots_of(payload_bytes);
    place_ += slots;
    other_slots_ += slots;
    if (__builtin_expect(place_ >= stop_, 0)) turn();
  }

  /// Publishes the credit now.
  void publish_credit() {
    const Credit credit = {tail(), static_cast<uint32_t>(unexpected_bytes >> 10)};
    // Pairs with the acquire load in RingWriter::refresh.
    atomic::store_release(*reinterpret_cast<uint64_t*>(slots_ - kRingHeadLines * kLineBytes), credit.word());
    published_ = credit.consumed;
    renew();
    writer_.wake();
  }

  /// Bytes of this writer's unexpected messages; maintained by the layer above.
  uint64_t unexpected_bytes = 0;

 private:
  static constexpr uint32_t kFetchAhead = 3;

  std::byte* at(uint32_t place) const { return slots_ + size_t{place} * kSlotBytes; }
  // Slots read so far.
  uint32_t tail() const { return base_ + place_; }

  // Called at the ring's end, or when a credit is due.
  [[gnu::noinline]] void turn() {
    if (place_ == count_) {
      place_ = 0;
      base_ += count_;
      lap_ = lap_after(lap_);
    }
    if (tail() - published_ >= count_ / 4) {
      publish_credit();
    } else {
      renew();
    }
  }
  void renew() {
    const uint32_t to_credit = count_ / 4 - (tail() - published_);
    stop_ = to_credit < count_ - place_ ? place_ + to_credit : count_;
  }

  std::byte* slots_ = nullptr;
  uint32_t place_ = 0;  // slot of the next packet
  uint32_t stop_ = 0;   // where the next turn() is due
  uint64_t lap_ = kFirstLap;
  uint32_t count_ = 0;        // slots
  uint32_t base_ = 0;         // slots read in former laps
  uint32_t published_ = 0;    // tail() in the last published credit
  uint32_t other_slots_ = 0;  // as in the writer
  WakeWord writer_;
  RingEnds ends_;
};

}  // namespace hearth::shm
