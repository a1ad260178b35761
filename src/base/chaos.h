// Fault injection for tests: `HEARTH_CHAOS` and `mpiexec --chaos` (docs/design/reliability.md).
//
//   seed=N        legal but unusual behaviour, drawn from N and the rank: delays at the named points of
//                 chaos.def, another order of polling the peers, sleeps that end early, short copies,
//                 parameters with extreme values. A number alone means the same.
//   fail=KIND:n   the n-th call of a kind of chaos.def fails, with the errno given there; any:n: all kinds
//   kill=POINT:n  SIGKILL at the n-th passage of a named point
//   rank=R        only in rank R, or in `mpiexec`; without it calls fail in every rank, and rank 0 is killed
//
// Each injected fault is printed on standard error, so that a test that increases n knows when to stop. If no
// faults are requested, each point and call costs one load of a flag. Points are placed where an operation
// takes long anyway, never on the fast path of a message.
//
// Any thread may pass points; begin() must have been called before, by one thread. All state is private to
// the process; a child made by fork has a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace hearth::chaos {

enum class Point : uint8_t {
#define HEARTH_CHAOS_POINT(name, text) name,
#define HEARTH_CHAOS_CALL(name, error, text)
#include "base/chaos.def"
#undef HEARTH_CHAOS_POINT
#undef HEARTH_CHAOS_CALL
  count_
};

enum class Call : uint8_t {
#define HEARTH_CHAOS_POINT(name, text)
#define HEARTH_CHAOS_CALL(name, error, text) name,
#include "base/chaos.def"
#undef HEARTH_CHAOS_POINT
#undef HEARTH_CHAOS_CALL
  count_
};

/// What the option requests.
struct Plan {
  static constexpr int kEveryRank = -1;
  static constexpr int kLauncher = -2;

  bool disorder = false;
  uint64_t seed = 0;
  int rank = kEveryRank;
  uint64_t fail_at = 0;      // 0: no call fails
  Call fail = Call::count_;  // count_: any
  uint64_t kill_at = 0;      // 0: no process is killed
  Point kill = Point::count_;
};
/// Parses the value of `HEARTH_CHAOS` or --chaos.
Status parse(const std::string& text, Plan& plan);

/// Starts the injection that `instead`, or HEARTH_CHAOS if `instead` is empty, requests, in a rank or in
/// mpiexec (Plan::kLauncher). Does nothing if the text is empty; reports a text that cannot be parsed. Called
/// before parameters are used.
void begin(int rank, const std::string& instead = "");
/// The same with a parsed plan.
void begin(const Plan& plan, int rank);

namespace detail {
inline bool armed = false;
[[gnu::cold]] void pass(Point point);
[[gnu::cold]] bool refuse(Call call);
[[gnu::cold]] size_t draw_below(size_t end);
}  // namespace detail

/// Marks a named point.
inline void at(Point point) {
  if (__builtin_expect(detail::armed, 0)) detail::pass(point);
}
/// Called before a system call: whether it is to fail instead; errno is set then.
inline bool refuses(Call call) {
  return __builtin_expect(detail::armed, 0) && detail::refuse(call);
}
/// A pseudo-random number below `end`; 0 unless disorder is requested.
inline size_t draw(size_t end) {
  return __builtin_expect(detail::armed, 0) ? detail::draw_below(end) : 0;
}
/// How many of these bytes to copy at a time: all of them unless short copies are requested.
inline size_t shortened(size_t bytes) {
  const size_t left_out = draw(bytes);
  return draw(2) == 0 ? bytes : bytes - left_out;
}
/// Whether short messages must take a slower path that contains points.
bool disables_fast_path();

}  // namespace hearth::chaos
