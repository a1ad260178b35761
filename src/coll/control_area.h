// Control areas: where the processes of a communicator meet in collectives, by loads and stores instead of
// messages.
//
// An area is part of the shared segment (shm/layout.h) and has a row for each process of the job:
//
//   row  | slot 0 | slot 1 | ... | slot 7 | done | produced | consumed |
//   slot | word: number of the collective, bytes, behind | payload |
//
// and, in memory of its own, the wide part of each slot, for what is longer than its payload, and chunks
// (coll/chunk_ring.h).
//
// Small collectives of a communicator that go through its area are numbered, alike on all ranks. In number n
// a process says what it has to say in slot n % 8 of its own row, and reads the slots of others. It may write
// a slot again when all others are through with the collective that used it last, which they say in `done`
// and, on the way, in their words. Whether a collective goes through the area depends only on what all ranks
// know alike: its kind, its size in bytes, and whether there is an area.
//
// Areas are few. One process takes an area for all members of what is being made, tells its number together
// with the context (abi/comm_making.h), and has counted them before. Everyone who was told leaves once: when
// its communicator ends, or at once where none comes of it. The last one clears the rows and gives the area
// back. Who leaves writes nothing there any more, but its row stays for the others to read. A process that
// dies is taken out by those who hear of it (p2p/failure.cpp), and what it was about to do, to take an area
// or to clear one, somebody else finishes: a word of each area says who is at work on it (shm/layout.h).
//
// Where one dies before all have been told, some may never be: the dead one was to tell them, or their call
// has ended with the death, or will. Whether word of the area is on its way they cannot know, and need not.
// Who was counted is written in the area. A process that finds itself counted there together with one that
// it knows to be dead, and has not been told of the area, leaves. If it is told later, that is too late, and
// accept() says so: the number that is told has the area's turn in it, and this process, which has left
// in that turn, counts again in a later one only. What was being made goes on without an area then, which
// makes no difference, for it has a member that this process knows to be dead, and so no collectives here. A
// part of a split may have none: there the call fails, as it may after the death of a member of what is
// split. So everyone leaves once, told or not; who has been told, and where nobody has died, nothing changes.
//
// A persistent operation has an area to itself. Ranks may start several in different orders (MPI 5.0 section
// 6.13 orders only what makes them), so that a start has no number among the communicator's collectives;
// among the starts of one operation it has, and in an area of its own everything else is as it is for a
// communicator: slots, chunks, leaving. Making one is collective and need not be local, so rank 0 takes the
// area and tells it by a broadcast. Half of the areas are left to communicators; an operation that gets none
// uses messages.
//
// Used under the library's lock. docs/design/memory_model.md argues the order of loads and stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/atomic.h"
#include "base/chaos.h"
#include "coll/chunk_ring.h"
#include "coll/disagreement.h"
#include "coll/footprint.h"
#include "coll/hierarchy.h"
#include "coll/select.h"
#include "objects/comm.h"
#include "shm/arena.h"
#include "shm/layout.h"
#include "shm/segment.h"
#include "shm/wait.h"

namespace hearth::coll {

/// What the word of a slot says of a small collective:
///
///   bit  60         50      46      32       0
///        | behind   | turns | kind  | bytes  | number
///
/// number   of the collective
/// bytes    how many lie behind the word; those that do not fit there lie in the slot's wide part
/// kind     a Collective
/// turns    how many long collectives were called before (the low bits): with the number, its place among all
/// behind   how many collectives up to this one are not over in that process, 1 to 8
struct Said {
  static constexpr uint32_t kBytes = 0x3fff;
  static constexpr uint32_t kTurns = 0x3ff;
  static_assert(shm::kWidePayloadBytes <= kBytes);

  uint64_t word;

