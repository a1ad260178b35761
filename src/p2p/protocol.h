// The protocol of a message, by the relation of the two processes and its length. The thresholds are looked
// up once per pair, at its first message. `hearth info --explain` prints them.
#pragma once

#include <cstdint>

#include "topo/relation.h"
#include "transport/transport.h"
#include "tune/threshold.h"

namespace hearth::p2p {

enum class Protocol : uint8_t {
  inlined,         // "inline": one cache line in the ring
  eager,           // several lines in the ring
  bounce_buffers,  // those of the sender, copied twice, in overlapping fragments
  arena,        // the receiver copies from the sender's arena slice; long messages are copied cooperatively
  single_copy,  // one copy from buffer to buffer, by CMA or XPMEM
};

const char* protocol_name(Protocol protocol);

/// The thresholds of a pair.
struct PairProtocol {
  uint64_t ring_bytes_max = 0;         // longest message inside the ring
  uint64_t single_copy_bytes_min = 0;  // shortest message offered for single copy; UINT64_MAX: never
  uint64_t single_copy_measured_bytes_min =
      0;                              // shortest message whose receiver measures which way is faster
  uint64_t first_fragment_bytes = 0;  // first fragment of a long message in bounce buffers; fragments grow
  uint64_t fragment_bytes_max = 0;    // longest fragment; 0: no bounce buffers between the two
  int fragments_in_flight_max = 0;    // unread fragments that one message may have in bounce buffers
  uint64_t arena_bytes_min = 0;       // shortest message copied out of the arena; UINT64_MAX: never
  // Shortest message in the arena whose sender measures which way is faster; at most arena_bytes_min.
  uint64_t arena_measured_bytes_min = 0;
  uint64_t cooperative_bytes_min = 0;  // shortest message in the arena that is copied cooperatively
  // Shortest single-copy messages that both sides copy, and that the sender writes alone.
  uint64_t single_copy_cooperative_bytes_min = 0;
  uint64_t single_copy_write_bytes_min = 0;
  uint32_t cma_accesses_max = 0;  // concurrent CMA accesses to one process's memory

  /// Whether the sender of such a message in the arena measures which way is faster.
  bool measures_arena(uint64_t bytes) const {
    return bytes >= arena_measured_bytes_min && bytes < arena_bytes_min;
  }
  /// `in_arena`: the sender's buffer lies in the arena.
  Protocol choose(uint64_t bytes, bool in_arena = false) const;
};

/// `limits`: upper bounds of the transport, which take precedence over the thresholds. They shrink as jobs
/// grow.
using TransportLimits = transport::Limits;
PairProtocol protocol_for(topo::Relation relation, const TransportLimits& limits,
                          const tune::Hints* hints = nullptr);

}  // namespace hearth::p2p
