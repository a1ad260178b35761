#include "abi/bridges.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "abi/error.h"
#include "abi/runtime.h"
#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::abi {
namespace {

constexpr uint64_t kBridgeCheckNs = 100'000'000;

size_t index_of(PeerIndex peer) {
  return static_cast<size_t>(peer - runtime().job.size);
}

uint64_t own_job() {
  const launch::Bootstrap& job = runtime().job;
  return job.hosts.size() > 1 ? job.secret : job.segment.job().job_id;
}

bool has_left(const shm::RankBlock& block) {
  // Pairs with the release store in announce_departure(): the process that left no longer uses the bridge.
  return atomic::load_acquire(block.phase) == static_cast<uint32_t>(shm::RankPhase::finalized);
}

void wake_members(const Bridge& bridge) {
  for (int place = 0; place < bridge.segment.rank_count(); ++place) {
    if (place != bridge.node->local_rank()) shm::WakeWord(bridge.segment, place).wake();
  }
}

void announce_departure(const Bridge& bridge) {
  // Pairs with has_left().
  atomic::store_release(bridge.node->block().phase, static_cast<uint32_t>(shm::RankPhase::finalized));
  wake_members(bridge);
}

}  // namespace

// Names.

bool Bridges::is_foreign(PeerIndex peer) {
  return peer >= runtime().job.size;
}

bool Bridges::has_foreign(std::span<const PeerIndex> peers) {
  return std::any_of(peers.begin(), peers.end(), is_foreign);
}

ProcessName Bridges::name_of(PeerIndex peer) const {
  if (!is_foreign(peer)) return {own_job(), static_cast<uint64_t>(peer)};
  return *others_[index_of(peer)];
}

std::vector<ProcessName> Bridges::names_of(std::span<const PeerIndex> peers) const {
  std::vector<ProcessName> names;
  for (const PeerIndex peer : peers) names.push_back(name_of(peer));
  return names;
}

PeerIndex Bridges::find(const ProcessName& name) const {
  const int size = runtime().job.size;
  if (name.job == own_job())
    return name.rank < static_cast<uint64_t>(size) ? static_cast<PeerIndex>(name.rank) : MPI_PROC_NULL;
  const auto found = std::find(others_.begin(), others_.end(), name);
  return found == others_.end() ? MPI_PROC_NULL : size + static_cast<PeerIndex>(found - others_.begin());
}

// Gives a process an index, unless it has one.
Status Bridges::know(const ProcessName& name, PeerIndex& peer) {
  peer = find(name);
  if (peer != MPI_PROC_NULL) return {};
  auto place = std::find(others_.begin(), others_.end(), std::nullopt);
  if (place == others_.end()) {
    if (!p2p::engine().processes().add()) {
      return fail(MPI_ERR_NO_MEM,
                  "no room for another process: this one knows %d. Remedy: disconnect from jobs that are no "
                  "longer needed (MPI_Comm_disconnect), or raise the limit on address space (ulimit -v)",
                  p2p::engine().processes().count());
    }
    others_.emplace_back();
    over_.emplace_back();
    place = others_.end() - 1;
  }
  *place = name;
  peer = runtime().job.size + static_cast<PeerIndex>(place - others_.begin());
  return {};
}

// Pre: the process has no state of another bridge.
void Bridges::reach_over(const Bridge& bridge, PeerIndex peer) {
  Runtime& run = runtime();
  over_[index_of(peer)] = &bridge;
  run.islands->route(peer, bridge.transport);
  JobMemory* const memory = memories_.find(name_of(peer).job);
  shm::ForeignProcess process = {&*bridge.node, nullptr, nullptr};
  if (memory != nullptr) {
    process.segment = &memory->segment;
    // A waker without membarrier has to fence in each segment in which it wakes processes (shm/wait.cpp).
    if (atomic::load_acquire(run.job.segment.job().fences_needed) != 0)
      atomic::store_release(memory->segment.job().fences_needed, 1u);
  }
  if (memory != nullptr && memory->has_arena) process.arena = &memory->arena;
  run.node->set_foreign(peer, process);
}

