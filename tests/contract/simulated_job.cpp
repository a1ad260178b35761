#include "simulated_job.h"

#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "objects/pools.h"

namespace hearth::contract {

/// Always has room and delivers at once: only the counts matter.
class SimulatedJob::Endpoint final : public transport::Transport {
 public:
  Endpoint(SimulatedJob& job, PeerIndex self) : job_(job), self_(self) {}

  const char* name() const override { return "simulated"; }
  size_t packet_bytes_max() const override { return transport::kNetworkPacketBytesMax; }
  std::byte* claim(PeerIndex, size_t payload_bytes, Status&) override {
    claimed_.assign(payload_bytes + 1, std::byte{0});
    return claimed_.data();
  }
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override {
    const auto commit =
        transport::PacketHeader::make_commit(kind, flags, static_cast<uint32_t>(payload_bytes), cookie);
    const auto* payload = claimed_.data();
    job_.rank(to).inbox.push_back({self_, {commit, match}, {payload, payload + payload_bytes}});
    Sent& sent = job_.rank(self_).sent;
    if (job_.together(self_, to)) {
      ++sent.local_packets;
      return;
    }
    ++sent.remote_packets;
    sent.remote_bytes += payload_bytes;
    sent.remote_peers.insert(to);
    job_.rank(to).sent.remote_peers.insert(self_);
  }
  int poll(PacketHandler handler, void* receiver) override {
    std::deque<Packet>& inbox = job_.rank(self_).inbox;
    int packets = 0;
    for (; !inbox.empty(); ++packets) {
      const Packet packet = std::move(inbox.front());
      inbox.pop_front();
      handler(receiver, packet.from, packet.header, packet.payload.data());
    }
    return packets;
  }
  uint32_t unexpected_kib_at(PeerIndex) override { return 0; }
  void add_unexpected_bytes(PeerIndex, int64_t) override {}

 private:
  SimulatedJob& job_;
  const PeerIndex self_;
  std::vector<std::byte> claimed_;
};

SimulatedJob::SimulatedJob(int ranks, int ranks_each) : ranks_each_(ranks_each) {
  datatype::enter_predefined_types();
  coll::use_regions(no_regions_);
  for (int self = 0; self < ranks; ++self) ranks_.push_back(std::make_unique<Rank>());
  for (int self = 0; self < ranks; ++self) make(self);
}

void SimulatedJob::make(int self) {
  Rank& own = rank(self);
  own.endpoint = std::make_unique<Endpoint>(*this, self);
  p2p::EngineSetup setup;
  setup.self = self;
  setup.size = size();
  setup.transport = own.endpoint.get();
  setup.relation = [this, self](PeerIndex peer) {
    if (peer == self) return topo::Relation::self;
    return together(self, peer) ? topo::Relation::l3 : topo::Relation::network;
  };
  own.engine = std::make_unique<p2p::Engine>(setup);
  objects::Comm* comm = objects::pools.comms.create();
  comm->group = objects::pools.groups.create();
  std::vector<int> nodes;
  for (int peer = 0; peer < size(); ++peer) {
    comm->group->peers.push_back(peer);
    nodes.push_back(peer / ranks_each_);
  }
  comm->group->index(self);
  comm->group->machines = objects::divide(comm->group->peers, self, nodes);
  comm->region_agreed = true;
  comm->rank = self;
  comm->size = comm->peer_count = size();
  comm->peers = comm->group->peers.data();
  own.comm = comm;
}

SimulatedJob::~SimulatedJob() {
  for (const auto& one : ranks_) {
    one->engine.reset();
    objects::pools.groups.destroy(one->comm->group);
    objects::pools.comms.destroy(one->comm);
  }
  p2p::process_engine = nullptr;
}

void SimulatedJob::forget_sent() {
  for (const auto& one : ranks_) one->sent = {};
}

bool SimulatedJob::run(const Begin& begin) {
  std::vector<p2p::Request*> requests(ranks_.size(), nullptr);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    p2p::process_engine = ranks_[i]->engine.get();
    if (!begin(*ranks_[i]->comm, static_cast<int>(i), requests[i]).ok()) return false;
  }
  size_t left = ranks_.size();
  bool well = true;
  for (bool moved = true; left > 0 && moved;) {
    moved = false;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      p2p::process_engine = ranks_[i]->engine.get();
      moved |= ranks_[i]->engine->progress();
      if (requests[i] == nullptr || !requests[i]->complete) continue;
      well = well && requests[i]->outcome.ok();
      ranks_[i]->engine->requests().destroy(requests[i]);
      requests[i] = nullptr;
      --left;
      moved = true;
    }
  }
  return left == 0 && well;
}

}  // namespace hearth::contract
