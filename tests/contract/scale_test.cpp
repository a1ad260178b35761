// How a rank's memory, connections and traffic grow with the job: the real startup of ranks under other
// launchers and real collectives, among simulated ranks (docs/design/scaling.md). With
// HEARTH_SCALE_RANKS=1024,4096 it prints the tables of that page instead of checking a short form.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>

#include "coll/coll.h"
#include "datatype/predefined.h"
#include "launch/bootstrap_node.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "simulated_job.h"

namespace hearth::contract {
namespace {

using objects::Comm;
using p2p::Request;

constexpr int kShortRanks = 64;
constexpr int kShortEach = 8;
constexpr int kLongEach = 32;
// In a simulated alltoall each rank gets a block from every other rank: too many for the largest jobs.
constexpr int kAlltoallRanksMax = 1024;

std::vector<int> wished_ranks() {
  const char* text = std::getenv("HEARTH_SCALE_RANKS");
  std::istringstream words(text != nullptr ? text : "");
  std::vector<int> ranks;
  for (std::string word; std::getline(words, word, ',');) ranks.push_back(std::atoi(word.c_str()));
  return ranks;
}

size_t heap_bytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Startup.

/// A launcher's server, and a barrier of the threads that are its ranks.
struct Server {
  Server(int ranks, int ranks_each) : size(ranks), each(ranks_each), all(ranks) {}
  const int size, each;
  std::barrier<> all;
  std::mutex lock;
  std::map<std::string, std::string> words;
  uint64_t puts = 0;
  uint64_t gets = 0;
};

/// Ranks of one process would find that all of them are on one machine. The endpoint addresses are changed to
/// name different machines.
class SimulatedLauncher final : public launch::ForeignLauncher {
 public:
  SimulatedLauncher(Server& server, int rank) : server_(server) {
    rank_ = rank;
    size_ = server.size;
  }
  const char* protocol() const override { return "simulated"; }
  Status fence() override {
    server_.all.arrive_and_wait();
    return {};
  }
  void abort(int, const std::string&) override {}
  void finalize() override {}

 private:
  Status put_text(const std::string& key, const std::string& text) override {
    std::vector<std::byte> bytes;
    launch::NodeAddress published;
    if (!launch::from_hex(text, bytes) || !launch::parse_address(bytes, published))
      return fail(MPI_ERR_OTHER, "no card");
    published.surroundings = "machine " + std::to_string(rank_ / server_.each);
    published.host = published.surroundings;
    const std::lock_guard hold(server_.lock);
    ++server_.puts;
    server_.words[key] = launch::to_hex(launch::to_bytes(published));
    return {};
  }
  Status get_text(int, const std::string& key, std::string& text) override {
    const std::lock_guard hold(server_.lock);
    ++server_.gets;
    text = server_.words[key];
    return {};
  }
  size_t text_letters_max() const override { return 1024; }

