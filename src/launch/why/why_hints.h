// Likely causes of a standstill, from the queues and calls of the ranks: a message that would match but for
// one field, the rank that is missing from a collective, calls in a different order.
#pragma once

#include <string>
#include <vector>

#include "launch/why.h"

namespace hearth::launch {

void add_hints(const Snapshot& snapshot, const Explanation& explanation, std::vector<std::string>& lines);

}  // namespace hearth::launch
