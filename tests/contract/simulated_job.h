// A job of thousands of ranks in one process: real engines and schedules over a transport that only counts
// packets, those to other machines apart from those within a machine. One thread progresses all ranks in
// turn.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "coll/region_pool.h"
#include "objects/comm.h"
#include "p2p/engine.h"
#include "transport/fabric.h"

namespace hearth::contract {

using transport::PacketHandler;
using transport::PeerIndex;

/// What one rank has sent, and its peers on other machines.
struct Sent {
  uint64_t local_packets = 0;  // within its machine
  uint64_t remote_packets = 0;
  uint64_t remote_bytes = 0;
  std::set<PeerIndex> remote_peers;  // sent to, or received from
};

class SimulatedJob {
 public:
  /// `ranks_each` ranks on each machine, in blocks.
  SimulatedJob(int ranks, int ranks_each);
  ~SimulatedJob();

  int size() const { return static_cast<int>(ranks_.size()); }
  int machines() const { return (size() + ranks_each_ - 1) / ranks_each_; }
  bool leads(int rank) const { return rank % ranks_each_ == 0; }
  const Sent& sent(int rank) const { return ranks_[static_cast<size_t>(rank)]->sent; }
  void forget_sent();

  /// Runs one collective of all ranks; `begin` starts it on one of them. Returns whether it has completed on
  /// all.
  using Begin = std::function<Status(objects::Comm& comm, int rank, p2p::Request*& request)>;
  bool run(const Begin& begin);

 private:
  struct Packet {
    PeerIndex from;
    transport::PacketHeader header;
    std::vector<std::byte> payload;
  };
  class Endpoint;
  struct Rank {
    std::deque<Packet> inbox;
    Sent sent;
    std::unique_ptr<Endpoint> endpoint;
    std::unique_ptr<p2p::Engine> engine;
    objects::Comm* comm = nullptr;
  };

  Rank& rank(PeerIndex index) { return *ranks_[static_cast<size_t>(index)]; }
  bool together(PeerIndex a, PeerIndex b) const { return a / ranks_each_ == b / ranks_each_; }
  void make(int self);

  const int ranks_each_;
  coll::RegionPool no_regions_{nullptr};
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::contract