  Server& server_;
};

/// One rank after startup.
struct Joined {
  bool well = false;
  std::string words;
  launch::NodeMap nodes;
  shm::Segment segment;
  shm::Arena arena;
};

std::vector<Joined> join_all(Server& server) {
  std::vector<Joined> joined(static_cast<size_t>(server.size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < server.size; ++rank) {
    ranks.emplace_back([&server, &own = joined[static_cast<size_t>(rank)], rank] {
      SimulatedLauncher launcher(server, rank);
      own.well = launch::join_node(launcher, own.nodes, own.segment, own.arena).ok();
      if (!own.well) own.words = last_failure_text();
    });
  }
  for (std::thread& thread : ranks) thread.join();
  return joined;
}

TEST(Scale, ranks_find_their_machines_and_share_memory_there) {
  constexpr int kRanks = 12;
  constexpr int kEach = 4;
  Server server(kRanks, kEach);
  const std::vector<Joined> joined = join_all(server);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Joined& own = joined[static_cast<size_t>(rank)];
    ASSERT_TRUE(own.well) << own.words;
    EXPECT_EQ(own.nodes.hosts.size(), size_t{kRanks / kEach});
    EXPECT_EQ(own.nodes.node_of[static_cast<size_t>(rank)], rank / kEach);
    EXPECT_EQ(own.nodes.secret, joined[0].nodes.secret);
    EXPECT_EQ(own.segment.rank_count(), kEach);
    own.segment.rank(rank % kEach).pid = static_cast<uint32_t>(1000 + rank);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    const shm::Segment& segment = joined[static_cast<size_t>(rank)].segment;
    for (int place = 0; place < kEach; ++place)
      EXPECT_EQ(segment.rank(place).pid, static_cast<uint32_t>(1000 + rank / kEach * kEach + place));
  }
  EXPECT_EQ(server.puts, uint64_t{kRanks});
  EXPECT_EQ(server.gets, uint64_t{kRanks} * kRanks);
}

// Collectives.

struct Buffers {
  std::vector<int> in, out;
};

/// A collective with `count` integers from each rank or for each rank.
struct Call {
  const char* name;
  Count count;
};

Status begin(const Call& call, Comm& comm, int rank, Buffers& buffers, objects::Op& sum, Request*& request) {
  datatype::Type& type =
      *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
  const std::string name = call.name;
  const auto count = static_cast<size_t>(call.count);
  const auto all = count * static_cast<size_t>(comm.size);
  const bool blocks_in = name == "alltoall" || (name == "scatter" && rank == 0);
  const bool blocks_out = name == "alltoall" || name == "allgather" || (name == "gather" && rank == 0);
  buffers.in.assign(blocks_in ? all : count, rank + 1);
  buffers.out.assign(blocks_out ? all : count, -1);
  const int* in = buffers.in.data();
  int* out = buffers.out.data();
  if (name == "barrier") return coll::start<coll::barrier>(comm, request);
  if (name == "bcast") {
    return coll::start<coll::bcast>(comm, request, rank == 0 ? buffers.in.data() : out, call.count, type, 0);
  }
  if (name == "reduce") return coll::start<coll::reduce>(comm, request, in, out, call.count, type, sum, 0);
  if (name == "allreduce") return coll::start<coll::allreduce>(comm, request, in, out, call.count, type, sum);
  if (name == "scan") return coll::start<coll::scan>(comm, request, in, out, call.count, type, sum);
  if (name == "gather")
    return coll::start<coll::gather>(comm, request, in, call.count, type, out, call.count, type, 0);
  if (name == "scatter")
    return coll::start<coll::scatter>(comm, request, in, call.count, type, out, call.count, type, 0);
  if (name == "allgather")
    return coll::start<coll::allgather>(comm, request, in, call.count, type, out, call.count, type);
  return coll::start<coll::alltoall>(comm, request, in, call.count, type, out, call.count, type);
}

/// The value that each element of this block must have; -1: it stays unwritten.
int expected(const std::string& name, int ranks, int rank, size_t block) {
  const int64_t upto = name == "scan" ? rank + 1 : ranks;
  const auto sum = static_cast<int>(upto * (upto + 1) / 2);
  if (name == "allreduce" || name == "scan" || (name == "reduce" && rank == 0)) return sum;
  if (name == "bcast") return rank == 0 ? -1 : 1;
  if (name == "scatter") return 1;
  if (name == "allgather" || name == "alltoall" || (name == "gather" && rank == 0))
    return static_cast<int>(block) + 1;
  return -1;
}

struct Figures {
  uint64_t remote_packets_most = 0;  // most of any rank
  uint64_t remote_packets = 0;       // of all ranks
  uint64_t remote_bytes = 0;
  size_t remote_peers_most = 0;
  uint64_t remote_packets_of_followers = 0;  // of ranks that are not leaders of their machine
};

Figures figures_of(const SimulatedJob& job) {
  Figures figures;
  for (int rank = 0; rank < job.size(); ++rank) {
    const Sent& sent = job.sent(rank);
    figures.remote_packets_most = std::max(figures.remote_packets_most, sent.remote_packets);
    figures.remote_packets += sent.remote_packets;
    figures.remote_bytes += sent.remote_bytes;
    figures.remote_peers_most = std::max(figures.remote_peers_most, sent.remote_peers.size());
    if (!job.leads(rank)) figures.remote_packets_of_followers += sent.remote_packets;
  }
  return figures;
}

Figures run(SimulatedJob& job, const Call& call) {
  objects::Op& sum = *objects::pools.ops.create();
  sum.kind = objects::OpKind::sum;
  std::vector<Buffers> buffers(static_cast<size_t>(job.size()));
  job.forget_sent();
  EXPECT_TRUE(job.run([&](Comm& comm, int rank, Request*& request) {
    return begin(call, comm, rank, buffers[static_cast<size_t>(rank)], sum, request);
  })) << call.name;
  objects::release(sum);
  for (int rank = 0; rank < job.size(); ++rank) {
    const std::vector<int>& out = buffers[static_cast<size_t>(rank)].out;
    for (size_t i = 0; i < out.size(); ++i) {
      const int right = expected(call.name, job.size(), rank, i / static_cast<size_t>(call.count));
      if (out[i] == right) continue;
      ADD_FAILURE() << call.name << ", rank " << rank << ", element " << i << ": " << out[i] << ", not "
                    << right;
      return {};
    }
  }
  return figures_of(job);
}

constexpr Call kCalls[] = {{"barrier", 0},   {"bcast", 2},         {"bcast", 16384}, {"reduce", 2},
                           {"allreduce", 2}, {"allreduce", 16384}, {"scan", 2},      {"allgather", 2},
                           {"gather", 2},    {"scatter", 2},       {"alltoall", 2}};

TEST(Scale, what_crosses_the_network_follows_from_the_number_of_machines) {
  SimulatedJob job(kShortRanks, kShortEach);
  constexpr uint64_t kMachines = kShortRanks / kShortEach;
  constexpr uint64_t kRounds = 3;  // log2 of the number of machines
  for (const Call& call : kCalls) {
    const std::string name = call.name;
    const Figures figures = run(job, call);
    if (HasFailure()) return;
    // In a scan the leader of a machine is its last rank.
    if (name != "scan") EXPECT_EQ(figures.remote_packets_of_followers, 0U) << name;
    if (name == "barrier") EXPECT_EQ(figures.remote_packets_most, kRounds);
    if (name == "allreduce" && call.count == 2) EXPECT_EQ(figures.remote_packets_most, kRounds);
    if (name == "bcast" && call.count == 2) {
      EXPECT_EQ(figures.remote_packets, kMachines - 1);
      EXPECT_LE(figures.remote_packets_most, kRounds);
    }
    if (name == "reduce") EXPECT_EQ(figures.remote_packets, kMachines - 1);
    EXPECT_LE(figures.remote_peers_most, kMachines - 1) << name;
  }
}

TEST(Scale, figures_of_large_jobs) {
  const std::vector<int> wished = wished_ranks();
  if (wished.empty()) GTEST_SKIP() << "HEARTH_SCALE_RANKS=1024,4096 prints them";
  for (const int ranks : wished) {
    const size_t before = heap_bytes();
    SimulatedJob job(ranks, kLongEach);
    const size_t each = (heap_bytes() - before) / static_cast<size_t>(ranks);
    std::printf("%d ranks on %d machines: %zu bytes of heap for each rank, %.0f for each of its peers\n",
                ranks, job.machines(), each, static_cast<double>(each) / ranks);
    std::printf(
        "| collective | integers | most packets of a rank to other machines | of all ranks | bytes of all | "
        "most connections of a rank |\n|---|---|---|---|---|---|\n");
    for (const Call& call : kCalls) {
      if (std::string(call.name) == "alltoall" && ranks > kAlltoallRanksMax) continue;
      const Figures figures = run(job, call);
      std::printf("| %s | %lld | %llu | %llu | %llu | %zu |\n", call.name, static_cast<long long>(call.count),
                  static_cast<unsigned long long>(figures.remote_packets_most),
                  static_cast<unsigned long long>(figures.remote_packets),
                  static_cast<unsigned long long>(figures.remote_bytes), figures.remote_peers_most);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace hearth::contract