  uint32_t number() const { return static_cast<uint32_t>(word); }
  /// Bytes, kind and turns: on every rank what the others expect.
  uint32_t what() const { return static_cast<uint32_t>(word >> 32) & 0x0fff'ffff; }
  int64_t bytes() const { return static_cast<int64_t>(word >> 32 & kBytes); }
  Collective kind() const { return static_cast<Collective>(word >> 46 & 15); }
  /// Whether so many long collectives came before, as far as it can be told.
  bool is_after(uint64_t turns) const { return (word >> 50 & kTurns) == (turns & kTurns); }
  uint32_t behind() const { return static_cast<uint32_t>(word >> 60); }
};
constexpr uint32_t what_of(int64_t bytes, Collective kind, uint64_t turns) {
  return static_cast<uint32_t>(bytes) | static_cast<uint32_t>(kind) << 14 |
         static_cast<uint32_t>(turns & Said::kTurns) << 18;
}
constexpr Said said_of(uint32_t number, uint32_t what, uint32_t behind) {
  return {number | uint64_t{what} << 32 | uint64_t{behind} << 60};
}

/// What a process announces of a long collective, by its turn, beside `produced`: the low bits of the turn
/// and of the number of small ones called before, the kind, and the bytes that all ranks should agree on.
struct Announced {
  static constexpr int64_t kBytesMax = (int64_t{1} << 36) - 1;  // stands for more as well

  uint64_t word;

  int64_t bytes() const { return static_cast<int64_t>(word & uint64_t{kBytesMax}); }
  Collective kind() const { return static_cast<Collective>(word >> 36 & 15); }
  uint8_t lines() const { return static_cast<uint8_t>(word >> 40); }
  uint16_t turn() const { return static_cast<uint16_t>(word >> 48); }
};
/// The turn counts from 1: a word that says nothing is 0.
constexpr Announced announced_of(uint64_t turn, uint32_t lines, Collective kind, int64_t bytes) {
  return {static_cast<uint64_t>(std::min(bytes, Announced::kBytesMax)) | static_cast<uint64_t>(kind) << 36 |
          uint64_t{lines & 0xff} << 40 | (turn & 0xffff) << 48};
}

/// This process's view of the area of one communicator, or of one persistent operation. Ranks are those of
/// the communicator; where it is on several machines, places among its processes on this one.
class ControlArea {
 public:
  // Life.

  /// Before the first communicator: where areas are, which process of the segment this one is, the memory in
  /// which processes read each other's data, and the number of each process of the job in the segment; empty:
  /// all are in it, in their order. All outlive the areas.
  static void set_up(const shm::Segment& segment, int own_place, shm::Arena* arena = nullptr,
                     std::span<const int> places = {});
  /// Takes an area for these processes, of which this one is told thereby; kNoArea where none is left, or it
  /// would not be worth it. What is told of an area is its place among all and its turn, in one number.
  static int32_t take(std::span<const objects::PeerIndex> members);
  /// The same, as long as half of the areas are left; who takes one at the same moment is not counted.
  static int32_t take_for_operation(std::span<const objects::PeerIndex> members);
  /// Of a process that has been told of an area: that one, to be left once; kNoArea where this process has
  /// left it before, since another one has died.
  static int32_t accept(int32_t told);
  /// Whether a word that came from elsewhere can be one of an area, or kNoArea.
  static bool can_be(int32_t told);
  /// Its place among all.
  static int index_of(int32_t area) { return area % static_cast<int32_t>(shm::kAreasMax); }
  /// Of a process that was counted: it will not touch the area any more.
  static void leave(int32_t area) { leave(area, own_place_); }
  /// The same of the process with that number in the segment. Counts once.
  static void leave(int32_t area, int place);
  /// Leaves all areas for a process that has died.
  static void leave_all(int place);
  /// Leaves the areas of which this process was not told, and of whose members it knows one to be dead.
  static void leave_untold();
  /// Of all its processes; nullptr when it has none.
  static ControlArea* of(objects::Comm& comm) {
    if (__builtin_expect(comm.control != nullptr, 1)) return comm.control;
    if (comm.area == objects::kNoArea || comm.group->machines != nullptr) return nullptr;
    return enter(comm, comm.control, comm.area);
  }
  /// Of a communicator on several machines: where its processes on this machine meet. nullptr when they have
  /// not agreed on an area (Comm::area_settled), or there is none.
  static ControlArea* on_machine(objects::Comm& comm) {
    if (comm.machine_control != nullptr || comm.area == objects::kNoArea) return comm.machine_control;
    return enter(comm, comm.machine_control, comm.area);
  }
  /// A view of an area that was taken for an operation. It ends with close(), which leaves the area.
  static ControlArea* open(objects::Comm& comm, int32_t area) {
    ControlArea* view = nullptr;
    return enter(comm, view, area);
  }
  static void close(ControlArea* view);
  /// How many areas of the job are taken, for the tool interface.
  static uint64_t count_taken();

