// Control areas: where the processes of a communicator meet in collectives, by loads and stores instead of
// messages.
//
// An area is part of the shared segment (shm/layout.h) and has a row for each process of the job:
//
//   row  | slot 0 | slot 1 | ... | slot 7 | done | produced | consumed |
//   slot | word: number of the collective, bytes, done | payload |
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
// back. Who leaves writes nothing there any more, but its row stays for the others to read.
//
// Used under the library's lock. docs/memory_model.md argues the order of loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/atomic.h"
#include "objects/comm.h"
#include "shm/layout.h"
#include "shm/segment.h"
#include "shm/wait.h"

namespace hearth::coll {

/// This process's view of the area of one communicator. Ranks are those of the communicator.
class ControlArea {
 public:
  // Life.

  /// Before the first communicator: where areas are. The segment outlives them.
  static void set_up(const shm::Segment& segment);
  /// Takes an area for so many processes; kNoArea where none is left, or it would not be worth it.
  static int32_t take(int members);
  /// Of a process that was counted: it will not touch the area any more.
  static void leave(int32_t area);
  /// The communicator's; nullptr when it has none.
  static ControlArea* of(objects::Comm& comm) {
    if (__builtin_expect(comm.control != nullptr, 1)) return comm.control;
    return comm.area == objects::kNoArea ? nullptr : enter(comm);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  shm::ControlRow& own_row() const { return *own_; }
  shm::ControlRow& row(int rank) const { return *rows_[static_cast<size_t>(rank)]; }
  /// Memory for long collectives; its words are in the rows. Reading that of others is allowed once they have
  /// said in such a word that there is something.
  std::span<std::byte> chunks(int rank) const;
  /// Takes memory for the own chunks when first called; false when it is short.
  bool reserve_chunks();
  /// Wakes those who may wait for what has just been stored.
  void ring(int rank) const { bells_[static_cast<size_t>(rank)].ring(); }
  void ring_all() const;

 private:
  ControlArea(objects::Comm& comm, const shm::Segment& segment);
  [[gnu::cold]] static ControlArea* enter(objects::Comm& comm);

  shm::ControlRow* own_ = nullptr;
  std::vector<shm::ControlRow*> rows_;  // by rank
  std::vector<shm::Bell> bells_;        // by rank
  int rank_ = 0;
  int size_ = 0;
  const objects::PeerIndex* peers_ = nullptr;
  const shm::Segment& segment_;
  const int32_t area_;
  bool has_chunks_ = false;
};

}  // namespace hearth::coll
