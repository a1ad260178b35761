// Blocking flat collectives as direct code, with threads as ranks. A call that finds a rank late, or a
// mismatch, is completed by FlatSlots, as in the library.
#include "coll/flat_call.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/atomic.h"
#include "flat_collectives.h"
#include "region_ranks.h"

namespace hearth::coll {
namespace {

constexpr int kShort = 3;  // ints per pair of ranks
static_assert(kRanks * kShort * sizeof(int) <= shm::kSlotPayloadBytes);

// Calls by how they ended: complete, or left to FlatSlots before or after they published.
uint32_t complete_calls, calls_left_before, calls_left_after;

/// One blocking call; begin() does what the direct code can.
class CallThenSlots final : public SharedCollective {
 public:
  explicit CallThenSlots(CollectiveRegion& region) : region_(region), slots_(region, &room_) {}

  std::function<bool(FlatCall&)> run_call;
  std::function<void(FlatSlots&)> set_slots;
  Collective kind = Collective::barrier;
  int rounds = 1;

  void begin() override {
    FlatCall call(region_, kind, rounds);
    is_complete_ = run_call(call);
    outcome = call.outcome();
    if (is_complete_) {
      atomic::fetch_add(complete_calls, 1u);
    } else {
      atomic::fetch_add(call.progress().has_published ? calls_left_after : calls_left_before, 1u);
      set_slots(slots_);
      slots_.resume(call.progress());
    }
  }
  bool advance() override {
    if (is_complete_) return true;
    if (!slots_.advance()) return false;
    outcome = slots_.outcome;
    return true;
  }
  bool check_failure() override { return false; }

 private:
  CollectiveRegion& region_;
  FlatSlots::Room room_;
  FlatSlots slots_;
  bool is_complete_ = false;
};

struct Part : RegionPart<CallThenSlots> {
  explicit Part(CollectiveRegion& region) : call(region) { shared = &call; }
  CallThenSlots call;
};

class Rank final : public RegionRank<Part> {
 public:
  using RegionRank::RegionRank;

 protected:
  std::unique_ptr<Part> make() override { return std::make_unique<Part>(*CollectiveRegion::of(comm_)); }
  void set_up(const Call& call, Part& part) override {
    const auto set = [this, call, in = part.in.data(), out = part.out.data()](auto& slots) {
      return set_collective(slots, call, in, out, int_type(), sum_);
    };
    part.call.run_call = set;
    part.call.set_slots = set;
    part.call.kind = kind_of(call.what);
    part.call.rounds = call.other_way ? 1 : 1000;  // the first rank to arrive is late in some calls
  }
};

class FlatCallsBetweenThreads : public RegionRanks<Rank> {
 protected:
  void SetUp() override {
    set_up(4096);
    complete_calls = calls_left_before = calls_left_after = 0;
  }
  static std::vector<Call> all_kinds(size_t calls, uint32_t seed) {
    return mixture(calls, seed, What::barrier, [](std::mt19937&) { return kShort; });
  }
};

TEST_F(FlatCallsBetweenThreads, CompleteOrContinueInSlots) {
  for (const uint32_t seed : {1u, 2u}) run(all_kinds(2000, seed), 1, seed);
  EXPECT_GT(complete_calls, 0u);
  EXPECT_GT(calls_left_after, 0u);
}

// With more calls in flight than slots, a call finds its slot in use.
TEST_F(FlatCallsBetweenThreads, ContinueInSlotsWhereNoSlotIsFree) {
  run(all_kinds(1000, 3), 20, 3);
  EXPECT_GT(calls_left_before, 0u);
}

}  // namespace
}  // namespace hearth::coll
