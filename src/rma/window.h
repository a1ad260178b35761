// A window of one-sided communication (MPI 5.0 chapter 12): memory of each process of a communicator that the
// others read, write and combine data into.
//
//   reached by loads and stores     memory in the arena: MPI_Win_allocate, MPI_Win_allocate_shared, and
//                                   windows made of MPI_Alloc_mem or of a shared heap (docs/design/arena.md)
//   by messages to the process      everything else: ordinary memory, and processes on other machines
//                                   (rma/messages.h). They are answered whenever it is in a call of MPI.
//
// What is put or got by loads and stores is over when the call returns. Locks are words of a board that each
// process has in the arena too (shm/layout.h). Fences are barriers, and what MPI_Win_post and
// MPI_Win_complete say to others are messages without data, in a communicator of the window's own.
//
// All calls under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/blocks.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/op.h"
#include "p2p/engine.h"
#include "rma/messages.h"
#include "shm/arena.h"
#include "shm/layout.h"
#include "shm/segment.h"

namespace hearth::rma {

using datatype::Type;
using objects::Comm;
using p2p::PeerIndex;

/// Before the first window: where the words of this job are, and which processes share its memory. `places`:
/// the number of each process of the job among those of this machine, or below 0; empty: all are on it, in
/// their order. `machines`: that of each process, where they are on several, or pretend to be. All outlive
/// the windows.
void set_up(const shm::Segment& segment, int own_place, shm::Arena& arena, std::span<const int> places,
            std::span<const int> machines);

/// Data of the calling process.
struct Data {
  void* buffer;
  Count count;
  Type* type;

  int64_t bytes() const { return count * type->size; }
};

/// Data in the part of another process, or of this one.
struct Target {
  int rank;
  int64_t displacement;  // in its units
  Count count;
  Type* type;

  int64_t bytes() const { return count * type->size; }
};

/// What a process brings to a window.
struct OwnPart {
  void* base = nullptr;
  int64_t bytes = 0;
  int64_t displacement_unit = 1;
  /// In the arena where possible, zeros.
  shm::WindowBoard* board = nullptr;
  bool dynamic = false;
  /// Whose window of the arena the part lies in, where that is not this process: its rank, and where there.
  int owner = -1;
  uint64_t owner_offset = 0;
};

class Window final : public p2p::Polled {
 public:
  /// Collective over `comm`, which is the window's own and outlives it.
  static Status open(Comm& comm, const OwnPart& own, std::unique_ptr<Window>& made);
  /// MPI_ERR_RMA_SYNC where an epoch has not ended.
  Status check_ended() const { return check_quiet("MPI_Win_free"); }
  /// Collective: nothing is under way afterwards, here or elsewhere. Pre: check_ended().
  Status close();
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Where a process's part is, as this process reaches it; nullptr where it does not.
  std::byte* part_here(int rank) const { return here_[static_cast<size_t>(rank)]; }
  int64_t part_bytes(int rank) const { return parts_[static_cast<size_t>(rank)].bytes; }
  /// Whether this process reaches the parts of all by loads and stores.
  bool reaches_all() const;
  int64_t displacement_unit(int rank) const { return parts_[static_cast<size_t>(rank)].displacement_unit; }

  /// Where a process has this in its window of the arena; nullptr: not to be reached.
  static std::byte* reach(PeerIndex peer, uint64_t offset, size_t bytes);

  // Memory of a dynamic window. MPI_ERR_RMA_ATTACH.
  Status attach(void* base, int64_t bytes);
  Status detach(const void* base);

  // Access (access.cpp). With `request`: it is set to one that is over when the data are there.

  Status put(const Data& origin, const Target& target, p2p::Request** request);
  Status get(const Data& result, const Target& target, p2p::Request** request);
  /// `result`: what was there before; nullptr where nobody asks.
  Status accumulate(const Data& origin, const Target& target, const objects::Op& op, const Data* result,
                    p2p::Request** request);
  Status compare_and_swap(const void* origin, const void* compare, void* result, const Target& target);

  // Synchronization (sync.cpp). `assertions` are MPI_MODE_ bits.

  Status fence(int assertions);
  Status post(const objects::Group& group, int assertions);
  Status start(const objects::Group& group, int assertions);
  Status complete();
  Status wait();
  Status test(bool& over);
  Status lock(int lock_type, int rank, int assertions);
  Status unlock(int rank);
  Status lock_all(int assertions);
  Status unlock_all();
  /// All that this process began is over at the target, and here.
  Status flush(int rank);
  Status flush_all_locked();
  /// Stores of this process come before, what others have stored is seen after.
  Status sync();

