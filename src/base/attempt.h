// Steps that may find no memory, inside calls in which other processes wait for this one.
#pragma once

#include <new>

#include "base/status.h"

namespace hearth {

/// The failure of a step for which no memory is left.
[[gnu::cold]] Status out_of_memory();

/// Runs a local step; without memory it fails instead of throwing, so that the call reaches the collective in
/// which the other processes wait.
template <class Step>
Status attempt(Step&& step) try {
  return step();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace hearth
