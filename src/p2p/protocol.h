// Which way a message goes, by what lies between the two processes and by its length. Looked up once per
// pair, when it first talks; printed by `hearth info --explain`.
#pragma once

#include <cstdint>

#include "topo/relation.h"
#include "transport/transport.h"
#include "tune/threshold.h"

namespace hearth::p2p {

enum class Protocol : uint8_t {
  line,         // one cache line in the ring
  lines,        // several lines in the ring
  cells,        // copied through the sender's cells, in pieces that overlap
  arena,        // the receiver copies from the sender's memory, which it maps; from some length on both copy
  single_copy,  // the receiver copies from the sender's memory by the kernel
};

const char* protocol_name(Protocol protocol);

/// The limits in force for a pair.
struct PairProtocol {
  uint64_t ring_bytes_max = 0;         // longest message inside the ring
  uint64_t single_copy_bytes_min = 0;  // shortest message offered for single copy; UINT64_MAX: never
  uint64_t first_part_bytes = 0;       // of a long message sent through cells; pieces grow
  uint64_t part_bytes_max = 0;         // 0: there are no cells between the two
  int cells_in_flight_max = 0;         // that one message may hold before the receiver empties them
  uint64_t arena_bytes_min = 0;        // shortest message copied out of the arena; UINT64_MAX: never
  uint64_t cooperative_bytes_min = 0;  // shortest message in the arena that both sides copy
  // Shortest messages of single copy that are not read by the receiver: both sides copy, or the sender alone.
  uint64_t single_copy_cooperative_bytes_min = 0;
  uint64_t single_copy_write_bytes_min = 0;
  uint32_t visitors_max = 0;  // processes that system calls let into one process's memory at the same time

  /// `in_arena`: the sender's buffer lies in the arena.
  Protocol choose(uint64_t bytes, bool in_arena = false) const;
};

/// `limits`: what the transport can do at most, whatever the thresholds say; it grows smaller as jobs grow.
using TransportLimits = transport::Limits;
PairProtocol protocol_for(topo::Relation relation, const TransportLimits& limits,
                          const tune::Hints* hints = nullptr);

}  // namespace hearth::p2p