void Bridges::forget(PeerIndex peer) {
  Runtime& run = runtime();
  run.engine->failure_handler().drop_messages_from(peer);
  run.engine->processes().renew(peer);
  run.islands->route(peer, nullptr);
  run.node->set_foreign(peer, {});
  run.deaths->forget(peer);
  std::erase(suspects_, peer);
  const uint64_t job = others_[index_of(peer)]->job;
  others_[index_of(peer)].reset();
  over_[index_of(peer)] = nullptr;
  const bool is_last = std::none_of(others_.begin(), others_.end(), [job](const auto& other) {
    return other.has_value() && other->job == job;
  });
  if (is_last) memories_.unmap(job);
}

// Connections.

uint32_t Bridges::propose_number() const {
  uint32_t number = 0;
  do {
    if (!os::fill_with_chance(&number, sizeof number)) number = static_cast<uint32_t>(os::now_ns());
    number %= kConnectionsMax;
  } while (bridges_.size() < kConnectionsMax / 2 && has_number(number));
  return number;
}

bool Bridges::has_number(uint32_t number) const {
  return std::any_of(bridges_.begin(), bridges_.end(),
                     [number](const Bridge& bridge) { return bridge.number == number; });
}

std::vector<JobFileNumbers> Bridges::files_of(std::span<const ProcessName> names) {
  const launch::Bootstrap& own = runtime().job;
  std::vector<JobFileNumbers> files;
  for (const ProcessName& name : names) {
    const auto is_same = [&name](const JobFileNumbers& one) { return one.job == name.job; };
    if (std::any_of(files.begin(), files.end(), is_same)) continue;
    if (name.job == own_job()) {
      files.push_back({name.job, own.segment.descriptor(), own.arena.usable() ? own.arena.descriptor() : -1});
    } else if (const JobMemory* memory = memories_.find(name.job); memory != nullptr) {
      files.push_back(
          {name.job, memory->segment.descriptor(), memory->has_arena ? memory->arena.descriptor() : -1});
    }
  }
  return files;
}

Status Bridges::make_segment(size_t processes, uint32_t ring_lines, shm::Segment& segment) {
  shm::SegmentPlan plan = shm::SegmentPlan::for_ranks(static_cast<uint32_t>(processes));
  plan.is_bridge = true;
  plan.ring_lines = std::min(plan.ring_lines, ring_lines);
  // Bounce buffers and collective regions belong to the segment of a job.
  plan.buffer_count = 1;
  plan.region_count = 0;
  HEARTH_TRY(shm::Segment::create(plan, segment));
  segment.job().usable_processors = runtime().job.segment.job().usable_processors;
  return {};
}

Status Bridges::attach(shm::Segment segment, uint32_t number, const std::vector<ProcessName>& names,
                       std::vector<JobFiles> files, bool& taken, Bridge*& attached) {
  Runtime& run = runtime();
  taken = has_number(number);
  if (taken) return {};
  Bridge made = {number, std::move(segment), std::nullopt, nullptr, {}, true};
  for (const ProcessName& name : names) {
    PeerIndex peer = MPI_PROC_NULL;
    if (const Status status = know(name, peer); !status.ok()) {
      for (const PeerIndex known : made.peers) {
        if (is_foreign(known) && over_[index_of(known)] == nullptr) forget(known);
      }
      return status;
    }
    made.peers.push_back(peer);
  }
  Bridge& bridge = bridges_.emplace_back(std::move(made));
  std::vector<int> places(static_cast<size_t>(run.engine->processes().count()), -1);
  for (size_t place = 0; place < bridge.peers.size(); ++place) {
    places[static_cast<size_t>(bridge.peers[place])] = static_cast<int>(place);
  }
  const int own_place = places[static_cast<size_t>(run.job.rank)];
  shm::RankBlock& block = bridge.segment.rank(own_place);
  for (JobFiles& one : files) {
    if (one.job != own_job()) memories_.map(std::move(one));
  }
  block.place = shm::node().block().place;
  block.home_rank = static_cast<uint32_t>(run.node->local_rank()) + 1;
  block.maps_peers = std::all_of(names.begin(), names.end(), [this](const ProcessName& name) {
    return name.job == own_job() || memories_.find(name.job) != nullptr;
  });
  bridge.node.emplace(bridge.segment, own_place, nullptr, std::move(places));
  bridge.transport = &run.islands->add_bridge(*bridge.node);
  // Pairs with the acquire load in check_liveness(): the PID is stored.
  atomic::store_release(block.phase, static_cast<uint32_t>(shm::RankPhase::initialized));
  for (const PeerIndex peer : bridge.peers) {
    if (!is_foreign(peer)) continue;
    const Bridge* const over = over_[index_of(peer)];
    if (over != nullptr && !has_left(over->node->block_of(peer))) continue;
    if (over != nullptr) run.engine->processes().renew(peer);
    reach_over(bridge, peer);
  }
  attached = &bridge;
  return {};
}

