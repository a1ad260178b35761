// A window of one-sided communication (MPI 5.0 chapter 12): memory of each process of a communicator that the
// other processes read, write and combine data into. There are two ways of access:
//
//   loads and stores         memory in the arena: MPI_Win_allocate, MPI_Win_allocate_shared, and windows
//                            made of MPI_Alloc_mem memory or of a shared heap (docs/design/arena.md)
//   messages to the target   everything else: ordinary memory, and processes on other machines
//                            (rma/messages.h). The target serves them in any call of MPI.
//
// A put or get by loads and stores is complete when the call returns. Locks are words of a board that each
// process also has in its arena slice (shm/layout.h). Fences are barriers. MPI_Win_post and MPI_Win_complete
// send messages without data, in a communicator that belongs to the window.
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
#include "datatype/reduce.h"
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

/// Data of the calling process.
struct Data {
  void* buffer;
  Count count;
  Type* type;

  int64_t bytes() const { return count * type->size; }
};

/// Data in the part of a target process, which may be this one.
struct Target {
  int rank;
  int64_t displacement;  // in the target's displacement units
  Count count;
  Type* type;

  int64_t bytes() const { return count * type->size; }
};

/// The part of the window that this process contributes.
struct OwnPart {
  void* base = nullptr;
  int64_t bytes = 0;
  int64_t displacement_unit = 1;
  /// In the arena if possible; initially zeros.
  shm::WindowBoard* board = nullptr;
  bool dynamic = false;
  /// If the part lies in the arena slice of another process: that process's rank and the offset in its slice.
  /// Otherwise -1.
  int owner = -1;
  uint64_t owner_offset = 0;
};

class Window final : public p2p::Polled {
 public:
  /// A window that is not open yet. `comm` belongs to the window and outlives it. Throws std::bad_alloc.
  explicit Window(Comm& comm);
  /// Collective.
  Status open(const OwnPart& own);
  /// MPI_ERR_RMA_SYNC if an epoch has not ended.
  Status check_ended() const { return check_quiet("MPI_Win_free"); }
  /// Collective: afterwards no operation on the window is pending in any process. Pre: check_ended().
  Status close();
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Address of a process's part in this process; nullptr if it can be accessed only by messages.
  std::byte* part_here(int rank) const { return access_[static_cast<size_t>(rank)].memory; }
  int64_t part_bytes(int rank) const { return parts_[static_cast<size_t>(rank)].bytes; }
  /// Whether this process accesses the parts of all processes by loads and stores.
  bool reaches_all() const;
  int64_t displacement_unit(int rank) const { return parts_[static_cast<size_t>(rank)].displacement_unit; }

  /// Address in this process of a range of a peer's arena slice; nullptr if it cannot be accessed.
  static std::byte* reach(PeerIndex peer, uint64_t offset, size_t bytes);

  // Memory of a dynamic window. Errors: MPI_ERR_RMA_ATTACH, and MPI_ERR_RMA_FLAVOR for other windows.
  Status attach(void* base, int64_t bytes);
  Status detach(const void* base);

  // Access (access.cpp). If `request` is given, it is set to a request that completes when the data are in
  // place.

  Status put(const Data& origin, const Target& target, p2p::Request** request);
  Status get(const Data& result, const Target& target, p2p::Request** request);
  /// `result`: receives the previous data; nullptr: they are not fetched.
  Status accumulate(const Data& origin, const Target& target, const objects::Op& op, const Data* result,
                    p2p::Request** request);
  Status compare_and_swap(const void* origin, const void* compare, void* result, const Target& target);

  // The frequent cases of the operations above and below, which the entry points try first
  // (rma/inline_path.h): the target's part is accessed by loads and stores, one thread at a time calls MPI,
  // and the call does not have to wait. False: the caller continues on the regular path, which also reports
  // errors; nothing has changed, unless stated below. Pre: `rank` is a rank of the window.

  /// Address of `bytes` > 0 bytes at a displacement in the part of a process; nullptr if they are not in the
  /// part, or no epoch permits the access.
  std::byte* reach_inline(int rank, int64_t displacement, int64_t bytes) const;
  /// target = target op origin for one element of a predefined type, whose previous value is stored in
  /// `result` if that is not nullptr. `target`: from reach_inline().
  bool accumulate_inline(const void* origin, void* result, const Type& type, const objects::Op& op, int rank,
                         std::byte* target);
  /// False also if the lock is not free. For an exclusive request the lock is then marked as wanted, as on
  /// the regular path, which tries again.
  bool lock_inline(int lock_type, int rank, int assertions);
  bool unlock_inline(int rank);
  bool flush_inline(int rank) const;

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
  /// Completes all operations of this process on the target, at the target and at this process.
  Status flush(int rank);
  Status flush_all_locked();
  /// Memory barrier: earlier stores of this process become visible before later ones, and stores that other
  /// processes have made are visible after it.
  Status sync();

