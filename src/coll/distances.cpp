#include "coll/distances.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/os_wait.h"

namespace hearth::coll {
namespace {

// The best of several bursts counts, so that what disturbs one of them does not: the first one also opens the
// rings. A burst is long beside a look at the clock and short beside a turn of the scheduler.
constexpr int kBursts = 6;
constexpr int kTripsEach = 16;

/// The time of one line, one way.
int time_to(Schedule& schedule, int partner) {
  uint64_t best_ns = std::numeric_limits<uint64_t>::max();
  for (int burst = 0; burst < kBursts; ++burst) {
    const uint64_t begin_ns = os::now_ns();
    for (int trip = 0; trip < kTripsEach; ++trip) {
      schedule.send_signal(partner);
      schedule.receive_signal(partner);
      schedule.next_round();
    }
    best_ns = std::min(best_ns, os::now_ns() - begin_ns);
  }
  constexpr uint64_t kLongestNs = 1'000'000'000;
  return static_cast<int>(std::clamp<uint64_t>(best_ns / (2 * kTripsEach), 1, kLongestNs));
}

void answer(Schedule& schedule, int partner) {
  for (int trip = 0; trip < kBursts * kTripsEach; ++trip) {
    schedule.receive_signal(partner);
    schedule.next_round();
    schedule.send_signal(partner);
  }
}

}  // namespace

// All but the last sit around a circle; in each round it turns by one seat, and pairs are those whose seats
// add up to the round. Who would meet himself meets the last one, or nobody where the number is odd.
int partner_in_round(int rank, int round, int ranks) {
  const int rounds = tournament_rounds(ranks);
  const int last = rounds;  // not there where the number is odd
  int partner = 0;
  if (rank == last) {
    // Twice this seat is the round: half of rounds + 1 is the inverse of two.
    partner = static_cast<int>(int64_t{round} * ((rounds + 1) / 2) % rounds);
  } else {
    partner = (round - rank + rounds) % rounds;
    if (partner == rank) partner = last;
  }
  return partner < ranks ? partner : -1;
}

Status measure_times(Schedule& schedule, std::span<int> times_ns) {
  for (int round = 0; round < tournament_rounds(schedule.size()); ++round) {
    const int partner = partner_in_round(schedule.rank(), round, schedule.size());
    if (partner < 0) continue;
    int& time_ns = times_ns[static_cast<size_t>(partner)];
    // While threads of both make communicators, one of the two may know already what the other does not.
    int partner_knows = 0;
    schedule.send_bytes(&time_ns, sizeof time_ns, partner);
    schedule.receive_bytes(&partner_knows, sizeof partner_knows, partner);
    schedule.next_round();
    time_ns = std::max(time_ns, partner_knows);
    if (time_ns != 0) continue;
    if (schedule.rank() < partner) {
      time_ns = time_to(schedule, partner);
    } else {
      answer(schedule, partner);
    }
  }
  return {};
}

}  // namespace hearth::coll
