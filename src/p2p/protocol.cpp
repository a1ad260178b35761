#include "p2p/protocol.h"

#include <algorithm>

#include "base/param.h"
#include "shm/ring.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kLinePayload = shm::kLineBytes - shm::kHeaderBytes;

// Where two processes share a cache, two copies through cells that stay in it beat one copy by the kernel,
// which moves a page at a time, at every length (docs/performance.md). Where they do not, the second pass
// over the slower path costs more than the kernel's overhead.
bool shares_cache(topo::Relation relation) {
  return relation == topo::Relation::smt || relation == topo::Relation::l2 || relation == topo::Relation::l3;
}

uint64_t single_copy_bytes_min(topo::Relation relation) {
  if (!param::get_flag(param::Id::p2p_single_copy)) return UINT64_MAX;
  // One process's own memory needs no kernel: one plain copy, as soon as the message does not fit the ring.
  if (relation == topo::Relation::self) return 0;
  if (const uint64_t chosen = param::get_bytes(param::Id::p2p_single_copy_bytes_min); chosen != 0)
    return chosen;
  return shares_cache(relation) ? UINT64_MAX : uint64_t{256} << 10;
}

}  // namespace

const char* protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::line:
      return "line";
    case Protocol::lines:
      return "lines";
    case Protocol::cells:
      return "cells";
    case Protocol::single_copy:
      return "single-copy";
  }
  return "?";
}

Protocol PairProtocol::choose(uint64_t bytes) const {
  if (bytes <= std::min(kLinePayload, ring_bytes_max)) return Protocol::line;
  if (bytes <= ring_bytes_max) return Protocol::lines;
  return bytes >= single_copy_bytes_min ? Protocol::single_copy : Protocol::cells;
}

PairProtocol protocol_for(topo::Relation relation, uint64_t packet_bytes_max) {
  PairProtocol protocol;
  protocol.ring_bytes_max = std::min(param::get_bytes(param::Id::p2p_inline_bytes_max), packet_bytes_max);
  protocol.single_copy_bytes_min = single_copy_bytes_min(relation);
  protocol.first_part_bytes = std::max<uint64_t>(param::get_bytes(param::Id::p2p_first_part_bytes), 2048);
  return protocol;
}

std::vector<ProtocolRow> explain(topo::Relation relation, uint64_t packet_bytes_max) {
  const PairProtocol pair = protocol_for(relation, packet_bytes_max);
  std::vector<ProtocolRow> rows;
  rows.push_back({0, Protocol::line, "header and data in one cache line: one line moves, nothing else"});
  if (pair.ring_bytes_max > kLinePayload) {
    rows.push_back(
        {kLinePayload + 1, Protocol::lines,
         "fits the ring: no cell to find and to mark (up to p2p_inline_bytes_max, and 3/8 of the ring)"});
  }
  const uint64_t beyond = pair.ring_bytes_max + 1;
  if (beyond < pair.single_copy_bytes_min) {
    rows.push_back({beyond, Protocol::cells,
                    "copied in and out through the sender's cells, both at once; pieces double from "
                    "p2p_first_part_bytes up to p2p_part_bytes_max"});
  }
  if (pair.single_copy_bytes_min != UINT64_MAX) {
    rows.push_back(
        {std::max(beyond, pair.single_copy_bytes_min), Protocol::single_copy,
         relation == topo::Relation::self
             ? "both buffers are this process's own: one plain copy"
             : "no shared cache: one copy by the kernel (process_vm_readv) where a probe of the pair "
               "allows it, else cells"});
  }
  return rows;
}

}  // namespace hearth::p2p
