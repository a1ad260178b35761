// The parts below single copy, of process 0 of two on one machine: a transport whose processes have targets,
// control blocks in a segment, and a method that copies within the test and may refuse.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "p2p/copy_offers.h"
#include "p2p/counters.h"
#include "p2p/fatal_errors.h"
#include "p2p/matching.h"
#include "p2p/memory_access.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "recording_transport.h"
#include "shm/node.h"
#include "shm/segment.h"
#include "tune/threshold.h"

namespace hearth::p2p {

class CopyingMethod final : public single_copy::Method {
 public:
  const char* name() const override { return "copying"; }
  bool takes_lock() const override { return true; }
  bool probe_read(const single_copy::Target&) override { return reads; }
  bool probe_write(const single_copy::Target&) override { return writes; }
  bool read(const single_copy::Target&, void* to, uint64_t from, size_t bytes) override {
    if (reads) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return reads;
  }
  bool write(const single_copy::Target&, uint64_t to, const void* from, size_t bytes) override {
    if (writes) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return writes;
  }
  bool reads = true;
  bool writes = true;
};

struct ReachableTransport : RecordingTransport {
  bool target_of(PeerIndex peer, single_copy::Target& target) override {
    target.pid = 100 + peer;
    return true;
  }
};

/// The thresholds of all messages: single copy from this length on, the other protocols never.
struct SingleCopyThresholds {
  static constexpr uint64_t kBytesMin = 1000;

  SingleCopyThresholds() {
    using param::Id;
    constexpr topo::Relation kNear = topo::Relation::l3;
    const std::vector<tune::Tuned> rows = {{Id::p2p_single_copy_bytes_min, kNear, kBytesMin},
                                           {Id::p2p_single_copy_measured_bytes_min, kNear, tune::kNever},
                                           {Id::p2p_single_copy_write_bytes_min, kNear, tune::kNever},
                                           {Id::p2p_single_copy_cooperative_bytes_min, kNear, tune::kNever},
                                           {Id::p2p_single_copy_readers, kNear, 2}};
    tune::use(rows);
  }
  ~SingleCopyThresholds() { tune::use({}); }
};

struct SingleCopyParts {
  SingleCopyParts() {
    type.size = type.extent = type.true_extent = 1;
    type.contiguous = true;
    type.committed = true;
    shm::SegmentPlan plan;
    plan.rank_count = 2;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    EXPECT_TRUE(shm::Segment::create(plan, segment).ok()) << last_failure_text();
    node.emplace(segment, 0);
    access.emplace(0, 2, transport, &*node, std::vector<single_copy::Method*>{&method}, nullptr);
  }
  Request* request_of(RequestKind kind, std::vector<std::byte>& data, PeerIndex peer) {
    datatype::retain(type);
    return requests.create(kind, data.data(), static_cast<Count>(data.size()), type, MatchKey{4, peer, 7});
  }

  const SingleCopyThresholds thresholds;
  datatype::Type type;
  ReachableTransport transport;
  CopyingMethod method;
  EngineCounters counters;
  Matching matching;
  FatalErrors errors{0, nullptr, matching.unexpected()};
  RequestTable requests{0, matching.posted(), errors};
  PairTable pairs{2, [](PeerIndex) { return topo::Relation::l3; }, transport, nullptr, {}};
  shm::Segment segment;
  std::optional<shm::Node> node;
  std::optional<MemoryAccess> access;
};

}  // namespace hearth::p2p
