#include "coll/distances.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/os_wait.h"

namespace hearth::coll {
namespace {

// The fastest burst counts, which excludes disturbances; the first burst also opens the rings. A burst is
// long compared to reading the clock and short compared to a time slice of the scheduler.
constexpr int kBursts = 6;
constexpr int kTripsEach = 16;

/// The one-way time of a cache line in nanoseconds.
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

// Circle method: ranks form a pair in a round if their sum is the round, modulo the number of rounds. A rank
// that would be its own partner meets the last rank, which is outside of the circle. If the number of ranks
// is odd, it has no partner.
int partner_in_round(int rank, int round, int ranks) {
  const int rounds = tournament_rounds(ranks);
  const int last = rounds;  // does not exist if the number of ranks is odd
  int partner = 0;
  if (rank == last) {
    // The rank whose double is the round: (rounds + 1) / 2 is the inverse of two modulo `rounds`.
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
    // If threads of both processes make communicators concurrently, only one of the two may know the time.
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
