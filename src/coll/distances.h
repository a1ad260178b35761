// How far processes are apart, measured: the time of one line of memory from one to the other. A tournament
// in which each meets each other once, half of them at a time, so that it takes as many rounds as there are
// others.
//
// What it costs: a round is 6 bursts of 16 round trips of one line. With the first use of its two rings that
// was 65 to 80 us between two virtual processors that share a cache (2026-11), so 16 processes that have a
// processor each take about a millisecond. The rings that the pairs talk through stay.
#pragma once

#include <span>

#include "base/status.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// Rounds that a tournament of so many takes.
constexpr int tournament_rounds(int ranks) {
  return ranks % 2 == 0 ? ranks - 1 : ranks;
}
/// Whom `rank` meets in a round, counted from 0; -1 for nobody.
int partner_in_round(int rank, int round, int ranks);

/// Collective, blocking only (run()). On entry times_ns[rank] is what this process knows of its time to
/// `rank`, 0 for nothing. What neither of two knows is measured by the one with the lower rank, who has all
/// their times on return.
Status measure_times(Schedule& schedule, std::span<int> times_ns);

}  // namespace hearth::coll