void Bridges::detach(Bridge& bridge) {
  // Pairs with Node::is_gone() in processes that have found the connection complete.
  atomic::store_release(bridge.node->block().dead, 1U);
  wake_members(bridge);
  remove(std::find_if(bridges_.begin(), bridges_.end(),
                      [&bridge](const Bridge& one) { return &one == &bridge; }));
}

bool Bridges::is_needed(const Bridge& bridge) const {
  if (bridge.being_made) return true;
  const Pool<objects::Comm>& comms = objects::pools.comms;
  for (size_t slot = 0; slot < comms.slots_used(); ++slot) {
    const objects::Comm* comm = comms.at(slot);
    if (comm == nullptr || comm->group == nullptr) continue;
    if (is_joint(comm->context) && connection_of(comm->context) == bridge.number) return true;
    bool needed = false;
    p2p::for_members(*comm, [&](PeerIndex peer) {
      needed = needed || (is_foreign(peer) && over_[index_of(peer)] == &bridge);
    });
    if (needed) return true;
  }
  return false;
}

bool Bridges::is_quiet(const Bridge& bridge) const {
  return std::all_of(bridge.peers.begin(), bridge.peers.end(), [this, &bridge](PeerIndex peer) {
    return !is_foreign(peer) || over_[index_of(peer)] != &bridge || p2p::engine().quiet_to(peer) ||
           p2p::engine().failures().is_dead(peer);
  });
}

void Bridges::leave(std::list<Bridge>::iterator bridge) {
  chaos::at(chaos::Point::bridge_leaving);
  announce_departure(*bridge);
  chaos::at(chaos::Point::bridge_left);
  remove(bridge);
}

void Bridges::remove(std::list<Bridge>::iterator bridge) {
  Runtime& run = runtime();
  for (const PeerIndex peer : bridge->peers) {
    if (!is_foreign(peer) || over_[index_of(peer)] != &*bridge) continue;
    // If another bridge connects the two processes, it becomes the route.
    const auto other = std::find_if(bridges_.begin(), bridges_.end(), [&](const Bridge& one) {
      return &one != &*bridge && one.node->has(peer) && !has_left(one.node->block_of(peer));
    });
    if (other == bridges_.end()) {
      forget(peer);
      continue;
    }
    run.engine->processes().renew(peer);
    reach_over(*other, peer);
  }
  run.islands->remove_bridge(*bridge->transport);
  run.children.parted(bridge->number);
  bridges_.erase(bridge);
}

void Bridges::leave_unused(bool wait) {
  const auto is_done = [this](const Bridge& bridge) { return !is_needed(bridge) && is_quiet(bridge); };
  if (wait) {
    p2p::engine().wait_until(
        [&] {
          return std::all_of(bridges_.begin(), bridges_.end(),
                             [&](const Bridge& bridge) { return is_needed(bridge) || is_quiet(bridge); });
        },
        [](p2p::WaitDiagnostics& note) { note.finalize(); });
  }
  for (auto bridge = bridges_.begin(); bridge != bridges_.end();) {
    const auto next = std::next(bridge);
    if (is_done(*bridge)) leave(bridge);
    bridge = next;
  }
}

