// Long collectives over the chunks of a control area, ranks as threads: any mixture, several under way in
// each, memory so short that they go around it again and again.
#include "coll/chunks.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "area_ranks.h"

namespace hearth::coll {
namespace {

enum class What {
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  whole,
  shares,
  blocks,
  scan,
  exscan,
  chain,
  exchain,
  count_
};

struct Call {
  What what;
  int root;
  int count;  // of what each gives to each
};

int value(size_t call, int rank, int index) {
  return static_cast<int>(call % 100) * 1'000'000 + rank * 100'000 + index;
}
int sum(size_t call, int index, int ranks = kRanks) {
  int all = 0;
  for (int rank = 0; rank < ranks; ++rank) all += value(call, rank, index);
  return all;
}

struct Part : AreaPart<ChunkStages> {
  explicit Part(Comm& comm) : schedule(comm) {}
  Schedule schedule;
  std::vector<int> in;
  std::vector<int> out;
};

class Rank final : public AreaRank<Call, Part> {
 public:
  using AreaRank::AreaRank;

 protected:
  std::unique_ptr<Part> begin(size_t number, const Call& call) override {
    auto part = std::make_unique<Part>(comm_);
    part->in.resize(static_cast<size_t>(kRanks * call.count));
    part->out.assign(part->in.size(), -1);
    for (size_t i = 0; i < part->in.size(); ++i) part->in[i] = value(number, rank_, static_cast<int>(i));
    int* in = part->in.data();
    int* out = part->out.data();
    Type& type = int_type();
    const OwnBlock one_in{in, call.count, type};
    const OwnBlock one_out{out, call.count, type};
    const RankBlocks all_in(in, call.count, type);
    const RankBlocks all_out(out, call.count, type);
    Schedule& schedule = part->schedule;
    ChunkMoves* moves = nullptr;
    ChunkReduction* reduction = nullptr;
    EXPECT_TRUE(has_chunks(schedule) && ChunkReduction::fits(schedule, type));
    if (call.what < What::reduce) {
      EXPECT_TRUE(schedule.make_encounter(moves, schedule).ok());
      part->encounter = moves;
    } else {
      EXPECT_TRUE(schedule.make_encounter(reduction, schedule, in, out, type, sum_).ok());
      part->encounter = reduction;
    }
    switch (call.what) {
      case What::bcast:
        if (rank_ == call.root) part->out = part->in;
        moves->bcast(part->out.data(), call.count, type, call.root);
        break;
      case What::gather:
        moves->gather(schedule, one_in, all_out, call.root);
        break;
      case What::scatter:
        moves->scatter(schedule, all_in, one_out, call.root);
        break;
      case What::allgather:
        EXPECT_TRUE(moves->allgather(schedule, one_in, all_out).ok());
        break;
      case What::alltoall:
        moves->alltoall(schedule, all_in, all_out);
        break;
      case What::reduce:
        EXPECT_TRUE(reduction->reduce(schedule, call.count, call.root).ok());
        break;
      case What::whole:
        EXPECT_TRUE(reduction->allreduce_whole(schedule, call.count).ok());
        break;
      case What::shares:
        EXPECT_TRUE(reduction->allreduce_shares(schedule, call.count).ok());
        break;
      case What::blocks:
        EXPECT_TRUE(reduction->reduce_scatter(schedule, nullptr, call.count).ok());
        break;
      case What::scan:
      case What::exscan:
        EXPECT_TRUE(reduction->scan_whole(schedule, call.count, call.what == What::scan).ok());
        break;
      default:
        EXPECT_TRUE(reduction->scan_chain(schedule, call.count, call.what == What::chain).ok());
        break;
    }
    return part;
  }

  void check(size_t number, const Call& call, const Part& part) const override {
    for (int i = 0; i < kRanks * call.count; ++i) {
      const int rank = i / call.count;
      const int index = i % call.count;
      const bool first_block = i < call.count;
      int expected = -1;
      switch (call.what) {
        case What::bcast:
          if (first_block || rank_ == call.root) expected = value(number, call.root, i);
          break;
        case What::gather:
          if (rank_ == call.root) expected = value(number, rank, index);
          break;
        case What::scatter:
          if (first_block) expected = value(number, call.root, rank_ * call.count + index);
          break;
        case What::allgather:
          expected = value(number, rank, index);
          break;
        case What::alltoall:
          expected = value(number, rank, rank_ * call.count + index);
          break;
        case What::reduce:
          if (first_block && rank_ == call.root) expected = sum(number, index);
          break;
        case What::whole:
        case What::shares:
          if (first_block) expected = sum(number, index);
          break;
        case What::blocks:
          if (first_block) expected = sum(number, rank_ * call.count + index);
          break;
        case What::scan:
        case What::chain:
          if (first_block) expected = sum(number, index, rank_ + 1);
          break;
        default:
          if (first_block && rank_ > 0) expected = sum(number, index, rank_);
          break;
      }
      ASSERT_EQ(part.out[static_cast<size_t>(i)], expected)
          << "call " << number << " of kind " << static_cast<int>(call.what) << ", root " << call.root << ", "
          << call.count << " elements, rank " << rank_ << ", element " << i;
    }
  }
};

class ChunksBetweenThreads : public AreaRanks<Rank, Call> {
 protected:
  void SetUp() override { set_up(32 * 1024); }

  /// Of all lengths up to several times the memory, most of them short.
  static std::vector<Call> mixture(size_t calls, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Call> all(calls);
    for (Call& call : all) {
      call.what = static_cast<What>(random() % static_cast<uint32_t>(What::count_));
      call.root = static_cast<int>(random() % kRanks);
      call.count = 1 + static_cast<int>(random() % (random() % 8 == 0 ? 20'000 : 200));
    }
    return all;
  }
};

TEST_F(ChunksBetweenThreads, OneAfterTheOther) {
  run(mixture(300, 1), 1, 11);
}

TEST_F(ChunksBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u, 4u}) run(mixture(100, seed), 10, seed);
}

// A root that reads nothing runs ahead until the memory is full, and no further.
TEST_F(ChunksBetweenThreads, OneFillsAllTheTime) {
  run(std::vector<Call>(200, {What::bcast, 1, 1000}), 12, 5);
  run(std::vector<Call>(100, {What::scatter, 2, 1000}), 12, 6);
  run(std::vector<Call>(100, {What::exchain, 0, 1000}), 12, 7);
}

}  // namespace
}  // namespace hearth::coll
