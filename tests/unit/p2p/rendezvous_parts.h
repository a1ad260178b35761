// The parts below the rendezvous, of process 0 of three, over a transport that records. The pool of each
// process has sixteen buffers.
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
class BufferTransport : public RecordingTransport {
 public:
  static constexpr int kBuffers = 16;
  static constexpr size_t kBufferBytes = 4096;

  BufferTransport() { fragment_bytes = 4 * kBufferBytes; }
  int take(size_t bytes, const RunOptions& options) override {
    const auto buffers = static_cast<int>((bytes + kBufferBytes - 1) / kBufferBytes);
    if (next_ + buffers > free_buffers) return -1;
    bytes_left.push_back(options.bytes_left);
    next_ += buffers;
    return next_ - buffers;
  }
  bool returned(PeerIndex, int buffer, uint32_t) override { return emptied.contains(buffer); }
  std::byte* memory(PeerIndex owner, int buffer, size_t bytes) override {
    std::vector<std::byte>& pool = pools_[owner];
    pool.resize(kBuffers * kBufferBytes);
    const size_t at = static_cast<size_t>(buffer) * kBufferBytes;
    return at + bytes <= pool.size() ? pool.data() + at : nullptr;
  }
  int free_buffers = kBuffers;
  std::vector<size_t> bytes_left;  // by take(): what it left to others
  std::map<int, bool> emptied;     // buffers that the receiver has emptied

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
  BufferTransport transport;
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
