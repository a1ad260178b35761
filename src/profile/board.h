// The memory file of a profile or trace (layout.h). mpiexec creates it and passes it to the ranks like the
// job's segment; the system frees it with the last process that has it open. mpiexec maps the whole file
// read-only, a rank maps its own part.
//
// Under another library's launcher, each rank creates a file with its part in a folder, and the hearth tool
// maps these files side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "profile/layout.h"

namespace hearth::profile {

/// File name suffix of a rank's part.
constexpr const char* kPartEnding = ".profile";

/// One rank's part, mapped into this process.
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

  /// For mpiexec. `trace_events`: per rank, 0 for a profile without a trace.
  static Status create(uint32_t ranks, uint64_t trace_events, Board& board);
  /// For a rank: takes ownership of the descriptor; `ranks` is the job's size. Pre of part(): rank == self.
  static Status attach(os::Descriptor file, uint32_t ranks, int self, Board& board);
  /// For a rank: creates the file of its part in an existing folder, over the file of an earlier run.
  static Status create_part(const std::string& folder, uint32_t ranks, int self, const PartFacts& facts,
                            Board& board);
  /// For the hearth tool: all parts that the ranks of one job have left in a folder, read-only. `facts` is by
  /// rank; the host of a rank without a part is "".
  static Status gather(const std::string& folder, Board& board, std::vector<PartFacts>& facts);

  bool usable() const { return base_ != nullptr; }
  int descriptor() const { return file_.number(); }
  uint32_t rank_count() const { return head_.rank_count; }
  uint64_t begun_ns() const { return head_.begun_ns; }
  Part part(int rank) const;
  /// For a rank: allocates memory for one more of its communicators; false if memory is short.
  bool reserve_comm(int index) const;

 private:
  /// Reads a file's head; false if its version or its lengths are invalid.
  static bool read_head(int file, FileHead& head);
  static Status map_part(os::Descriptor file, const FileHead& head, uint64_t offset, int self, Board& board);

  FileHead head_ = {};
  uint64_t part_at_ = 0;       // offset of a rank's own part in the file
  std::byte* base_ = nullptr;  // a rank maps its part, mpiexec the whole file
  size_t bytes_ = 0;
  int self_ = -1;  // -1: all parts are mapped
  os::Descriptor file_;
};

}  // namespace hearth::profile
