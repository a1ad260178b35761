// Prints the access counters of the busiest rank in a collective, by algorithm and number of ranks: the
// tables of docs/design/collectives.md.
#include <cstdio>
#include <cstring>
#include <string>

#include "counted_calls.h"

namespace {

using namespace hearth::coll;

constexpr int kRanks[] = {2, 4, 8, 16, 64, 256};
// A multiple of the number of slots per rank, so that work that is not done in every collective counts in
// proportion.
constexpr int kTimes = 16;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 99.95 || value == static_cast<int>(value) ? "%.0f" : "%.1f",
                value);
  return text;
}

/// Cache lines written and read, waits, length of the chain.
std::string short_cell(const CountedCall&, const Counts& counts) {
  return number(counts.lines_written) + " " + number(counts.lines_read) + " " + number(counts.waits) + " " +
         number(counts.chain);
}
std::string short_bound(const CountedCall& call, int ranks) {
  return "- " + number(bound(call, ranks).lines_read) + " 1 1";
}

/// Bytes read, copied and reduced, in units of a vector or block; length of the chain.
std::string long_cell(const CountedCall& call, const Counts& counts) {
  const auto unit = static_cast<double>(call.bytes);
  return number(counts.lines_read * 64 / unit) + " " + number(counts.copied / unit) + " " +
         number(counts.reduced / unit) + " " + number(counts.chain);
}
std::string long_bound(const CountedCall& call, int ranks) {
  const Counts least = bound(call, ranks);
  const auto unit = static_cast<double>(call.bytes);
  return number(least.lines_read * 64 / unit) + " - " + number(least.reduced / unit) + " 1";
}

template <class Cell, class Bound>
bool print(std::span<const CountedCall> calls, const char* what, const Cell& cell, const Bound& least) {
  std::printf("%s\n\n| collective | algorithm |", what);
  for (const int ranks : kRanks) std::printf(" %d |", ranks);
  std::printf("\n|---|---|");
  for ([[maybe_unused]] const int ranks : kRanks) std::printf("---|");
  std::printf("\n");
  bool right = true;
  const char* last = "";
  for (const CountedCall& call : calls) {
    if (std::strcmp(last, call.collective) != 0) {
      std::printf("| %s | at least |", call.collective);
      for (const int ranks : kRanks) std::printf(" %s |", least(call, ranks).c_str());
      std::printf("\n");
      last = call.collective;
    }
    std::printf("| | `%s` |", call.algorithm);
    for (const int ranks : kRanks) {
      if (!is_right(call, ranks)) {
        std::printf(" |");
        continue;
      }
      CountedRanks machine(ranks);
      const Counted counted = count(call, machine, kTimes);
      right &= counted.right_data;
      std::printf(" %s |", counted.right_data ? cell(call, counted.most).c_str() : "wrong");
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("\n");
  return right;
}

}  // namespace

int main() {
  bool right =
      print(short_calls(), "8 bytes: lines written, lines read, waits, chain", short_cell, short_bound);
  right &= print(long_calls(), "Vectors of 64 KiB, blocks of 1 KiB: read, copied, reduced, chain", long_cell,
                 long_bound);
  return right ? 0 : 1;
}
