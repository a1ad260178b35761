#include "tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tune/threshold.h"

namespace hearth::tune {
namespace {

constexpr uint64_t KiB = 1024, MiB = KiB * KiB;

/// The cost of a protocol: a startup time, then a throughput in bytes per nanosecond.
struct Way {
  double begin_ns;
  double bytes_per_ns;
  double ns(uint64_t bytes) const { return begin_ns + static_cast<double>(bytes) / bytes_per_ns; }
};

/// Simulates measurements of two protocols on a machine as noisy as a virtual one.
class Machine {
 public:
  Machine(const Way& a, const Way& b, unsigned seed) : a_(a), b_(b), random_(seed) {}

  Comparison measure(uint64_t bytes) {
    std::vector<Round> rounds;
    for (int i = 0; i < kRounds; ++i) {
      // The machine changes at random between full speed and a quarter of it.
      if (std::uniform_int_distribution(0, 9)(random_) == 0) state_ = state_ == 1 ? 4 : 1;
      rounds.push_back({noisy(a_, bytes), noisy(b_, bytes), noisy(b_, bytes), noisy(a_, bytes)});
    }
    ++measured_;
    return judge(bytes, rounds);
  }
  int measured() const { return measured_; }

 private:
  static constexpr int kRounds = 15;
  double noisy(const Way& way, uint64_t bytes) {
    const bool disturbed = std::uniform_int_distribution(0, 24)(random_) == 0;
    return way.ns(bytes) * state_ * std::exp(std::normal_distribution(0.0, 0.03)(random_)) *
           (disturbed ? 5 : 1);
  }

