// Agreements by stores into the segment: agreement_stores.cpp.
#pragma once

#include "shm/segment.h"

namespace hearth::coll {

/// The segment must outlive all agreements.
void set_up_agreements_by_stores(const shm::Segment& segment);

}  // namespace hearth::coll
