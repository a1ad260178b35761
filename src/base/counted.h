// Whether this build reports the library's accesses to shared memory to the counters of tests/counts. Only
// that test's build does.
#pragma once

namespace hearth {

#ifdef HEARTH_COUNTED
constexpr bool kCounted = true;
#else
constexpr bool kCounted = false;
#endif

}  // namespace hearth
