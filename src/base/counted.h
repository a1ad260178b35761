// Whether this build tells what it does to shared memory (coll/footprint.h). Only a test's build does.
#pragma once

namespace hearth {

#ifdef HEARTH_COUNTED
constexpr bool kCounted = true;
#else
constexpr bool kCounted = false;
#endif

}  // namespace hearth
