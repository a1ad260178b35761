#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/param.h"
#include "pretty.h"
#include "route.h"
#include "shm/ring.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

using p2p::Protocol;
using param::Id;

constexpr uint64_t kLinePayload = shm::kLineBytes - shm::kHeaderBytes;

/// Lengths for which a protocol may be used.
struct Offer {
  Protocol protocol;
  uint64_t from_bytes, to_bytes;  // both inclusive; from kNever on: at no length
  Id limit;                       // the threshold that sets them
  const char* what;
};

/// Between machines: docs/design/fabric.md.
std::vector<Offer> offers_over_network(const p2p::PairProtocol& pair) {
  constexpr const char* kPacket = "one packet of libfabric, into a buffer posted beforehand: no rendezvous";
  const uint64_t line = std::min(kLinePayload, pair.ring_bytes_max);
  return {
      {Protocol::inlined, 0, line, Id::p2p_eager_bytes_max, kPacket},
      {Protocol::eager, line + 1, pair.ring_bytes_max, Id::p2p_eager_bytes_max, kPacket},
      {Protocol::bounce_buffers, 0, tune::kNever, Id::p2p_eager_bytes_max,
       "announced; once it has matched, libfabric carries it from the sender's buffer to the receiver's, by "
       "RDMA where the provider has that; in packets where data have gaps or the receive is too short"}};
}

std::vector<Offer> offers_of(const p2p::PairProtocol& pair, topo::Relation relation) {
  if (relation == topo::Relation::network) return offers_over_network(pair);
  const uint64_t line = std::min(kLinePayload, pair.ring_bytes_max);
  return {
      {Protocol::inlined, 0, line, Id::p2p_eager_bytes_max,
       "header and data in one cache line: one line moves, nothing else"},
      {Protocol::eager, line + 1, pair.ring_bytes_max, Id::p2p_eager_bytes_max,
       "fits the ring, of which it may take 3/8: no bounce buffer is searched and marked"},
      {Protocol::bounce_buffers, 0, tune::kNever, Id::p2p_fragment_bytes_max,
       "copied in and out through the sender's bounce buffers, both at once; fragments double from "
       "p2p_first_fragment_bytes "
       "up to p2p_fragment_bytes_max. From p2p_arena_measured_bytes_min on the sender of data in the arena "
       "measures whether the arena is faster, from p2p_single_copy_measured_bytes_min on the receiver of "
       "other data whether one copy by the kernel is; the faster way is used"},
      {Protocol::arena, pair.arena_bytes_min, tune::kNever, Id::p2p_arena_bytes_min,
       "copied by plain loads out of the sender's memory, which the receiver maps; from "
       "p2p_cooperative_bytes_min on both copy; through bounce buffers while the two have proved far from "
       "each other"},
      {Protocol::single_copy, pair.single_copy_bytes_min, tune::kNever, Id::p2p_single_copy_bytes_min,
       relation == topo::Relation::self
           ? "both buffers are this process's own: one plain copy"
           : "one copy, by XPMEM or the kernel: read by the receiver (process_vm_readv); from "
             "p2p_single_copy_cooperative_bytes_min on both copy; from p2p_single_copy_write_bytes_min on, "
             "or where "
             "reading is refused, written by the sender (process_vm_writev)"}};
}

/// "p2p_single_copy_bytes_min = 262144 by default: ...".
std::string reason_of(Id parameter, topo::Relation relation, const Circumstances& circumstances) {
  const param::Row row = param::rows()[static_cast<size_t>(parameter)];
  const tune::Threshold& threshold = *tune::find_threshold(row.name);
  const uint64_t value = tune::value(parameter, relation);
  const char* source = tune::source(parameter, relation);
  const std::string number = value == tune::kNever ? "never" : std::to_string(value);
  const tune::Finding* finding =
      circumstances.profile == nullptr ? nullptr : circumstances.profile->find(parameter, relation);
  std::string text = fmt::format("{} = {}, {}", row.name, number, source);
  if (std::strcmp(source, "default") == 0) text += std::string(": ") + threshold.why;
  if (finding == nullptr) return text;
  const bool in_force = std::strcmp(source, "profile") == 0 || std::strcmp(source, "default") == 0;
  return in_force ? text + "; measured: " + finding->text : text;
}

