// A job of thousands of ranks inside one process: real engines and schedules over a transport that only
// counts, what goes to other machines apart from what stays. All ranks are moved on in turn by one thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "objects/comm.h"
#include "p2p/engine.h"
#include "transport/network.h"

namespace hearth::contract {

using transport::PacketHandler;
using transport::PeerIndex;

/// What one rank has sent, and to how many others it has a way.
struct Sent {
  uint64_t near_packets = 0;  // to ranks of its machine
  uint64_t far_packets = 0;
  uint64_t far_bytes = 0;
  std::set<PeerIndex> far_peers;  // it has sent to, or received from
};

class SimulatedJob {
 public:
  /// As many ranks on each machine, one machine after the other.
  SimulatedJob(int ranks, int ranks_each);
  ~SimulatedJob();

  int size() const { return static_cast<int>(ranks_.size()); }
  int machines() const { return (size() + ranks_each_ - 1) / ranks_each_; }
  bool leads(int rank) const { return rank % ranks_each_ == 0; }
  const Sent& sent(int rank) const { return ranks_[static_cast<size_t>(rank)]->sent; }
  void forget_sent();

  /// One collective of all ranks: `begin` starts it for one of them. Whether it came to its end on all.
  using Begin = std::function<Status(objects::Comm& comm, int rank, p2p::Request*& request)>;
  bool run(const Begin& begin);

 private:
  struct Packet {
    PeerIndex from;
    shm::PacketHeader header;
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
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::contract