  /// Nothing begins here any more: a member has died, or the communicator was revoked.
  void close_ways();
  /// The same of the communicator, for whoever waits here; ok when neither is so.
  Status failure() const { return __builtin_expect(comm_.failure == 0, 1) ? Status() : failed(); }

  int rank() const { return rank_; }
  int size() const { return size_; }
  objects::PeerIndex process(int rank) const { return peers_[rank]; }

  // Small collectives, by number.

  /// The longest that a process may say in one of this kind, where everyone hears everyone (coll/lines.h); -1
  /// where other algorithms are better or wished.
  int64_t line_bytes_max(Collective collective) const {
    return line_bytes_max_[static_cast<size_t>(collective)];
  }
  /// The longest that it may give where they meet in groups (coll/tree_lines.h), likewise.
  int64_t tree_bytes_max(Collective collective) const {
    return tree_bytes_max_[static_cast<size_t>(collective)];
  }
  /// The longest vector of an allreduce through chunks that every rank reduces whole.
  int64_t whole_bytes_max() const { return whole_bytes_max_; }
  /// Finds them out anew, when wishes have changed (coll/select.h). Called alike on all ranks.
  void choose_ways();
  /// The groups, by what the ranks share or by their numbers alone. Made when first asked for.
  const Hierarchy& hierarchy(bool by_place) {
    const std::unique_ptr<Hierarchy>& groups = hierarchies_[by_place ? 1 : 0];
    return __builtin_expect(groups != nullptr, 1) ? *groups : make_hierarchy(by_place);
  }
  /// The number of the next one: each takes one on every rank, in the order in which they are called.
  uint32_t next_number() { return ++begun_; }
  shm::ControlSlot& own_slot(uint32_t number) const { return own_->slots[number % shm::kControlSlots]; }
  /// Where so many bytes are said: in the own slot, or its wide part.
  std::byte* own_payload(uint32_t number, int64_t bytes) const {
    return bytes <= shm::kSlotPayloadBytes ? own_slot(number).payload : wide_part(rank_, number);
  }
  /// Where those are that a rank said. A word with more of them than a slot has, where there are no wide
  /// parts, is none of ours.
  const std::byte* payload(int rank, const shm::ControlSlot& slot, const Said& said) const {
    const bool is_wide = said.bytes() > shm::kSlotPayloadBytes && !wide_parts_.empty();
    return __builtin_expect(is_wide, 0) ? wide_part(rank, said.number()) : slot.payload;
  }
  /// Of this process: for two operands of a reduction as long as a wide part, while it is in a call that
  /// waits.
  std::byte* wide_room() {
    if (wide_room_ == nullptr)
      wide_room_ = std::make_unique_for_overwrite<std::byte[]>(2 * shm::kWidePayloadBytes);
    return wide_room_.get();
  }
  /// Whether nobody reads what was said in that slot before; if not, `awaited` is one of those who may.
  bool may_write(uint32_t number, objects::PeerIndex& awaited) {
    if (__builtin_expect(number - done_by_all_ <= shm::kControlSlots, 1)) return true;
    return look_who_is_done(number, awaited);
  }
  /// Shows what has been put into the own slot. Pairs with hear().
  void say(uint32_t number, uint32_t what) { say(number, what, number - done_); }
  /// The same on behalf of others too: `behind` is the most of all of them.
  void say(uint32_t number, uint32_t what, uint32_t behind) {
    chaos::at(chaos::Point::row_half_written);
    const Said said = said_of(number, what, behind);
    atomic::store_release(own_slot(number).word, said.word);
    const bool is_wide = said.bytes() > shm::kSlotPayloadBytes;
    footprint::writes(&own_slot(number),
                      static_cast<int64_t>(sizeof said.word) + (is_wide ? 0 : said.bytes()));
    if (is_wide) footprint::writes(own_payload(number, said.bytes()), said.bytes());
    chaos::at(chaos::Point::row_shown);
  }
  /// How many collectives up to this one are not over here.
  uint32_t behind(uint32_t number) const { return number - done_; }
  /// What a rank says in a collective; false as long as it has not.
  bool hear(int rank, uint32_t number, const shm::ControlSlot*& slot, Said& said) const {
    slot = &rows_[static_cast<size_t>(rank)]->slots[number % shm::kControlSlots];
    said = {atomic::load_acquire(slot->word)};
    if (said.number() != number) return false;
    footprint::reads(slot, sizeof slot->word);
    return true;
  }
  /// All have said in this collective that they are behind it by no more than this.
  void learn(uint32_t number, uint32_t behind) {
    const uint32_t done = number - std::max(behind, number - done_);
    if (static_cast<int32_t>(done - done_by_all_) > 0) done_by_all_ = done;
  }
  /// It is over here: nothing of it will be read any more.
  void end(uint32_t number) {
    chaos::at(chaos::Point::collective_ends);
    if (__builtin_expect(number - done_ == 1 && ended_ == 0, 1)) {
      ++done_;
    } else {
      end_out_of_turn(number);
    }
    if (done_ - done_shown_ >= shm::kControlSlots / 2) show_done();
  }

