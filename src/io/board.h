// State that the processes of an open file share: the shared file pointer, and the ranges of bytes that are
// accessed in atomic mode.
//
//   all processes on one machine   shm::FileBoard in the arena slice of rank 0, by loads and stores
//   several machines, or no arena  the pointer in an internal window of rank 0 (by messages, which rank 0
//                                  serves in any call of MPI); ranges by locks of the file system between
//                                  processes, and by a table of the process between its threads
//
// The lock of the ranges and each range store their owner: if the owner died, the next waiting process takes
// over. Under the library's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "mpi.h"
#include "objects/comm.h"
#include "rma/window.h"
#include "shm/layout.h"

namespace hearth::io {

using objects::Comm;

/// Functions of src/abi that this layer calls.
struct Surroundings {
  /// Memory that other processes can reach, if there is an arena.
  Status (*allocate)(size_t bytes, void*& memory) = nullptr;
  void (*release)(void* memory) = nullptr;
  /// Stores the bytes of an access in its status.
  void (*set_status_bytes)(MPI_Status& status, int64_t bytes) = nullptr;
};
void set_up(const Surroundings& surroundings);
const Surroundings& surroundings();

class Board {
 public:
  Board() = default;
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Collective over `comm`, which belongs to the file. `local`: all its processes are on this machine.
  Status open(Comm& comm, bool local);
  /// Collective.
  Status close();

  /// Adds to the shared pointer and returns its former value.
  Status fetch_add(int64_t etypes, int64_t& before);
  Status read(int64_t& etypes);
  /// Pre: no process uses the pointer at the same time.
  Status write(int64_t etypes);

  /// Waits for [begin, end) of the file; any number of processes may hold a range that is not exclusive.
  /// `descriptor`: of the file.
  Status lock_range(int descriptor, int64_t begin, int64_t end, bool exclusive);
  void unlock_range(int descriptor, int64_t begin, int64_t end);

 private:
  class TableLock;

  Status open_window();
  shm::FileBoard& table() const { return board_ != nullptr ? *board_ : *threads_; }
  bool try_range(const shm::FileRange& wanted);
  void wait_for_range(const shm::FileRange& wanted);
  void release_range(int64_t begin, int64_t end);
  void wake_all() const;

  Comm* comm_ = nullptr;
  shm::FileBoard* board_ = nullptr;      // nullptr: by messages
  void* own_ = nullptr;                  // memory from Surroundings::allocate
  std::unique_ptr<rma::Window> window_;  // instead of board_
  int64_t pointer_ = 0;                  // the part of rank 0 in window_
  // With window_: ranges of this process's threads, because a file-system lock belongs to the whole process.
  std::unique_ptr<shm::FileBoard> threads_;
};

}  // namespace hearth::io
