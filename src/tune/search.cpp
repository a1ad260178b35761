#include "tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "tune/interval.h"
#include "tune/threshold.h"

namespace hearth::tune {
namespace {

// Compares using B from length `from` on with using B from `standard` on, at a length where the two differ: a
// ratio below 1 means that the former is better.
Comparison of_change(const Comparison& at, uint64_t from, uint64_t standard) {
  return from < standard ? at : swapped(at);
}

bool worth_changing(std::span<const Comparison> measured, uint64_t from, uint64_t standard) {
  double sum = 0;
  int lengths = 0;
  bool sure = false;
  for (const Comparison& at : measured) {
    if (at.bytes < std::min(from, standard) || at.bytes >= std::max(from, standard)) continue;
    const Comparison change = of_change(at, from, standard);
    sure = sure || (change.b_is_surely_better() && change.ratio <= 1 - kGainMin);
    sum += std::log(change.ratio);
    ++lengths;
  }
  return sure && sum / lengths <= std::log(1 - kGainMin);
}

// Index of the measured length from which on B should be used: the one with the least product of ratios. A
// ratio close to 1 that may be noise counts as 1.
size_t best_place(std::span<const Comparison> measured) {
  size_t best = measured.size();
  double least = 0, sum = 0;
  for (size_t i = measured.size(); i-- > 0;) {
    const Comparison& at = measured[i];
    const bool sure = at.b_is_surely_better() || at.a_is_surely_better();
    if (sure || std::abs(std::log(at.ratio)) > kGainMin) sum += std::log(at.ratio);
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  return best;
}

}  // namespace

Comparison judge(uint64_t bytes, std::span<const Round> rounds) {
  Comparison result;
  result.bytes = bytes;
  result.rounds = static_cast<int>(rounds.size());
  result.high = std::numeric_limits<double>::infinity();
  if (rounds.empty()) return result;
  std::vector<double> a, b, ratios;
  for (const Round& round : rounds) {
    a.push_back((round.first_a_ns + round.second_a_ns) / 2);
    b.push_back((round.first_b_ns + round.second_b_ns) / 2);
    ratios.push_back(b.back() / a.back());
  }
  result.a_ns = median(a);
  result.b_ns = median(b);
  const Interval ratio = median_interval(ratios);
  result.ratio = ratio.middle;
  result.low = ratio.low;
  result.high = ratio.high;
  return result;
}

Comparison swapped(const Comparison& comparison) {
  Comparison result = comparison;
  std::swap(result.a_ns, result.b_ns);
  result.ratio = 1 / comparison.ratio;
  result.low = 1 / comparison.high;
  result.high = 1 / comparison.low;
  return result;
}

Crossover find_crossover(std::span<const uint64_t> coarse, std::span<const uint64_t> fine,
                         uint64_t standard_bytes, const Measure& measure) {
  HEARTH_CHECK(!coarse.empty());
  Crossover result;
  for (const uint64_t bytes : coarse) result.measured.push_back(measure(bytes));
  const size_t place = best_place(result.measured);
  result.best_bytes = place == coarse.size() ? kNever : coarse[place];
  if (place > 0) {
    const uint64_t below = coarse[place - 1];
    // If B is better at no coarse length, there is no interval to search.
    const uint64_t above = result.best_bytes;
    const auto first = std::upper_bound(fine.begin(), fine.end(), below);
    const auto last = above == kNever ? first : std::lower_bound(fine.begin(), fine.end(), above);
    auto low = first, high = last;  // B is better at *high; the result is in [low, high]
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      result.measured.push_back(measure(*middle));
      if (result.measured.back().ratio < 1) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (above != kNever && high != last) result.best_bytes = *high;
  }
  std::sort(result.measured.begin(), result.measured.end(),
            [](const Comparison& x, const Comparison& y) { return x.bytes < y.bytes; });
  // Better from the smallest measured length on: counts as better at all lengths.
  if (result.best_bytes == fine.front()) result.best_bytes = 0;
  if (worth_changing(result.measured, result.best_bytes, standard_bytes))
    result.from_bytes = result.best_bytes;
  return result;
}

double Candidate::mean_ratio() const {
  double sum = 0;
  for (const Comparison& at : measured) sum += std::log(at.ratio);
  return measured.empty() ? 1 : std::exp(sum / static_cast<double>(measured.size()));
}

bool Candidate::is_better() const {
  const auto surely_better = [](const Comparison& at) { return at.b_is_surely_better(); };
  const auto surely_worse = [](const Comparison& at) { return at.a_is_surely_better(); };
  return std::any_of(measured.begin(), measured.end(), surely_better) &&
         std::none_of(measured.begin(), measured.end(), surely_worse) && mean_ratio() <= 1 - kGainMin;
}

const Candidate* find_best(std::span<const Candidate> candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_better()) continue;
    if (best == nullptr || candidate.mean_ratio() < best->mean_ratio()) best = &candidate;
  }
  return best;
}

std::vector<uint64_t> fine_lengths(uint64_t from, uint64_t to) {
  std::vector<uint64_t> result;
  for (uint64_t power = 2; power <= to; power *= 2) {
    if (power >= from) result.push_back(power);
    if (power + power / 2 >= from && power + power / 2 <= to) result.push_back(power + power / 2);
  }
  return result;
}

std::vector<uint64_t> coarse_lengths(std::span<const uint64_t> fine) {
  std::vector<uint64_t> result;
  for (size_t i = 0; i < fine.size(); i += 4) result.push_back(fine[i]);
  if (!fine.empty() && result.back() != fine.back()) result.push_back(fine.back());
  return result;
}

}  // namespace hearth::tune
