// Where one way for a message becomes better than another, found by measuring both. Knows nothing of MPI:
// what measures is handed in, so that tests use invented costs. Called by `hearth tune`, in one thread.
//
// Two ways are compared at one length by blocks A B B A, one right after the other: whatever the machine does
// meanwhile meets both, and a drift cancels out. Of the rounds' ratios B / A the median counts, and the sign
// test tells how sure it is: the interval holds the true median with 95 % or more, whatever the noise is
// like.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace hearth::tune {

/// The times per message of four blocks, in the order in which they ran.
struct Round {
  double first_a_ns, first_b_ns, second_b_ns, second_a_ns;
};

/// Two ways at one length.
struct Comparison {
  uint64_t bytes = 0;
  double a_ns = 0, b_ns = 0;  // medians
  double ratio = 1;           // b / a, median of rounds
  double low = 0, high = 0;   // its interval; 0 and infinity when there are too few rounds to tell
  int rounds = 0;

  bool b_is_surely_better() const { return high < 1; }
  bool a_is_surely_better() const { return low > 1; }
};
Comparison judge(uint64_t bytes, std::span<const Round> rounds);

/// The same the other way round.
Comparison swapped(const Comparison& comparison);

/// A difference smaller than this share is not worth leaving a default for.
constexpr double kGainMin = 0.03;

using Measure = std::function<Comparison(uint64_t bytes)>;

/// What a search came to.
struct Crossover {
  /// Way B is used from here on; kNever: at no length. None: the default was kept.
  std::optional<uint64_t> from_bytes;
  /// What would have been chosen if the default did not count.
  uint64_t best_bytes = 0;
  std::vector<Comparison> measured;  // by length
};
/// Looks at the coarse lengths first, then halves the interval in which B becomes better, down to neighbours
/// in `fine`. Pre: both lists rise, and coarse is a part of fine.
Crossover find_crossover(std::span<const uint64_t> coarse, std::span<const uint64_t> fine,
                         uint64_t standard_bytes, const Measure& measure);

/// One value instead of another, at some lengths.
struct Candidate {
  uint64_t value = 0;
  std::vector<Comparison> measured;  // A is the default, B this value
  double mean_ratio() const;         // geometric
  /// Worth leaving the default for: surely better at some length, surely worse at none, and better on
  /// average.
  bool is_better() const;
};
/// The best of those that are better; nullptr when the default stays.
const Candidate* find_best(std::span<const Candidate> candidates);

/// Lengths between two limits: powers of two and, between them, the same times 1.5.
std::vector<uint64_t> fine_lengths(uint64_t from, uint64_t to);
/// Of these those that are a power of four times the first, and the last.
std::vector<uint64_t> coarse_lengths(std::span<const uint64_t> fine);

}  // namespace hearth::tune