  // Long ones.

  shm::ControlRow& own_row() const { return *own_; }
  shm::ControlRow& row(int rank) const { return *rows_[static_cast<size_t>(rank)]; }
  /// Memory for long collectives; its words are in the rows. Reading that of others is allowed once they have
  /// said in such a word that there is something.
  std::span<std::byte> chunks(int rank) const;
  ChunkRing& chunk_ring() { return chunk_ring_; }

  // Data that others read where they lie.

  /// Says to the others that this process reads their windows of the arena, if it does.
  void offer_to_read() {
    if (__builtin_expect(!has_offered_to_read_, 0)) map_windows();
  }
  /// Whether all others can read these bytes where they lie.
  bool can_lend(const void* place, int64_t bytes) {
    return arena_ != nullptr && arena_->holds(place, static_cast<size_t>(bytes)) &&
           (all_read_ || look_who_reads());
  }
  /// Pre: can_lend().
  uint64_t offset_of(const void* place) const { return arena_->offset_of(place); }
  /// What a rank lends, at that offset in its window.
  const std::byte* lent_by(int rank, uint64_t offset, int64_t bytes) const;

  // Ranks that disagree: one is in a small collective where another is in a long one, or in one of another
  // kind or length. Who waits for a rank looks at what it says and announces, so that this is an error and no
  // silence. From then on the numbers of the two differ: whoever has seen it says so in its row, and all who
  // wait for it have an error too.

  /// How many small ones were called here.
  uint32_t lines_begun() const { return begun_; }
  /// Of the turn that has just been taken.
  void announce(const Announced& announced) {
    atomic::store_release(announcement(*own_, announced.turn()), announced.word);
  }
  /// Whether a rank has announced something for this turn, as far as it is remembered.
  bool has_announced(int rank, uint64_t turn, Announced& announced) const {
    announced = {atomic::load_acquire(announcement(row(rank), static_cast<uint16_t>(turn)))};
    return announced.word != 0 && announced.turn() == static_cast<uint16_t>(turn);
  }
  bool is_out_of_step(int rank) const { return atomic::load_acquire(row(rank).consumed[kOutOfStep]) != 0; }
  /// This process takes no part any more, and shows why: what it saw of another, and where it is itself.
  [[gnu::cold]] Status fall_out_of_step(const Disagreement& other, const Disagreement& own);
  /// Likewise, since that rank takes no part or has come another way; what it shows is shown on.
  [[gnu::cold]] Status fall_out_of_step(int rank);

