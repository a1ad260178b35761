#include "p2p/protocol.h"

#include <algorithm>

#include "base/param.h"
#include "p2p/fragments.h"
#include "shm/ring.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kLinePayload = shm::kLineBytes - shm::kHeaderBytes;

constexpr uint64_t kFirstFragmentBytesMin = 2048;

// A fixed length for the arena leaves nothing to measure, unless both lengths are fixed.
uint64_t measured_arena(uint64_t arena_bytes_min, topo::Relation relation, const tune::Hints* hints) {
  using param::Id;
  const auto is_fixed = [hints](Id parameter) {
    return !param::is_automatic(parameter) || (hints != nullptr && hints->at(parameter).has_value());
  };
  if (arena_bytes_min == tune::kNever ||
      (is_fixed(Id::p2p_arena_bytes_min) && !is_fixed(Id::p2p_arena_measured_bytes_min))) {
    return arena_bytes_min;
  }
  return std::min(arena_bytes_min, tune::value(Id::p2p_arena_measured_bytes_min, relation, hints));
}

}  // namespace

const char* protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::inlined:
      return "inline";
    case Protocol::eager:
      return "eager";
    case Protocol::bounce_buffers:
      return "bounce buffers";
    case Protocol::arena:
      return "arena";
    case Protocol::single_copy:
      return "single copy";
  }
  return "?";
}

Protocol PairProtocol::choose(uint64_t bytes, bool in_arena) const {
  if (bytes <= std::min(kLinePayload, ring_bytes_max)) return Protocol::inlined;
  if (bytes <= ring_bytes_max) return Protocol::eager;
  if (in_arena && bytes >= arena_bytes_min) return Protocol::arena;
  return bytes >= single_copy_bytes_min ? Protocol::single_copy : Protocol::bounce_buffers;
}

PairProtocol protocol_for(topo::Relation relation, const TransportLimits& limits, const tune::Hints* hints) {
  using param::Id;
  const auto value = [relation, hints](Id parameter) { return tune::value(parameter, relation, hints); };
  PairProtocol protocol;
  protocol.ring_bytes_max = std::min(value(Id::p2p_eager_bytes_max), limits.packet_bytes_max);
  protocol.single_copy_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_single_copy_bytes_min) : tune::kNever;
  protocol.single_copy_measured_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_single_copy_measured_bytes_min) : tune::kNever;
  protocol.arena_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_arena_bytes_min) : tune::kNever;
  protocol.arena_measured_bytes_min = measured_arena(protocol.arena_bytes_min, relation, hints);
  protocol.cooperative_bytes_min = value(Id::p2p_cooperative_bytes_min);
  protocol.single_copy_cooperative_bytes_min = value(Id::p2p_single_copy_cooperative_bytes_min);
  protocol.single_copy_write_bytes_min = value(Id::p2p_single_copy_write_bytes_min);
  protocol.cma_accesses_max =
      static_cast<uint32_t>(std::clamp<uint64_t>(value(Id::p2p_single_copy_readers), 1, UINT32_MAX));
  protocol.first_fragment_bytes = std::max(value(Id::p2p_first_fragment_bytes), kFirstFragmentBytesMin);
  protocol.fragment_bytes_max =
      std::min(std::max<uint64_t>(value(Id::p2p_fragment_bytes_max), 1), limits.fragment_bytes_max);
  protocol.fragments_in_flight_max =
      static_cast<int>(std::clamp<uint64_t>(value(Id::p2p_fragments_in_flight), 1, kFragmentsInFlightMax));
  return protocol;
}

}  // namespace hearth::p2p
