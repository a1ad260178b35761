// Flat small collectives over a collective region, with threads as ranks: any mixture, several in flight on
// each rank. Results are compared bit by bit with values computed from the inputs.
#include "coll/flat_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "flat_collectives.h"
#include "region_ranks.h"

namespace hearth::coll {
namespace {

constexpr int kShort = 3;   // ints per pair of ranks: fits a slot
constexpr int kLong = 512;  // the data of four ranks just fit an overflow buffer
static_assert(kRanks * kLong * sizeof(int) == shm::kOverflowPayloadBytes);

struct Part : RegionPart<FlatSlots> {
  explicit Part(CollectiveRegion& region) : slots(region, &room) { shared = &slots; }
  FlatSlots::Room room;
  FlatSlots slots;
};

class Rank final : public RegionRank<Part> {
 public:
  using RegionRank::RegionRank;

 protected:
  std::unique_ptr<Part> make() override { return std::make_unique<Part>(*CollectiveRegion::of(comm_)); }
  void set_up(const Call& call, Part& part) override {
    set_collective(part.slots, call, part.in.data(), part.out.data(), int_type(), sum_);
  }
};

class FlatSlotsBetweenThreads : public RegionRanks<Rank> {
 protected:
  void SetUp() override { set_up(4096); }

  static std::vector<Call> all_kinds(size_t calls, uint32_t seed) {
    return mixture(calls, seed, What::barrier, [](std::mt19937& random) {
      return random() % 3 == 0 ? 1 + static_cast<int>(random() % kLong) : kShort;
    });
  }
};

TEST_F(FlatSlotsBetweenThreads, OneAfterTheOther) {
  run(all_kinds(3000, 1), 1, 11);
}

// More collectives in flight than slots: a collective waits until its slot is free.
TEST_F(FlatSlotsBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u, 4u}) run(all_kinds(1000, seed), 20, seed);
}

// A root that reads from no rank runs ahead until its slots are used up, and no further.
TEST_F(FlatSlotsBetweenThreads, OneSpeaksAllTheTime) {
  run(std::vector<Call>(2000, {What::bcast, 1, kLong}), 12, 5);
  run(std::vector<Call>(2000, {What::gather, 2, kShort}), 12, 6);
  run(std::vector<Call>(500, {What::exscan, 0, kShort}), 12, 7);
}

TEST(SlotHeader, IsWhatWasSaidAlsoWhereNumbersComeRound) {
  const SlotHeader header = slot_header_of(0xffff'fffe, what_of(2048, Collective::scatter, 65'539), 8);
  EXPECT_EQ(header.number(), 0xffff'fffeu);
  EXPECT_EQ(header.bytes(), 2048);
  EXPECT_EQ(header.kind(), Collective::scatter);
  EXPECT_TRUE(header.is_after(65'539) && header.is_after(3));
  EXPECT_FALSE(header.is_after(4));
  EXPECT_EQ(header.lag(), 8u);
  EXPECT_EQ(header.what(), what_of(2048, Collective::scatter, 3));
}

TEST(CallHeader, IsWhatWasAnnounced) {
  const CallHeader long_call = call_header_of(65'539, 257, Collective::allgather, int64_t{1} << 35);
  EXPECT_EQ(long_call.generation(), 3u);
  EXPECT_EQ(long_call.small_begun(), 1u);
  EXPECT_EQ(long_call.kind(), Collective::allgather);
  EXPECT_EQ(long_call.bytes(), int64_t{1} << 35);
  EXPECT_EQ(call_header_of(1, 0, Collective::bcast, int64_t{1} << 40).bytes(), CallHeader::kBytesMax);
}

}  // namespace
}  // namespace hearth::coll
