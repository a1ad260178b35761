// The inputs of algorithm selection for a reduction.
#pragma once

#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// `count`: elements that each rank contributes. The result is equal on all ranks.
Shape reduction_shape(const Schedule& schedule, Collective collective, Count count, const Type& type,
                      const Op& op);

}  // namespace hearth::coll
