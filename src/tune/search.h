// Finds the message length at which one protocol becomes faster than another, by measuring both. Independent
// of MPI: the caller passes the function that measures, and tests pass invented costs. Called by `hearth
// tune`, in one thread.
//
// Two protocols A and B are compared at one length by blocks in the order A B B A without pauses:
// disturbances affect both, and a drift cancels out. The result is the median of the rounds' ratios B / A,
// with an interval from the sign test that contains the true median with at least 95 % confidence for any
// distribution of the noise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace hearth::tune {

/// Times per message of four blocks, in the order in which they ran.
struct Round {
  double first_a_ns, first_b_ns, second_b_ns, second_a_ns;
};

/// Two protocols at one length.
struct Comparison {
  uint64_t bytes = 0;
  double a_ns = 0, b_ns = 0;  // medians
  double ratio = 1;           // b / a, median of the rounds
  double low = 0, high = 0;   // its interval; 0 and infinity if there are too few rounds
  int rounds = 0;

  bool b_is_surely_better() const { return high < 1; }
  bool a_is_surely_better() const { return low > 1; }
};
Comparison judge(uint64_t bytes, std::span<const Round> rounds);

/// The same comparison with A and B exchanged.
Comparison swapped(const Comparison& comparison);

/// A smaller relative gain is not worth deviating from a default.
constexpr double kGainMin = 0.03;

using Measure = std::function<Comparison(uint64_t bytes)>;

/// The result of a search.
struct Crossover {
  /// B is used from this length on; kNever: at no length. None: the default was kept.
  std::optional<uint64_t> from_bytes;
  /// The optimum regardless of the default.
  uint64_t best_bytes = 0;
  std::vector<Comparison> measured;  // sorted by length
};
/// Measures the coarse lengths, then bisects the interval in which B becomes better, down to adjacent lengths
/// in `fine`. Pre: both lists are in rising order, and coarse is a subset of fine.
Crossover find_crossover(std::span<const uint64_t> coarse, std::span<const uint64_t> fine,
                         uint64_t standard_bytes, const Measure& measure);

/// An alternative to a default value, measured at some lengths.
struct Candidate {
  uint64_t value = 0;
  std::vector<Comparison> measured;  // A is the default, B this value
  double mean_ratio() const;         // geometric mean
  /// Whether it should replace the default: surely better at some length, surely worse at none, and better on
  /// average.
  bool is_better() const;
};
/// The best of the candidates that are better; nullptr if the default stays.
const Candidate* find_best(std::span<const Candidate> candidates);

/// Lengths between two limits: powers of two, and 1.5 times powers of two.
std::vector<uint64_t> fine_lengths(uint64_t from, uint64_t to);
/// Every fourth of these lengths, and the last.
std::vector<uint64_t> coarse_lengths(std::span<const uint64_t> fine);

}  // namespace hearth::tune
