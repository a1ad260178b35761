#include "p2p/protocol.h"

#include <algorithm>

#include "base/param.h"
#include "p2p/fragments.h"
#include "shm/ring.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kLinePayload = shm::kLineBytes - shm::kHeaderBytes;

constexpr uint64_t kFirstPartBytesMin = 2048;

}  // namespace

const char* protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::line:
      return "line";
    case Protocol::lines:
      return "lines";
    case Protocol::cells:
      return "cells";
    case Protocol::arena:
      return "arena";
    case Protocol::single_copy:
      return "single-copy";
  }
  return "?";
}

Protocol PairProtocol::choose(uint64_t bytes, bool in_arena) const {
  if (bytes <= std::min(kLinePayload, ring_bytes_max)) return Protocol::line;
  if (bytes <= ring_bytes_max) return Protocol::lines;
  if (in_arena && bytes >= arena_bytes_min) return Protocol::arena;
  return bytes >= single_copy_bytes_min ? Protocol::single_copy : Protocol::cells;
}

PairProtocol protocol_for(topo::Relation relation, const TransportLimits& limits, const tune::Hints* hints) {
  using param::Id;
  const auto value = [relation, hints](Id parameter) { return tune::value(parameter, relation, hints); };
  PairProtocol protocol;
  protocol.ring_bytes_max = std::min(value(Id::p2p_inline_bytes_max), limits.packet_bytes_max);
  protocol.single_copy_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_single_copy_bytes_min) : tune::kNever;
  protocol.single_copy_measured_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_single_copy_measured_bytes_min) : tune::kNever;
  protocol.arena_bytes_min =
      param::get_flag(Id::p2p_single_copy) ? value(Id::p2p_arena_bytes_min) : tune::kNever;
  protocol.cooperative_bytes_min = value(Id::p2p_cooperative_bytes_min);
  protocol.single_copy_cooperative_bytes_min = value(Id::p2p_single_copy_cooperative_bytes_min);
  protocol.single_copy_write_bytes_min = value(Id::p2p_single_copy_write_bytes_min);
  protocol.cma_accesses_max =
      static_cast<uint32_t>(std::clamp<uint64_t>(value(Id::p2p_single_copy_readers), 1, UINT32_MAX));
  protocol.first_part_bytes = std::max(value(Id::p2p_first_part_bytes), kFirstPartBytesMin);
  protocol.part_bytes_max =
      std::min(std::max<uint64_t>(value(Id::p2p_part_bytes_max), 1), limits.part_bytes_max);
  protocol.cells_in_flight_max =
      static_cast<int>(std::clamp<uint64_t>(value(Id::p2p_cells_in_flight), 1, kCellsInFlightMax));
  return protocol;
}

}  // namespace hearth::p2p