std::string switched_off() {
  return fmt::format("p2p_single_copy = 0, {}", param::source(Id::p2p_single_copy));
}

/// Why a protocol is not offered at any length; "" if it is offered.
std::string why_not_offered(Protocol protocol, topo::Relation relation, bool in_arena,
                            const Circumstances& circumstances) {
  if (protocol != Protocol::arena && protocol != Protocol::single_copy) return "";
  if (protocol == Protocol::arena && !in_arena)
    return "the buffers do not lie in the arena (MPI_Alloc_mem and a heap that is shared put them there)";
  if (!param::get_flag(Id::p2p_single_copy)) return switched_off();
  // A rank's own memory is copied without the kernel.
  if (protocol == Protocol::single_copy && relation == topo::Relation::self) return "";
  const std::string& refusal =
      protocol == Protocol::arena ? circumstances.arena_refusal : circumstances.single_copy_refusal;
  return refusal.empty() ? "" : "the system refuses it: " + refusal;
}

std::string why_not(const Offer& offer, uint64_t from_bytes, Protocol taken, topo::Relation relation,
                    const Circumstances& circumstances) {
  if (offer.from_bytes == tune::kNever)
    return "at no length: " + reason_of(offer.limit, relation, circumstances);
  if (from_bytes < offer.from_bytes)
    return fmt::format("from {} on: {}", bytes_text(offer.from_bytes),
                       reason_of(offer.limit, relation, circumstances));
  if (from_bytes > offer.to_bytes)
    return offer.protocol == Protocol::inlined && relation != topo::Relation::network
               ? fmt::format("up to {}: more does not fit the line", bytes_text(offer.to_bytes))
               : fmt::format("up to {}: {}", bytes_text(offer.to_bytes),
                             reason_of(offer.limit, relation, circumstances));
  return fmt::format("{} comes first where it may be used", way_name(taken, relation));
}

}  // namespace

std::vector<Explanation> explain(topo::Relation relation, const p2p::TransportLimits& limits, bool in_arena,
                                 const Circumstances& circumstances) {
  p2p::PairProtocol pair = p2p::protocol_for(relation, limits);
  const auto not_offered = [&](Protocol protocol) {
    return why_not_offered(protocol, relation, in_arena, circumstances);
  };
  // The engine does the same without an arena, or if the probe of a pair fails.
  if (!not_offered(Protocol::single_copy).empty()) pair.single_copy_bytes_min = tune::kNever;
  if (!not_offered(Protocol::arena).empty()) pair.arena_bytes_min = tune::kNever;
  const std::vector<Offer> offers = offers_of(pair, relation);
  std::vector<uint64_t> borders;
  for (const Offer& offer : offers) {
    if (offer.from_bytes != tune::kNever) borders.push_back(offer.from_bytes);
    if (offer.to_bytes != tune::kNever) borders.push_back(offer.to_bytes + 1);
  }
  std::sort(borders.begin(), borders.end());
  std::vector<Explanation> rows;
  for (const uint64_t from_bytes : borders) {
    const Protocol taken = pair.choose(from_bytes, in_arena);
    if (!rows.empty() && rows.back().protocol == taken) continue;
    Explanation row = {from_bytes, taken, "", {}};
    for (const Offer& offer : offers) {
      if (offer.protocol == taken) {
        row.why = offer.what;
      } else {
        const std::string never = not_offered(offer.protocol);
        row.rejected.push_back(
            {offer.protocol, never.empty() ? why_not(offer, from_bytes, taken, relation, circumstances)
                                           : "not offered: " + never});
      }
    }
    const bool limited = taken == Protocol::single_copy || taken == Protocol::arena;
    if (limited && relation != topo::Relation::self) {
      const Id limit = taken == Protocol::arena ? Id::p2p_arena_bytes_min : Id::p2p_single_copy_bytes_min;
      row.why += "; " + reason_of(limit, relation, circumstances);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hearth::tools
