// Ranks as threads that meet in one control area: what the tests of collectives over lines and over chunks
// share. `Rank` derives from AreaRank and says what begins a call and what it must have come to.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/os_wait.h"
#include "coll/control_area.h"
#include "datatype/predefined.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::coll {

constexpr int kRanks = 4;

/// A call under way. `Encounter` has advance() and outcome.
template <class Encounter>
struct AreaPart {
  Encounter* encounter = nullptr;
  bool over = false;
};

/// `Part` derives from AreaPart.
template <class Call, class Part>
class AreaRank {
 public:
  AreaRank(const shm::Segment& segment, int rank) : rank_(rank) {
    ControlArea::set_up(segment);
    group_.peers = {0, 1, 2, 3};
    group_.index(rank);
    comm_.group = &group_;
    comm_.rank = rank;
    comm_.size = comm_.peer_count = kRanks;
    comm_.peers = group_.peers.data();
    comm_.area = 0;
    ControlArea::of(comm_);
    sum_.kind = objects::OpKind::sum;
  }
  virtual ~AreaRank() { delete comm_.control; }
  AreaRank(const AreaRank&) = delete;
  AreaRank& operator=(const AreaRank&) = delete;

  /// Goes through all, up to `ahead` of them under way, in an order that the seed gives.
  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::mt19937 random(seed + static_cast<uint32_t>(rank_));
    size_t begun = 0;
    size_t over = 0;
    std::vector<std::unique_ptr<Part>> parts(calls.size());
    while (over < calls.size()) {
      if (begun < calls.size() && begun < over + ahead && random() % 2 == 0) {
        parts[begun] = begin(begun, calls[begun]);
        parts[begun]->encounter->begin();
        ++begun;
      }
      bool moved = false;
      for (size_t call = over; call < begun; ++call) {
        Part& part = *parts[call];
        // Left alone at times, as when a rank computes.
        if (part.over || random() % 8 == 0 || !part.encounter->advance()) continue;
        part.over = moved = true;
        EXPECT_TRUE(part.encounter->outcome.ok());
        check(call, calls[call], part);
      }
      while (over < begun && parts[over]->over) parts[over++].reset();
      if (!moved) os::yield_processor();
    }
  }

 protected:
  virtual std::unique_ptr<Part> begin(size_t number, const Call& call) = 0;
  virtual void check(size_t number, const Call& call, const Part& part) const = 0;

  static datatype::Type& int_type() {
    return *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
  }

  const int rank_;
  objects::Group group_;
  objects::Comm comm_;
  objects::Op sum_;
};

template <class Rank, class Call>
class AreaRanks : public testing::Test {
 protected:
  /// With so much memory of each rank for chunks.
  void set_up(uint64_t chunk_bytes) {
    datatype::enter_predefined_types();
    shm::SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.cell_bytes = 4096;
    plan.cell_count = 4;
    plan.area_count = 1;
    plan.chunk_bytes = chunk_bytes;
    ASSERT_TRUE(shm::Segment::create(plan, segment_).ok()) << last_failure_text();
    for (int rank = 0; rank < kRanks; ++rank) ranks_.push_back(std::make_unique<Rank>(segment_, rank));
  }

  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::vector<std::thread> threads;
    for (auto& rank : ranks_) threads.emplace_back([&] { rank->run(calls, ahead, seed); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  shm::Segment segment_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::coll
