// The envelope and length of a message that a receive or probe found.
#pragma once

#include <cstdint>

#include "objects/group.h"

namespace hearth::p2p {

using objects::PeerIndex;

struct Received {
  PeerIndex from = 0;
  int tag = 0;
  int64_t bytes = 0;
};

}  // namespace hearth::p2p