  /// Of the engine: goes on with messages.
  bool advance() override;

 private:
  friend class Messages;

  /// What each process tells of its part.
  struct Part {
    uint64_t board;         // where the board is in its window of the arena; kNowhere
    uint64_t offset;        // where the part is in the owner's window; kNowhere
    uint64_t arena_begins;  // where its own window of the arena begins in its memory; 0: nowhere
    uint64_t arena_ends;    // and where peers no longer reach it
    uint64_t base;          // the part's address in its memory
    int64_t bytes;
    int64_t displacement_unit;
    int64_t owner;  // a rank
  };
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  /// Where data of a target are.
  struct Spot {
    std::byte* here = nullptr;  // the address that the type counts from; nullptr: only by messages
    uint64_t address = 0;       // the same in the target's memory
    bool empty = false;         // no data at all
  };

  enum class Held : uint8_t { no, asked_for, shared, exclusive, unchecked };

  Window(Comm& comm, const OwnPart& own);
  Part tell();
  void look_around();
  Status agree_on_ways();
  PeerIndex peer(int rank) const { return comm_.peers[rank]; }
  /// A board that this process reaches; nullptr.
  shm::WindowBoard* board_of(int rank) const { return boards_[static_cast<size_t>(rank)]; }

  // access.cpp
  Status check_access(int rank);
  Status locate(const Target& target, Spot& spot);
  /// Whether each of these bytes is attached, be it as part of one region or of several adjacent ones.
  bool is_attached(uint64_t address, int64_t bytes) const;
  bool all_attached(const Target& target, const datatype::Span& span) const;
  /// Of what another process asks for: does it lie in this process's part?
  bool is_own(uint64_t address, int64_t bytes) const;
  /// The accumulate lock of one process's part, held for a scope: one process at a time combines data there.
  /// Pre: this process reaches the board.
  class Combining {
   public:
    Combining(Window& window, int rank);
    ~Combining();
    Combining(const Combining&) = delete;
    Combining& operator=(const Combining&) = delete;

   private:
    uint32_t& word_;
  };
  /// to[i] = to[i] op packed[i], for elements that lie in blocks from `to` on.
  static Status combine(const objects::Op& op, const Type& element, const std::byte* packed, std::byte* to,
                        std::span<const datatype::Block> blocks);

  // sync.cpp
  Status check_rank(int rank) const;
  Status check_quiet(const char* before) const;
  Status acquire(int rank, bool exclusive);
  Status await_lock(int rank, bool exclusive);
  /// The holders, as far as this process can read their boards.
  void describe_lock_wait(int rank, p2p::WaitNote& note) const;
  Status release(int rank, bool exclusive);
  void answer_others() const;
  Status await_replies(int rank);
  Status await_replies(int rank, const p2p::Describe& describe);
  Status flush_all();
  /// `call`: what the other sides have to call.
  Status await_all(std::vector<p2p::Request*>& requests, std::string_view call);
  Status tell_all(std::span<const PeerIndex> peers, int tag);
  Status listen_to_all(std::span<const PeerIndex> peers, int tag, std::vector<p2p::Request*>& requests);
  void end_exposure();
  void ring_all() const;

  Comm& comm_;
  const OwnPart own_;
  shm::Exposure shared_;          // of the own part; of a dynamic window, of all that may be attached
  std::vector<Part> parts_;       // by rank
  std::vector<std::byte*> here_;  // by rank
  std::vector<shm::WindowBoard*> boards_;  // by rank; one's own is always reached
  std::vector<datatype::Block> attached_;  // regions of this process in a dynamic window, sorted by address
  Messages messages_;
  bool by_messages_ = false;  // somebody reaches somebody only by them
  bool closed_ = false;

  // Epochs of this process.
  bool fence_open_ = false;
  bool started_ = false;
  bool posted_ = false;
  bool unchecked_ = false;  // MPI_Win_lock_all with MPI_MODE_NOCHECK
  bool all_locked_ = false;
  int locks_ = 0;                 // by MPI_Win_lock
  std::vector<Held> held_;        // by rank
  std::vector<bool> accessible_;  // by rank: started
  std::vector<PeerIndex> started_for_;
  std::vector<p2p::Request*> exposure_;  // until those that we posted for are through
  p2p::MessageGroup notices_;            // sends that nobody asks about
};

}  // namespace hearth::rma