const Bridge* Bridges::bridge_with(std::span<const PeerIndex> members) const {
  const auto found = std::find_if(bridges_.begin(), bridges_.end(), [members](const Bridge& bridge) {
    return std::all_of(members.begin(), members.end(),
                       [&bridge](PeerIndex peer) { return bridge.node->has(peer); });
  });
  return found == bridges_.end() ? nullptr : &*found;
}

bool Bridges::connects(std::span<const PeerIndex> members) const {
  return !has_foreign(members) || bridge_with(members) != nullptr;
}

uint32_t Bridges::new_context(std::span<const PeerIndex> members) const {
  const Bridge* bridge = bridge_with(members);
  if (bridge == nullptr) return 0;
  const uint32_t counted = atomic::fetch_add(bridge->segment.job().next_context, kContextsEach);
  return joint_context_block(bridge->number, counted - kFirstFreeContext);
}

const shm::RankBlock& Bridges::block_of(PeerIndex peer) const {
  return over_[index_of(peer)]->node->block_of(peer);
}

// Ends.

void Bridges::check_liveness() {
  if (bridges_.empty()) return;
  const uint64_t now = os::now_ns();
  if (now - checked_ns_ < kBridgeCheckNs) return;
  checked_ns_ = now;
  for (const Bridge& bridge : bridges_) {
    for (const PeerIndex peer : bridge.peers) {
      if (!is_foreign(peer) || over_[index_of(peer)] != &bridge || runtime().deaths->death_of(peer) != 0)
        continue;
      // Pairs with the release store in attach().
      const uint32_t phase = atomic::load_acquire(bridge.node->block_of(peer).phase);
      if (phase == static_cast<uint32_t>(shm::RankPhase::initialized) && bridge.node->is_gone(peer)) {
        note_death(bridge, peer);
      }
    }
  }
}

// Records the death if the program has errors returned; otherwise ends the job.
void Bridges::note_death(const Bridge& bridge, PeerIndex peer) {
  // The process may have left and ended after check_liveness() loaded its phase.
  if (has_left(bridge.node->block_of(peer))) return;
  char words[200];
  std::snprintf(
      words, sizeof words,
      "rank %llu of a connected job (process %u) ended without MPI_Finalize or MPI_Comm_disconnect, or "
      "could not complete the connection",
      static_cast<unsigned long long>(name_of(peer).rank), bridge.node->block_of(peer).pid);
  if (atomic::load_relaxed(shm::node().block().returns_errors) != 0)
    return runtime().deaths->note(peer, words);
  // The launcher of this job may know a cause that lies in this job, so wait for one more check.
  if (std::find(suspects_.begin(), suspects_.end(), peer) == suspects_.end())
    return suspects_.push_back(peer);
  const Status died = fail(MPI_ERR_PROC_ABORTED,
                           "%s. Likely cause: it crashed or was killed; its own mpiexec reports how", words);
  end_job(died.error_class(), last_failure_text());
}

void Bridges::finalize() {
  p2p::Engine& engine = p2p::engine();
  for (size_t index = 0; index < others_.size(); ++index) {
    if (others_[index].has_value())
      engine.processes().release_buffers(runtime().job.size + static_cast<PeerIndex>(index));
  }
  for (const Bridge& bridge : bridges_) announce_departure(bridge);
  for (const Bridge& bridge : bridges_) {
    engine.wait_until(
        [&] {
          return std::all_of(bridge.peers.begin(), bridge.peers.end(), [&](PeerIndex peer) {
            return !is_foreign(peer) || has_left(bridge.node->block_of(peer)) ||
                   engine.failures().is_dead(peer);
          });
        },
        [](p2p::WaitDiagnostics& note) { note.finalize(); });
  }
  runtime().children.part_all();
}

}  // namespace hearth::abi
