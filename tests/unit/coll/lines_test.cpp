// Small collectives over a control area, ranks as threads: any mixture, several under way in each, bits
// compared with what the inputs come to.
#include "coll/lines.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/os_wait.h"
#include "datatype/predefined.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::coll {
namespace {

constexpr int kRanks = 4;
constexpr int kCount = 3;  // ints that each rank gives to each

enum class What {
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  blocks,
  scan,
  exscan,
  count_
};

struct Call {
  What what;
  int root;
};

/// Element `index` of what a rank gives.
int value(size_t call, int rank, int index) {
  return static_cast<int>(call % 1000) * 1000 + rank * 100 + index;
}

int sum(size_t call, int first, int last, int index) {
  int all = 0;
  for (int rank = first; rank < last; ++rank) all += value(call, rank, index);
  return all;
}

class Rank {
 public:
  Rank(const shm::Segment& segment, int rank) : rank_(rank) {
    ControlArea::set_up(segment);
    group_.peers = {0, 1, 2, 3};
    group_.index(rank);
    comm_.group = &group_;
    comm_.rank = rank;
    comm_.size = comm_.peer_count = kRanks;
    comm_.peers = group_.peers.data();
    comm_.area = 0;
    area_ = ControlArea::of(comm_);
    sum_.kind = objects::OpKind::sum;
  }
  ~Rank() { delete comm_.control; }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Goes through all, up to `ahead` of them under way, in an order that the seed gives.
  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::mt19937 random(seed + static_cast<uint32_t>(rank_));
    size_t begun = 0;
    size_t over = 0;
    std::vector<std::unique_ptr<Part>> parts(calls.size());
    while (over < calls.size()) {
      if (begun < calls.size() && begun < over + ahead && random() % 2 == 0) {
        parts[begun] = begin(begun, calls[begun]);
        ++begun;
      }
      bool moved = false;
      for (size_t call = over; call < begun; ++call) {
        // Left alone at times, as when a rank computes.
        if (parts[call]->over || random() % 8 == 0 || !parts[call]->lines.advance()) continue;
        parts[call]->over = moved = true;
        EXPECT_TRUE(parts[call]->lines.outcome.ok());
        check(call, calls[call], parts[call]->out);
      }
      while (over < begun && parts[over]->over) parts[over++].reset();
      if (!moved) os::yield_processor();
    }
  }

 private:
  struct Part {
    explicit Part(ControlArea& area) : lines(area) {}
    Lines lines;
    bool over = false;
    std::array<int, kRanks * kCount> in;
    std::array<int, kRanks * kCount> out;
  };

  std::unique_ptr<Part> begin(size_t number, const Call& call) {
    auto part = std::make_unique<Part>(*area_);
    for (size_t i = 0; i < part->in.size(); ++i) part->in[i] = value(number, rank_, static_cast<int>(i));
    part->out.fill(-1);
    Lines& lines = part->lines;
    int* in = part->in.data();
    int* out = part->out.data();
    Type& type = *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
    switch (call.what) {
      case What::barrier:
        lines.barrier();
        break;
      case What::bcast:
        if (rank_ == call.root) part->out = part->in;
        lines.bcast(out, kCount, type, call.root);
        break;
      case What::gather:
        lines.gather(in, kCount, type, out, kCount, type, call.root);
        break;
      case What::scatter:
        lines.scatter(in, kCount, type, out, kCount, type, call.root);
        break;
      case What::allgather:
        lines.allgather(in, kCount, type, out, kCount, type);
        break;
      case What::alltoall:
        lines.alltoall(in, kCount, type, out, kCount, type);
        break;
      case What::reduce:
        lines.reduce(in, out, kCount, type, sum_, call.root);
        break;
      case What::allreduce:
        lines.allreduce(in, out, kCount, type, sum_);
        break;
      case What::blocks:
        lines.reduce_scatter_block(in, out, kCount, type, sum_);
        break;
      case What::scan:
        lines.scan(in, out, kCount, type, sum_);
        break;
      default:
        lines.exscan(in, out, kCount, type, sum_);
        break;
    }
    return part;
  }

