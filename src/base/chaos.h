// Faults on purpose, for tests: `HEARTH_CHAOS` and `mpiexec --chaos` (docs/design/reliability.md).
//
//   seed=N        legal disorder, drawn from N and the rank: delays at the named points of chaos.def, the
//   order
//                 in which peers are looked at, sleeps that end early, copies that come short, parameters at
//                 the ends of what they may be. A number alone is the same.
//   fail=KIND:n   the n-th call of a kind of chaos.def fails, as the system would have it; any:n of all kinds
//   kill=POINT:n  SIGKILL at the n-th passage of a named point
//   rank=R        only there, or `mpiexec`; without it every rank fails, and rank 0 is killed
//
// What was done is said on standard error, so that whoever goes through all n knows when there are no more.
// While nothing is asked for, all of it costs one load of a flag where a point or a call is. Points stand
// where something else takes long already: never on the shortest way of a message.
//
// Any thread may pass points; begin() comes first, from one. All state is the process's own; a child that
// fork makes has a copy.
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

/// What was asked for.
struct Plan {
  static constexpr int kEveryRank = -1;
  static constexpr int kLauncher = -2;

  bool disorder = false;
  uint64_t seed = 0;
  int rank = kEveryRank;
  uint64_t fail_at = 0;      // 0: no call fails
  Call fail = Call::count_;  // count_: any
  uint64_t kill_at = 0;      // 0: nobody is killed
  Point kill = Point::count_;
};
/// Reads what `HEARTH_CHAOS` and --chaos say.
Status parse(const std::string& text, Plan& plan);

/// Begins what HEARTH_CHAOS, or `instead` where that is not empty, asks for, in a rank or (Plan::kLauncher)
/// in mpiexec; nothing where it is empty or cannot be read, which is said. Before parameters are used.
void begin(int rank, const std::string& instead = "");
/// The same for who has the plan already.
void begin(const Plan& plan, int rank);

namespace detail {
inline bool armed = false;
[[gnu::cold]] void pass(Point point);
[[gnu::cold]] bool refuse(Call call);
[[gnu::cold]] size_t draw_below(size_t end);
}  // namespace detail

/// The process is at a named point.
inline void at(Point point) {
  if (__builtin_expect(detail::armed, 0)) detail::pass(point);
}
/// Whether a system call is to fail, with errno as the system would set it. Asked instead of making it.
inline bool refuses(Call call) {
  return __builtin_expect(detail::armed, 0) && detail::refuse(call);
}
/// A number below `end`, which is 0 where no disorder is wanted.
inline size_t draw(size_t end) {
  return __builtin_expect(detail::armed, 0) ? detail::draw_below(end) : 0;
}
/// How much of so many bytes is to be copied at once: all but where short copies are wanted.
inline size_t shortened(size_t bytes) {
  const size_t left_out = draw(bytes);
  return draw(2) == 0 ? bytes : bytes - left_out;
}
/// Whether short messages take a longer way on which there are points.
bool wants_detours();

}  // namespace hearth::chaos
