// What lies behind a job that stands still, as far as its queues and calls show: the message that would match
// but for one thing, the rank that a collective misses, calls in different order.
#pragma once

#include <string>
#include <vector>

#include "launch/why.h"

namespace hearth::launch {

void add_hints(const Snapshot& snapshot, const Explanation& explanation, std::vector<std::string>& lines);

}  // namespace hearth::launch
