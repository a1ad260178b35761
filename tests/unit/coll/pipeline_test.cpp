// Long collectives through pipeline buffers, with threads as ranks: any mixture, several in flight on each
// rank, and buffers so short that the data wrap around many times.
#include "coll/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "base/param.h"
#include "region_ranks.h"

namespace hearth::coll {
namespace {

struct Part : RegionPart<PipelineStages> {
  explicit Part(Comm& comm) : schedule(comm) {}
  Schedule schedule;
};

class Rank final : public RegionRank<Part> {
 public:
  using RegionRank::RegionRank;

 protected:
  std::unique_ptr<Part> make() override { return std::make_unique<Part>(comm_); }

  void set_up(const Call& call, Part& part) override {
    int* in = part.in.data();
    int* out = part.out.data();
    Type& type = int_type();
    const OwnBlock one_in{in, call.count, type};
    const OwnBlock one_out{out, call.count, type};
    const RankBlocks all_in(in, call.count, type);
    const RankBlocks all_out(out, call.count, type);
    Schedule& schedule = part.schedule;
    PipelineMoves* moves = nullptr;
    PipelineReduction* reduction = nullptr;
    EXPECT_TRUE(has_pipeline(schedule) && PipelineReduction::fits(schedule, type));
    if (call.what < What::reduce) {
      EXPECT_TRUE(schedule.make_shared(moves, schedule).ok());
      part.shared = moves;
    } else {
      EXPECT_TRUE(schedule.make_shared(reduction, schedule, in, out, type, sum_).ok());
      part.shared = reduction;
    }
    switch (call.what) {
      case What::bcast:
        moves->bcast(out, call.count, type, call.root);
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
      case What::allreduce:
        EXPECT_TRUE((call.other_way ? reduction->allreduce_whole(schedule, call.count)
                                    : reduction->allreduce_shares(schedule, call.count))
                        .ok());
        break;
      case What::blocks:
        EXPECT_TRUE(reduction->reduce_scatter(schedule, nullptr, call.count).ok());
        break;
      default: {
        const bool inclusive = call.what == What::scan;
        EXPECT_TRUE((call.other_way ? reduction->scan_whole(schedule, call.count, inclusive)
                                    : reduction->scan_chain(schedule, call.count, inclusive))
                        .ok());
      }
    }
  }
};

class PipelineBetweenThreads : public RegionRanks<Rank> {
 protected:
  void SetUp() override { set_up(32 * 1024); }

  /// Lengths up to several times the buffer, most of them short.
  static std::vector<Call> all_kinds(size_t calls, uint32_t seed) {
    return mixture(calls, seed, What::bcast, [](std::mt19937& random) {
      return 1 + static_cast<int>(random() % (random() % 8 == 0 ? 20'000 : 200));
    });
  }
};

TEST_F(PipelineBetweenThreads, OneAfterTheOther) {
  run(all_kinds(300, 1), 1, 11);
}

TEST_F(PipelineBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u, 4u}) run(all_kinds(100, seed), 10, seed);
}

// A root that reads nothing runs ahead until its buffers are full, and no further.
TEST_F(PipelineBetweenThreads, OneFillsAllTheTime) {
  run(std::vector<Call>(200, {What::bcast, 1, 1000}), 12, 5);
  run(std::vector<Call>(100, {What::scatter, 2, 1000}), 12, 6);
  run(std::vector<Call>(100, {What::exscan, 0, 1000}), 12, 7);
}

// Buffers of which the first passes use only a part.
class LargePipelineBetweenThreads : public RegionRanks<Rank> {
 protected:
  static constexpr uint64_t kBytes = 2 << 20;

