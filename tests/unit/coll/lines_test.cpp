// Small collectives over a control area, ranks as threads: any mixture, several under way in each, bits
// compared with what the inputs come to.
#include "coll/lines.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "area_ranks.h"

namespace hearth::coll {
namespace {

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

struct Part : AreaPart<Lines> {
  explicit Part(ControlArea& area) : lines(area) { encounter = &lines; }
  Lines lines;
  std::array<int, kRanks * kCount> in;
  std::array<int, kRanks * kCount> out;
};

class Rank final : public AreaRank<Call, Part> {
 public:
  using AreaRank::AreaRank;

 protected:
  std::unique_ptr<Part> begin(size_t number, const Call& call) override {
    auto part = std::make_unique<Part>(*ControlArea::of(comm_));
    for (size_t i = 0; i < part->in.size(); ++i) part->in[i] = value(number, rank_, static_cast<int>(i));
    part->out.fill(-1);
    Lines& lines = part->lines;
    int* in = part->in.data();
    int* out = part->out.data();
    Type& type = int_type();
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

  void check(size_t number, const Call& call, const Part& part) const override {
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
      ASSERT_EQ(part.out[static_cast<size_t>(i)], expected)
          << "call " << number << " of kind " << static_cast<int>(call.what) << ", root " << call.root
          << ", rank " << rank_ << ", element " << i;
    }
  }
};

class LinesBetweenThreads : public AreaRanks<Rank, Call> {
 protected:
  void SetUp() override { set_up(4096); }

  static std::vector<Call> mixture(size_t calls, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Call> all(calls);
    for (Call& call : all) {
      call.what = static_cast<What>(random() % static_cast<uint32_t>(What::count_));
      call.root = static_cast<int>(random() % kRanks);
    }
    return all;
  }
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
  const Said said = said_of(0xffff'fffe, what_of(248, Collective::scatter, 65'539), 8);
  EXPECT_EQ(said.number(), 0xffff'fffeu);
  EXPECT_EQ(said.bytes(), 248);
  EXPECT_EQ(said.kind(), Collective::scatter);
  EXPECT_EQ(said.turns(), 3u);
  EXPECT_EQ(said.behind(), 8u);
  EXPECT_EQ(said.what(), what_of(248, Collective::scatter, 3));
}

TEST(Announced, IsWhatWasAnnounced) {
  const Announced announced = announced_of(65'539, 257, Collective::allgather, int64_t{1} << 35);
  EXPECT_EQ(announced.turn(), 3u);
  EXPECT_EQ(announced.lines(), 1u);
  EXPECT_EQ(announced.kind(), Collective::allgather);
  EXPECT_EQ(announced.bytes(), int64_t{1} << 35);
  EXPECT_EQ(announced_of(1, 0, Collective::bcast, int64_t{1} << 40).bytes(), Announced::kBytesMax);
}

}  // namespace
}  // namespace hearth::coll