  /// Called by the engine: makes progress on messages. True once the window is closed.
  bool advance() override;

 private:
  friend class Messages;

  /// What each process publishes about its part.
  struct Part {
    uint64_t board;         // offset of the board in its arena slice, or kNowhere
    uint64_t offset;        // offset of the part in the owner's arena slice, or kNowhere
    uint64_t arena_begins;  // address of its own arena slice in its memory; 0: none
    uint64_t arena_ends;    // end of the range that peers can access
    uint64_t base;          // the part's address in its memory
    int64_t bytes;
    int64_t displacement_unit;
    int64_t owner;  // a rank
  };
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  /// Location of a target's data.
  struct Spot {
    std::byte* here = nullptr;  // address that the type's offsets refer to; nullptr: messages only
    uint64_t address = 0;       // the same address in the target process
    bool empty = false;         // no data at all
  };

  /// Whether this process holds the lock of a part. From `shared` on, the part may be accessed.
  enum class Held : uint8_t { no, asked_for, shared, exclusive, unchecked };

  /// What an access to one process's part needs.
  struct Access {
    std::byte* memory = nullptr;  // the part in this process's memory; nullptr: messages only
    int64_t bytes = 0;
    int64_t displacement_unit = 1;
    shm::WindowBoard* board = nullptr;  // nullptr: not accessible
    Held held = Held::no;
    bool started = false;  // in the group of MPI_Win_start
  };

  Part own_part();
  void monitor_members();
  Status agree_on_ways();
  PeerIndex peer(int rank) const { return comm_.peers[rank]; }
  /// A process's board; nullptr if this process cannot access it.
  shm::WindowBoard* board_of(int rank) const { return access_[static_cast<size_t>(rank)].board; }

  // access.cpp
  Status check_access(int rank);
  Status locate(const Target& target, Spot& spot);
  /// Whether all these bytes are attached, in one region or in several adjacent ones.
  bool is_attached(uint64_t address, int64_t bytes) const;
  bool all_attached(const Target& target, const datatype::Span& span) const;
  /// Whether a range that another process requests lies in this process's part.
  bool is_own(uint64_t address, int64_t bytes) const;
  /// The accumulate lock of one process's part, held for a scope, so that one process at a time combines data
  /// there. Pre: this process can access the board.
  class AccumulateLock {
   public:
    AccumulateLock(Window& window, int rank);
    ~AccumulateLock();
    AccumulateLock(const AccumulateLock&) = delete;
    AccumulateLock& operator=(const AccumulateLock&) = delete;

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
  /// Reports the holders of the lock, as far as this process can read their boards.
  void describe_lock_wait(int rank, p2p::WaitDiagnostics& note) const;
  Status release(int rank, bool exclusive);
  void answer_others() const;
  Status await_replies(int rank);
  Status await_replies(int rank, const p2p::Describe& describe);
  Status flush_all();
  /// `call`: the MPI function that the other processes have to call.
  Status await_all(std::vector<p2p::Request*>& requests, std::string_view call);
  Status notify_all(std::span<const PeerIndex> peers, int tag);
  Status listen_to_all(std::span<const PeerIndex> peers, int tag, std::vector<p2p::Request*>& requests);
  void end_exposure();
  void wake_all() const;

  Comm& comm_;
  OwnPart own_;
  shm::Exposure shared_;        // of the own part; of a dynamic window, of all memory that may be attached
  std::vector<Part> parts_;     // by rank
  std::vector<Access> access_;  // by rank; the own board is always accessible
  std::vector<datatype::Block> attached_;  // regions of this process in a dynamic window, sorted by address
  Messages messages_;
  bool by_messages_ = false;  // some process accesses another one only by messages
  bool closed_ = false;

  // Epochs of this process.
  bool fence_open_ = false;
  bool started_ = false;
  bool posted_ = false;
  bool unchecked_ = false;  // MPI_Win_lock_all with MPI_MODE_NOCHECK
  bool all_locked_ = false;
  int locks_ = 0;  // by MPI_Win_lock
  std::vector<PeerIndex> started_for_;
  std::vector<p2p::Request*> exposure_;  // receives of MPI_Win_complete, which end the exposure epoch
  p2p::MessageGroup notices_;            // sends of synchronization messages; close() waits for them
};

}  // namespace hearth::rma
