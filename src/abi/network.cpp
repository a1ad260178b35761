#include "abi/network.h"

#include <cstdio>
#include <string>
#include <utility>

#include "abi/error.h"
#include "base/atomic.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "mpi.h"
#include "transport/endpoint_address.h"
#include "transport/router.h"
#include "transport/shm_transport.h"

namespace hearth::abi {
namespace {

constexpr const char* kAddressName = "fabric";
constexpr uint64_t kFirstWordsNs = 2'000'000'000;

// The endpoint address of this process. Interfaces may have other names on other machines.
transport::EndpointAddress make_address(const transport::Network& network) {
  transport::EndpointAddress published;
  published.provider = network.way().substr(0, network.way().find(' '));
  published.address.assign(network.address().begin(), network.address().end());
  published.format += static_cast<uint32_t>(param::get_count(param::Id::pretend_newer_wire));
  return published;
}

// Exchanges endpoint addresses with all ranks of other machines.
Status exchange_addresses(const Runtime& run, transport::Network& network) {
  const launch::Bootstrap& job = run.job;
  const transport::EndpointAddress own = make_address(network);
  HEARTH_TRY(job.launcher->put(kAddressName, transport::to_bytes(own)));
  HEARTH_TRY(job.launcher->fence());
  std::vector<std::byte> published;
  std::vector<std::byte> address;
  for (int rank = 0; rank < job.size; ++rank) {
    if (run.node->has(rank)) continue;
    HEARTH_TRY(job.launcher->get(rank, kAddressName, published));
    const auto machine = static_cast<size_t>(job.node_of[static_cast<size_t>(rank)]);
    HEARTH_TRY(transport::read_address(published, own, rank, job.hosts[machine], address));
    network.introduce(rank, address);
  }
  return job.launcher->all_have_read();
}

// Records the loss if the program has errors returned; otherwise ends the job.
void note_lost_rank(void*, p2p::PeerIndex peer, const char* why) {
  Runtime& run = runtime();
  char words[160];
  std::snprintf(words, sizeof words, "rank %d, on %s, cannot be reached any more: %s", peer,
                run.job.hosts[static_cast<size_t>(node_of(peer))].c_str(), why);
  if (atomic::load_relaxed(run.node->block().returns_errors) != 0) {
    return run.lost->note(peer, words);
  }
  const Status lost =
      fail(MPI_ERR_PROC_ABORTED,
           "%s. Likely cause: it has ended, its machine is gone, or the network between the two is "
           "cut",
           words);
  end_job(lost.error_class(), last_failure_text());
}

Status open_network(const Runtime& run, std::unique_ptr<transport::Network>& network) {
  const launch::Bootstrap& job = run.job;
  transport::NetworkSetup setup;
  setup.self = job.rank;
  setup.size = job.size;
  setup.key = job.secret;
  setup.node_of = job.node_of;
  setup.lost = note_lost_rank;
  HEARTH_TRY(transport::open_network(setup, network));
  return exchange_addresses(run, *network);
}

}  // namespace

void record_lost_rank(p2p::PeerIndex process, p2p::PeerIndex from) {
  char why[48];
  std::snprintf(why, sizeof why, "rank %d has found out", from);
  note_lost_rank(nullptr, process, why);
}

Status make_transport(Runtime& run) {
  auto near = std::make_unique<transport::ShmTransport>(*run.node);
  const auto take = [&run](std::unique_ptr<transport::Transport> home) {
    run.islands = std::make_unique<transport::Islands>(std::move(home), run.job.size, *run.node);
  };
  if (run.node->has_all()) {
    take(std::move(near));
    return {};
  }
  std::unique_ptr<transport::Network> network;
  if (const Status opened = open_network(run, network); !opened.ok()) {
    // One message for the job, not one per rank: rank 0 reports first, which ends the job.
    if (run.job.rank != 0) os::sleep_ns(kFirstWordsNs);
    return opened;
  }
  run.network = network.get();
  take(std::make_unique<transport::Router>(*run.node, std::move(near), std::move(network)));
  return {};
}

}  // namespace hearth::abi
