// Why a message takes its protocol: the thresholds that the engine uses (p2p/protocol.h), their sources, and
// the reasons against all other protocols. Called by `hearth info --explain`, in one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p2p/protocol.h"
#include "tune/profile.h"

namespace hearth::tools {

/// Facts other than thresholds.
struct Circumstances {
  /// Why the system does not let one process read another's memory; "" if it does.
  std::string single_copy_refusal;
  /// Why there is no arena; "" if there is one.
  std::string arena_refusal;
  /// For the text of a profile's values; nullptr without a profile.
  const tune::Profile* profile = nullptr;
};

/// A protocol that is not used at these lengths, and the reason.
struct Rejection {
  p2p::Protocol protocol;
  std::string why;
};

/// The protocol from this length up to that of the next row.
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
