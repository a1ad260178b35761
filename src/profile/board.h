// The memory file of a profile or trace (layout.h): made by mpiexec, handed to the ranks like the job's
// segment, gone with the last process that has it. mpiexec maps all of it, to read; a rank maps its own part.
//
// Where no mpiexec of ours is, each rank makes a file of its part in a folder, and the hearth tool maps them
// side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "profile/layout.h"

namespace hearth::profile {

/// How the names of files end that hold one rank's part.
constexpr const char* kPartEnding = ".profile";

/// One rank's part, in the memory of whoever mapped it.
struct Part {
  RankHead* head = nullptr;
  CallCounts* calls = nullptr;  // kCallsMax
  PeerCounts* peers = nullptr;  // one for each rank
  CommCounts* comms = nullptr;  // kCommsMax
  TraceEvent* events = nullptr;
  uint64_t event_count = 0;
};

class Board {
 public:
  Board() = default;
  ~Board();
  Board(Board&& other) noexcept { *this = static_cast<Board&&>(other); }
  Board& operator=(Board&& other) noexcept;
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// mpiexec's: `trace_events` for each rank, 0 for a profile alone.
  static Status create(uint32_t ranks, uint64_t trace_events, Board& board);
  /// A rank's: takes the descriptor over; `ranks` is what the job says. Only part(self) may be asked for.
  static Status attach(os::Descriptor file, uint32_t ranks, int self, Board& board);
  /// A rank's: makes the file of its part in a folder that is there, over the one of a run before.
  static Status create_part(const std::string& folder, uint32_t ranks, int self, const PartFacts& facts,
                            Board& board);
  /// The tool's: all parts that ranks of one job have left in a folder. `facts` by rank; the host of a rank
  /// that has left none is "". To read only.
  static Status gather(const std::string& folder, Board& board, std::vector<PartFacts>& facts);

  bool usable() const { return base_ != nullptr; }
  int descriptor() const { return file_.number(); }
  uint32_t rank_count() const { return head_.rank_count; }
  uint64_t begun_ns() const { return head_.begun_ns; }
  Part part(int rank) const;
  /// A rank's: room for one more of its communicators; false when memory is short.
  bool reserve_comm(int index) const;

 private:
  /// Whether what a file begins with is of a version and of lengths that can be believed.
  static bool read_head(int file, FileHead& head);
  static Status map_part(os::Descriptor file, const FileHead& head, uint64_t offset, int self, Board& board);

  FileHead head_ = {};
  uint64_t part_at_ = 0;       // in the file, of a rank's own part
  std::byte* base_ = nullptr;  // of the part, in a rank; of the whole file, in mpiexec
  size_t bytes_ = 0;
  int self_ = -1;  // -1: all parts are mapped
  os::Descriptor file_;
};

}  // namespace hearth::profile