  const Way a_, b_;
  std::mt19937 random_;
  double state_ = 1;
  int measured_ = 0;
};

const std::vector<uint64_t> kFine = fine_lengths(4 * KiB, 16 * MiB);
const std::vector<uint64_t> kCoarse = coarse_lengths(kFine);

Crossover search(const Way& a, const Way& b, uint64_t standard, unsigned seed, int* measured = nullptr) {
  Machine machine(a, b, seed);
  const Crossover result =
      find_crossover(kCoarse, kFine, standard, [&](uint64_t bytes) { return machine.measure(bytes); });
  if (measured != nullptr) *measured = machine.measured();
  return result;
}

TEST(Lengths, PowersOfTwoAndHalfWayBetween) {
  EXPECT_EQ(fine_lengths(5, 32), (std::vector<uint64_t>{6, 8, 12, 16, 24, 32}));
  EXPECT_EQ(kCoarse, (std::vector<uint64_t>{4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB}));
  EXPECT_TRUE(std::includes(kFine.begin(), kFine.end(), kCoarse.begin(), kCoarse.end()));
}

TEST(Judge, NothingIsSureWithFewRounds) {
  const std::vector<Round> rounds(5, {100, 50, 50, 100});
  const Comparison few = judge(8, rounds);
  EXPECT_DOUBLE_EQ(few.ratio, 0.5);
  EXPECT_FALSE(few.b_is_surely_better());
  EXPECT_FALSE(judge(8, {}).a_is_surely_better());
  const Comparison enough = judge(8, std::vector<Round>(6, {100, 50, 50, 100}));
  EXPECT_TRUE(enough.b_is_surely_better());
  EXPECT_TRUE(swapped(enough).a_is_surely_better());
  EXPECT_DOUBLE_EQ(swapped(enough).ratio, 2);
  EXPECT_DOUBLE_EQ(swapped(enough).a_ns, 50);
}

TEST(Judge, ADriftCancelsOut) {
  std::vector<Round> rounds;
  for (int i = 0; i < 8; ++i) {
    const double t = 100 + 40 * i;
    rounds.push_back({t, t + 10, t + 20, t + 30});
  }
  EXPECT_NEAR(judge(8, rounds).ratio, 1, 1e-9);
}

// The exact probabilities of the binomial distribution.
TEST(Judge, TheIntervalIsTheSignTests) {
  std::vector<Round> rounds;
  for (int i = 1; i <= 12; ++i) rounds.push_back({1.0, 1.0 * i, 1.0 * i, 1.0});
  const Comparison at = judge(8, rounds);
  EXPECT_DOUBLE_EQ(at.ratio, 6.5);
  EXPECT_DOUBLE_EQ(at.low, 3);
  EXPECT_DOUBLE_EQ(at.high, 10);
}

TEST(Judge, EqualWaysAreSeldomCalledDifferent) {
  const Way same = {500, 10};
  Machine machine(same, same, 7);
  int sure = 0;
  for (int i = 0; i < 400; ++i) {
    const Comparison at = machine.measure(64 * KiB);
    sure += at.a_is_surely_better() || at.b_is_surely_better();
  }
  EXPECT_LE(sure, 32) << "of 400; 5 % are allowed";
}

TEST(Crossover, IsFoundWhereTheCostsMeet) {
  // Equal at 320 KiB; the neighbours in the list are 256 and 384 KiB.
  const Way a = {500, 20}, b = {500 + 320 * 1024.0 / 20 / 2, 40};
  for (unsigned seed = 0; seed < 40; ++seed) {
    int measured = 0;
    const Crossover found = search(a, b, kNever, seed, &measured);
    ASSERT_TRUE(found.from_bytes) << seed;
    EXPECT_GE(*found.from_bytes, 256 * KiB) << seed;
    EXPECT_LE(*found.from_bytes, 512 * KiB) << seed;
    EXPECT_LE(measured, static_cast<int>(kCoarse.size()) + 2);
    EXPECT_EQ(measured, static_cast<int>(found.measured.size()));
    EXPECT_TRUE(std::is_sorted(found.measured.begin(), found.measured.end(),
                               [](const Comparison& x, const Comparison& y) { return x.bytes < y.bytes; }));
  }
}

TEST(Crossover, ADefaultThatIsAsGoodIsKept) {
  const Way a = {500, 20}, b = {500 + 320 * 1024.0 / 20 / 2, 40};
  for (unsigned seed = 0; seed < 40; ++seed) {
    EXPECT_FALSE(search(a, b, 384 * KiB, seed).from_bytes) << seed;
    EXPECT_FALSE(search(a, a, 256 * KiB, seed).from_bytes) << seed;
    EXPECT_FALSE(search(a, a, kNever, seed).from_bytes) << seed;
  }
}

TEST(Crossover, AWayThatIsAlwaysBetterOrNever) {
  const Way slow = {1000, 10}, fast = {500, 20};
  for (unsigned seed = 0; seed < 40; ++seed) {
    EXPECT_EQ(search(slow, fast, kNever, seed).from_bytes, 0u);
    EXPECT_EQ(search(fast, slow, 256 * KiB, seed).from_bytes, kNever);
    EXPECT_FALSE(search(fast, slow, kNever, seed).from_bytes);
    EXPECT_FALSE(search(slow, fast, 0, seed).from_bytes);
  }
}

TEST(Crossover, BetterInTheMiddleOnlyWeighsGainAgainstLoss) {
  const auto measure = [](double middle, double large) {
    return [middle, large](uint64_t bytes) {
      const double b = bytes < 64 * KiB ? 200 : bytes < 4 * MiB ? middle : large;
      return judge(bytes, std::vector<Round>(8, {100, b, b, 100}));
    };
  };
  EXPECT_EQ(find_crossover(kCoarse, kFine, kNever, measure(30, 110)).from_bytes, 64 * KiB);
  EXPECT_FALSE(find_crossover(kCoarse, kFine, kNever, measure(95, 300)).from_bytes);
}

Candidate candidate(uint64_t value, std::vector<double> ratios) {
  Candidate made = {value, {}};
  for (const double ratio : ratios) {
    made.measured.push_back(judge(1024, std::vector<Round>(8, {100, 100 * ratio, 100 * ratio, 100})));
  }
  return made;
}

TEST(Best, OnlyWhatIsBetterAndNowhereWorse) {
  const std::vector<Candidate> some = {candidate(1, {0.8, 1.05}), candidate(2, {0.95, 0.9}),
                                       candidate(3, {0.9, 0.85}), candidate(4, {0.99, 0.985})};
  ASSERT_NE(find_best(some), nullptr);
  EXPECT_EQ(find_best(some)->value, 3u);
  EXPECT_EQ(find_best(std::vector<Candidate>{some[0], some[3]}), nullptr);
  EXPECT_EQ(find_best({}), nullptr);
  EXPECT_EQ(Candidate().mean_ratio(), 1);
}

}  // namespace
}  // namespace hearth::tune
