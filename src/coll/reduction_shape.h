// What the choice of a reduction's algorithm depends on.
#pragma once

#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// `count`: elements that a rank puts in. The same on all ranks; a question for those who choose algorithms.
Shape reduction_shape(const Schedule& schedule, Collective collective, Count count, const Type& type,
                      const Op& op);

}  // namespace hearth::coll
