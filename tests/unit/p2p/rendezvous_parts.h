// The parts below the rendezvous, of process 0 of three, over a transport that records. The pool of each
// process has sixteen cells.
#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/copy_offers.h"
#include "p2p/counters.h"
#include "p2p/deferred_work.h"
#include "p2p/failure_record.h"
#include "p2p/long_sends.h"
#include "p2p/matching.h"
#include "p2p/memory_access.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "recording_transport.h"

namespace hearth::p2p {

/// A transport with bounce buffers.
class CellTransport : public RecordingTransport {
 public:
  static constexpr int kCells = 16;
  static constexpr size_t kCellBytes = 4096;

  CellTransport() { part_bytes = 4 * kCellBytes; }
  int take(size_t bytes, bool) override {
    const auto cells = static_cast<int>((bytes + kCellBytes - 1) / kCellBytes);
    if (next_ + cells > free_cells) return -1;
    next_ += cells;
    return next_ - cells;
  }
  bool returned(PeerIndex, int cell, uint32_t) override { return emptied.contains(cell); }
  std::byte* memory(PeerIndex owner, int cell, size_t bytes) override {
    std::vector<std::byte>& pool = pools_[owner];
    pool.resize(kCells * kCellBytes);
    const size_t at = static_cast<size_t>(cell) * kCellBytes;
    return at + bytes <= pool.size() ? pool.data() + at : nullptr;
  }
  int free_cells = kCells;
  std::map<int, bool> emptied;  // cells that the receiver has emptied

 private:
  int next_ = 0;
  std::map<PeerIndex, std::vector<std::byte>> pools_;
};

struct RendezvousParts {
  RendezvousParts() {
    type.size = type.extent = type.true_extent = 1;
    type.contiguous = true;
    type.committed = true;
  }
  Request* send_of(std::vector<std::byte>& data, PeerIndex to, SendMode mode = SendMode::standard) {
    datatype::retain(type);
    Request* request = requests.create(RequestKind::send, data.data(), static_cast<Count>(data.size()), type,
                                       MatchKey{4, to, 7});
    request->mode = mode;
    requests.begin_send(*request);
    return request;
  }
  Request* receive_into(std::vector<std::byte>& data, PeerIndex from) {
    datatype::retain(type);
    return requests.create(RequestKind::receive, data.data(), static_cast<Count>(data.size()), type,
                           MatchKey{4, from, 7});
  }
  size_t packets_of(PacketKind kind) const {
    size_t count = 0;
    for (const auto& packet : transport.packets) count += packet.header.kind() == static_cast<uint8_t>(kind);
    return count;
  }

  datatype::Type type;
  CellTransport transport;
  EngineCounters counters;
  Matching matching;
  FatalErrors errors{0, [](Status) { throw std::runtime_error("fatal"); }, matching.unexpected()};
  RequestTable requests{0, matching.posted(), errors};
  FailureRecord failures{3, nullptr};
  PairTable pairs{3, [](PeerIndex) { return topo::Relation::machine; }, transport, nullptr, {}};
  DeferredWork deferred{0, 3, transport};
  Answers answers{3, transport, failures, errors};
  BounceBuffers buffers{0, 3, transport, deferred, errors};
  MemoryAccess access{0, 3, transport, nullptr, {}, nullptr};
  CopyOffers offers{pairs, access, nullptr, nullptr, counters};
  LongSends sends{
      0,
      {transport, requests, pairs, buffers, offers, answers, deferred, errors, nullptr, nullptr, counters}};
};

/// Bytes that differ from their neighbours and from those of other seeds.
inline std::vector<std::byte> pattern(size_t bytes, unsigned seed = 1) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
  return data;
}

}  // namespace hearth::p2p
