// Collective writes of processes on several machines whose pieces interleave: the file is divided into
// cycles, and one process of each machine in turn gathers the pieces of a cycle by messages and writes them
// by one call. Fewer and longer calls; no two machines write to the same page of a network file system.
//
//   cycle      0            1            2            3
//   root       machine 0    machine 1    machine 0    machine 1      gathers, then writes
//   message    | number of runs | offset, bytes | ... | data of all runs |
//
// The pieces cover their span exactly once (see coverage() in window.cpp), so a cycle has no holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "io/file.h"

namespace hearth::io {

class Aggregation {
 public:
  /// The part of one process in a collective write: [begin, end) is the span of all processes.
  struct Part {
    int64_t begin;
    int64_t end;
    int64_t data_offset;
    int64_t bytes;
  };

  /// `cycle_bytes`: length of a cycle in the file.
  Aggregation(Comm& comm, const Medium& medium, int64_t cycle_bytes)
      : comm_(comm), medium_(medium), cycle_bytes_(cycle_bytes) {}

  /// Collective. `fits` is false on all processes if one has no memory: nothing is written then.
  Status write(const View& view, const Data& data, const Part& part, bool& fits);

 private:
  struct Run {
    int64_t offset;
    int64_t bytes;
  };
  /// The runs of this process that are not sent yet.
  struct Rest {
    int64_t data_offset;
    int64_t bytes;
    int64_t done;
  };

  int64_t end_of_cycle(int64_t begin, int64_t end) const;
  int64_t message_bytes_max(const View& view, const Part& part) const;
  Status reserve(int64_t own_max, int64_t all_max);
  void pack_cycle(const View& view, const Data& data, int64_t begin, int64_t end, Rest& rest);
  Status gather(int root);
  Status place_pieces(int64_t bytes);
  Status write_cycle(int64_t begin, int64_t end);
  int root_of(int64_t cycle) const;

  Comm& comm_;
  const Medium& medium_;
  const int64_t cycle_bytes_;
  std::vector<Run> runs_;
  std::vector<std::byte> message_;   // of this process
  std::vector<std::byte> received_;  // of all processes, at a root
  std::vector<std::byte> cycle_;     // to be written, at a root
  std::vector<int64_t> counts_;
  std::vector<int64_t> places_;
};

}  // namespace hearth::io
