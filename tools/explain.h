// Why a message goes the way it goes: the limits that the engine decides by (p2p/protocol.h), where each
// comes from, and what speaks against every other way. Called by `hearth info --explain`, in one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p2p/protocol.h"
#include "tune/profile.h"

namespace hearth::tools {

/// What is known beside thresholds.
struct Circumstances {
  /// Why the system does not let one process read another; "" when it does.
  std::string single_copy_refusal;
  /// Why there is no arena; "" when there is one.
  std::string arena_refusal;
  /// For the words of a profile's values; nullptr without one.
  const tune::Profile* profile = nullptr;
};

/// A way that is not taken at these lengths, and why.
struct Rejection {
  p2p::Protocol protocol;
  std::string why;
};

/// From this length on, up to the next row, this way.
struct Explanation {
  uint64_t from_bytes;
  p2p::Protocol protocol;
  std::string why;
  std::vector<Rejection> rejected;
};

/// `in_arena`: both buffers lie in the arena, otherwise in ordinary memory.
std::vector<Explanation> explain(topo::Relation relation, const p2p::TransportLimits& limits, bool in_arena,
                                 const Circumstances& circumstances);

}  // namespace hearth::tools