  void SetUp() override { set_up(kBytes, false, kRanks); }
};

TEST_F(LargePipelineBetweenThreads, ManyUnderWay) {
  run(mixture(150, 3, What::bcast,
              [](std::mt19937& random) { return 1 + static_cast<int>(random() % 60'000); }),
      10, 3);
}

TEST_F(LargePipelineBetweenThreads, EachPassUsesMoreOfTheBuffer) {
  const PipelineRing& ring = rank(0).ring();
  for (const int64_t stage_bytes : {int64_t{9} << 10, int64_t{66} << 10, ring.stage_bytes_max()}) {
    const auto bytes = static_cast<uint64_t>(stage_bytes);
    std::vector<uint64_t> used;  // by pass
    for (uint64_t position = 0; position < 400 * kBytes;) {
      const uint64_t begin = ring.fit(position, stage_bytes);
      ASSERT_GE(begin, position);
      const uint64_t place = begin % kBytes;
      ASSERT_LE(place + bytes, kBytes);
      const uint64_t pass = begin / kBytes;
      if (pass >= used.size()) used.resize(pass + 1, 0);
      used[pass] = std::max(used[pass], place + bytes);
      position = begin + bytes;
    }
    used.pop_back();  // the last pass may be incomplete
    EXPECT_LE(used[0], std::max<uint64_t>(4 * bytes, 192 << 10));
    EXPECT_TRUE(std::is_sorted(used.begin(), used.end()));
    EXPECT_GT(used.back(), kBytes - bytes);
  }
}

// Most ranks expose their data without copying.
class ExposuresBetweenThreads : public PipelineBetweenThreads {
 protected:
  static constexpr auto kRow = static_cast<size_t>(param::Id::coll_expose_bytes_min);

  void SetUp() override {
    ASSERT_TRUE(param::set_number(kRow, 1));
    set_up(32 * 1024, true);
  }
  void TearDown() override { param::set_number(kRow, 8192); }
};

TEST_F(ExposuresBetweenThreads, OneAfterTheOther) {
  run(all_kinds(200, 1), 1, 11);
}

TEST_F(ExposuresBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u}) run(all_kinds(60, seed), 10, seed);
}

// A rank that exposes its input copies none of it, but its results still need room in its buffers.
TEST_F(ExposuresBetweenThreads, ResultsWaitForRoom) {
  run(std::vector<Call>(40, {What::allreduce, 0, 20'000}), 2, 8);
  run(std::vector<Call>(40, {What::reduce, 1, 20'000}), 2, 9);
}

// A published result implies that its rank has read all exposed inputs. A rank that has every result needs no
// further acknowledgement.
TEST_F(ExposuresBetweenThreads, ARankWithAllResultsDoesNotWait) {
  run({{What::bcast, 1, 1000}}, 1, 5);
  const Call call = {What::allreduce, 0, 1000};
  std::vector<std::unique_ptr<Part>> parts;
  for (int i = 0; i < kRanks; ++i) parts.push_back(rank(i).start(call, 0, true));
  const auto advance = [&parts](size_t i) { return parts[i]->shared->advance(); };
  for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(advance(i)) << "the last one alone has all data by now";
  EXPECT_FALSE(advance(0));
  EXPECT_FALSE(advance(1));
  EXPECT_TRUE(advance(2)) << "all have shown results, and nobody has read any";
  for (const size_t i : {3, 0, 1}) EXPECT_TRUE(advance(i));
}

TEST_F(ExposuresBetweenThreads, AnAbortedRankWithdrawsItsExposure) {
  run({{What::bcast, 1, 1000}}, 1, 5);
  const PipelineRing& one = rank(1).ring();
  PipelineRing& three = rank(3).ring();
  EXPECT_FALSE(one.exposure(3).withdrawn());
  three.publish_exposure(ZeroCopyExposure::of(70'000, 4096));
  ASSERT_TRUE(one.exposure(3).is_of(70'000));
  EXPECT_FALSE(one.exposure(3).is_of(70'001));
  EXPECT_EQ(one.exposure(3).offset(), 4096u);
  three.withdraw_exposure();
  EXPECT_TRUE(one.exposure(3).withdrawn());
  three.publish_exposure({0});
  EXPECT_TRUE(one.exposure(3).withdrawn()) << "it is trusted again";
}

TEST_F(ExposuresBetweenThreads, WhatWasWithdrawnIsNeverDone) {
  run({{What::bcast, 1, 1000}}, 1, 5);
  const Call call = {What::bcast, 1, 1000};
  const auto root = rank(1).start(call, 0, true);
  const auto reader = rank(2).start(call, 0, true);
  EXPECT_FALSE(root->shared->advance()) << "it waits for its readers";
  rank(1).ring().withdraw_exposure();
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(reader->shared->advance()) << i;
}

}  // namespace
}  // namespace hearth::coll
