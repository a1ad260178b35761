// The rings of a pair of processes that the engine uses without a call of the transport.
#pragma once

#include "shm/ring.h"

namespace hearth::p2p {

struct DirectRings {
  shm::RingWriter* to = nullptr;
  shm::RingReader* from = nullptr;
};

}  // namespace hearth::p2p