  void check(size_t number, const Call& call, const std::array<int, kRanks * kCount>& out) const {
    for (int i = 0; i < kRanks * kCount; ++i) {
      const int rank = i / kCount;
      const int index = i % kCount;
      int expected = -1;
      const bool first_block = i < kCount;
      switch (call.what) {
        case What::barrier:
          break;
        case What::bcast:
          if (first_block || rank_ == call.root) expected = value(number, call.root, i);
          break;
        case What::gather:
          if (rank_ == call.root) expected = value(number, rank, index);
          break;
        case What::scatter:
          if (first_block) expected = value(number, call.root, rank_ * kCount + index);
          break;
        case What::allgather:
          expected = value(number, rank, index);
          break;
        case What::alltoall:
          expected = value(number, rank, rank_ * kCount + index);
          break;
        case What::reduce:
          if (first_block && rank_ == call.root) expected = sum(number, 0, kRanks, index);
          break;
        case What::allreduce:
          if (first_block) expected = sum(number, 0, kRanks, index);
          break;
        case What::blocks:
          if (first_block) expected = sum(number, 0, kRanks, rank_ * kCount + index);
          break;
        case What::scan:
          if (first_block) expected = sum(number, 0, rank_ + 1, index);
          break;
        default:
          if (first_block && rank_ > 0) expected = sum(number, 0, rank_, index);
          break;
      }
      ASSERT_EQ(out[static_cast<size_t>(i)], expected)
          << "call " << number << " of kind " << static_cast<int>(call.what) << ", root " << call.root
          << ", rank " << rank_ << ", element " << i;
    }
  }

  const int rank_;
  objects::Group group_;
  objects::Comm comm_;
  objects::Op sum_;
  ControlArea* area_ = nullptr;
};

class LinesBetweenThreads : public testing::Test {
 protected:
  void SetUp() override {
    datatype::enter_predefined_types();
    shm::SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.cell_bytes = 4096;
    plan.cell_count = 4;
    plan.area_count = 1;
    plan.chunk_bytes = 4096;
    ASSERT_TRUE(shm::Segment::create(plan, segment_).ok()) << last_failure_text();
    for (int rank = 0; rank < kRanks; ++rank) ranks_.push_back(std::make_unique<Rank>(segment_, rank));
  }

  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::vector<std::thread> threads;
    for (auto& rank : ranks_) threads.emplace_back([&] { rank->run(calls, ahead, seed); });
    for (std::thread& thread : threads) thread.join();
  }

  static std::vector<Call> mixture(size_t calls, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Call> all(calls);
    for (Call& call : all) {
      call.what = static_cast<What>(random() % static_cast<uint32_t>(What::count_));
      call.root = static_cast<int>(random() % kRanks);
    }
    return all;
  }

  shm::Segment segment_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(LinesBetweenThreads, OneAfterTheOther) {
  run(mixture(3000, 1), 1, 11);
}

// More than there are slots: those behind wait until their slot is free.
TEST_F(LinesBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u, 4u}) run(mixture(1000, seed), 20, seed);
}

// A root that hears nobody runs ahead until its slots are used up, and no further.
TEST_F(LinesBetweenThreads, OneSpeaksAllTheTime) {
  run(std::vector<Call>(2000, {What::bcast, 1}), 12, 5);
  run(std::vector<Call>(2000, {What::gather, 2}), 12, 6);
  run(std::vector<Call>(500, {What::exscan, 0}), 12, 7);
}

TEST(Said, IsWhatWasSaidAlsoWhereNumbersComeRound) {
  const Said said = said_in(word_of({.number = 65'539, .bytes = 248, .done = static_cast<uint16_t>(65'533)}));
  EXPECT_EQ(said.number, 65'539u);
  EXPECT_EQ(said.bytes, 248u);
  EXPECT_EQ(said.behind(65'539), 6u);
  EXPECT_EQ(said_in(word_of({.number = 2, .bytes = 0, .done = 0xffff})).behind(2), 3u);
}

}  // namespace
}  // namespace hearth::coll