  /// Wakes those who may wait for what has just been stored.
  void ring(int rank) const {
    bells_[static_cast<size_t>(rank)].ring();
    footprint::looks_at_bell();
  }
  void ring_all() const;

 private:
  static inline int own_place_ = 0;
  static constexpr size_t kOutOfStep = 1;      // of ControlRow::consumed
  static constexpr size_t kReadsArena = 2;     // of ControlRow::consumed
  static constexpr size_t kSeen = 3;           // of ControlRow::consumed: why it is out of step
  static constexpr size_t kOwn = 4;            // likewise
  static constexpr size_t kAnnouncements = 4;  // the last words of ControlRow::produced

  std::byte* wide_part(int rank, uint32_t number) const {
    return wide_parts_[static_cast<size_t>(rank)] + number % shm::kControlSlots * shm::kWidePartBytes;
  }
  static uint64_t& announcement(shm::ControlRow& row, uint16_t turn) {
    return row.produced[shm::kChunkWords - kAnnouncements + turn % kAnnouncements];
  }
  ControlArea(objects::Comm& comm, const shm::Segment& segment, int32_t area);
  [[gnu::cold]] bool look_who_is_done(uint32_t number, objects::PeerIndex& awaited);
  void end_out_of_turn(uint32_t number);
  void show_out_of_step(Shown seen, Shown own);
  void show_death();
  [[gnu::cold]] Status death_behind() const;
  void show_done();
  [[gnu::cold]] void map_windows();
  /// Whether the job has more ranks than processors.
  bool shares_processors() const;
  bool has_wide_parts() const { return segment_.geometry().chunk_bytes != 0; }
  bool look_who_reads();
  static int32_t take_below(uint32_t most, std::span<const objects::PeerIndex> members);
  [[gnu::cold]] static ControlArea* enter(objects::Comm& comm, ControlArea*& view, int32_t area);
  [[gnu::cold]] const Hierarchy& make_hierarchy(bool by_place);

  shm::ControlRow* own_ = nullptr;
  std::vector<shm::ControlRow*> rows_;  // by rank
  std::vector<std::byte*> wide_parts_;  // by rank; none where there are no chunks
  std::vector<shm::Bell> bells_;        // by rank
  uint32_t begun_ = 0;
  uint32_t done_ = 0;         // all up to this one are over here
  uint32_t done_shown_ = 0;   // what the others read in our row
  uint32_t done_by_all_ = 0;  // all up to this one are over everywhere
  uint64_t ended_ = 0;        // bit i: so is done_ + 1 + i, here
  int64_t line_bytes_max_[static_cast<size_t>(Collective::count_)];
  int64_t tree_bytes_max_[static_cast<size_t>(Collective::count_)];
  int64_t whole_bytes_max_ = 0;
  std::unique_ptr<Hierarchy> hierarchies_[2];  // by rank, by place
  std::unique_ptr<std::byte[]> wide_room_;
  [[gnu::cold]] Status failed() const;
  const objects::Comm& comm_;
  const uint32_t context_;
  int rank_ = 0;
  int size_ = 0;
  const objects::PeerIndex* peers_ = nullptr;
  const shm::Segment& segment_;
  shm::Arena* const arena_;
  bool has_offered_to_read_ = false;
  bool all_read_ = false;  // the others have
  const int32_t area_;
  const int index_;  // its place among all
  ChunkRing chunk_ring_;
};

}  // namespace hearth::coll
