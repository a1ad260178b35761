// Measured distances between processes: the time that a cache line takes from one to the other. The
// measurement is a tournament: each pair of processes meets once, half of the processes measure at a time,
// and there are about as many rounds as processes.
//
// Cost: a round is 6 bursts of 16 round trips of one line. Including the first use of its two rings it took
// 65 to 80 us between two virtual processors that share a cache (November 2026), so 16 processes with a
// processor each take about a millisecond. The rings between the pairs stay allocated.
#pragma once

#include <span>

#include "base/status.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// Number of rounds of a tournament among `ranks` processes.
constexpr int tournament_rounds(int ranks) {
  return ranks % 2 == 0 ? ranks - 1 : ranks;
}
/// The partner of `rank` in a round, counted from 0; -1 if it has none.
int partner_in_round(int rank, int round, int ranks);

/// Collective, blocking only (run()). On entry times_ns[rank] is the time to `rank` that this process knows,
/// 0 if it knows none. If neither process of a pair knows their time, the one with the lower rank measures it
/// and has it on return.
Status measure_times(Schedule& schedule, std::span<int> times_ns);

}  // namespace hearth::coll
