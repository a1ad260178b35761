// A job of two ranks within the test: mpiexec's board and both recorders.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "profile/recorder.h"
#include "profile/report/summary.h"

namespace hearth::profile {

inline const char* test_call_name(int number) {
  constexpr const char* kNames[] = {"MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Sendrecv", "MPI_Barrier"};
  return number < 5 ? kNames[number] : "MPI_Other";
}

class Job {
 public:
  /// `apart`: as if the two ranks were on different machines.
  explicit Job(uint64_t trace_events = 0, bool apart = false) {
    EXPECT_TRUE(Board::create(2, trace_events, board).ok());
    for (int rank = 0; rank < 2; ++rank) {
      Board& part = parts_[rank];
      EXPECT_TRUE(Board::attach(os::duplicate_out_of_the_way(board.descriptor()), 2, rank, part).ok());
      recorders_[rank] = std::make_unique<Recorder>(part, rank, apart ? rank : 0);
      recorders_[rank]->begin();
    }
  }
  Recorder& recorder(int rank) { return *recorders_[rank]; }
  Part part(int rank) { return parts_[rank].part(rank); }
  JobFacts facts() const {
    JobFacts facts;
    facts.command = "test";
    facts.places.assign(2, {0, 0, 0, 0, 0, 0});
    facts.places[1] = {0, 0, 0, 1, 1, 1};
    facts.ended_ns = os::now_ns();
    facts.call_name = test_call_name;
    return facts;
  }
  Summary summary() {
    for (auto& recorder : recorders_) recorder->end(100);
    return summarize(board, facts());
  }

  Board board;

 private:
  Board parts_[2];
  std::unique_ptr<Recorder> recorders_[2];
};

}  // namespace hearth::profile
