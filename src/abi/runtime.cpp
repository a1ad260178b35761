#include "abi/runtime.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>

#include "abi/entry.h"
#include "abi/error.h"
#include "abi/handle.h"
#include "abi/network.h"
#include "abi/pool_places.h"
#include "abi/published_names.h"
#include "abi/send_buffers.h"
#include "abi/shared_heap.h"
#include "abi/simulated_nodes.h"
#include "abi/spawning.h"
#include "abi/status.h"
#include "base/atomic.h"
#include "base/chaos.h"
#include "base/contexts.h"
#include "base/lock.h"
#include "base/os_machine.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "coll/agreement.h"
#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "io/board.h"
#include "io/queue.h"
#include "mpi.h"
#include "objects/attribute.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"
#include "shm/corruption.h"
#include "topo/relation.h"

namespace hearth::abi {
namespace {

// Never destroyed: an atexit function of the program may still call MPI_Finalized.
Runtime* the_runtime = nullptr;

// The launcher of a process that could not join its job: it must report the end to the other ranks.
launch::ForeignLauncher* left_launcher = nullptr;
// Processes of other jobs that this process can know at a time.
constexpr int kForeignPeersMax = 16384;
// Some launchers discard unread output when a rank aborts, so wait for the last message to be read.
constexpr uint64_t kLastWordsNs = 50'000'000;

[[noreturn]] void end_job_for(Status status) {
  end_job(status.error_class(), last_failure_text());
}

objects::Comm* make_comm(const char* name, uint32_t context, std::vector<objects::PeerIndex> peers) {
  objects::Group* group = objects::pools.groups.create();
  objects::Comm* comm = objects::pools.comms.create();
  if (group == nullptr || comm == nullptr) return nullptr;
  group->peers = std::move(peers);
  group->index(runtime().job.rank);
  note_machines(*group);
  comm->context = context;
  comm->group = group;
  comm->rank = group->rank;
  comm->size = comm->peer_count = group->size();
  comm->peers = group->peers.data();
  comm->errhandler = &initial_errhandler();
  objects::retain(*comm->errhandler);
  comm->name = name;
  return comm;
}

Status make_predefined_comms() {
  std::vector<objects::PeerIndex> all(static_cast<size_t>(runtime().job.size));
  for (size_t r = 0; r < all.size(); ++r) all[r] = static_cast<objects::PeerIndex>(r);
  objects::Comm* world = make_comm("MPI_COMM_WORLD", kWorldContext, std::move(all));
  objects::Comm* self = make_comm("MPI_COMM_SELF", kSelfContext, {runtime().job.rank});
  if (world == nullptr || self == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for MPI_COMM_WORLD");
  // Region 0; on several machines, each machine has its own.
  if (runtime().job.segment.geometry().region_count > 0) world->region = 0;
  world->region_agreed = true;
  set_predefined_comms(*world, *self);
  return {};
}

profile::PartFacts own_part_facts() {
  const launch::Bootstrap& job = runtime().job;
  profile::PartFacts facts = {};
  facts.place = shm::node().block().place;
  facts.processors = job.segment.job().usable_processors;
  std::snprintf(facts.host, sizeof facts.host, "%s", os::host_name().c_str());
  std::snprintf(facts.program, sizeof facts.program, "%s", os::program_name().c_str());
  return facts;
}

// A failure is not fatal: the job runs without the profile.
void make_recorder() {
  Runtime& run = runtime();
  static_assert(static_cast<int>(Call::count_) <= profile::kCallsMax);
  const auto size = static_cast<uint32_t>(run.job.size);
  const std::string& folder = param::get_text(param::Id::profile_folder);
  Status there;
  if (run.job.board.open()) {
    there = profile::Board::attach(std::move(run.job.board), size, run.job.rank, run.board);
  } else if (run.job.launcher != nullptr && !folder.empty()) {
    there = profile::Board::create_part(folder, size, run.job.rank, own_part_facts(), run.board);
  } else {
    return;
  }
  if (!there.ok()) return warn(last_failure_text());
  run.recorder = std::make_unique<profile::Recorder>(run.board, run.job.rank, node_of(run.job.rank));
  profile::process_recorder = run.recorder.get();
  profile::process_traced = run.recorder->tracing();
  profile::call_counts = run.board.part(run.job.rank).calls;
}

// Ends the job if the ids are used up: the other members of the communicator wait for the id, and a used one
// would mix the messages of two communicators.
uint32_t new_context(std::span<const p2p::PeerIndex> members) {
  const Runtime& run = runtime();
  if (Bridges::has_foreign(members)) {
    if (const uint32_t context = run.bridges.new_context(members); context != 0) return context;
    end_job_for(
        fail(MPI_ERR_OTHER,
             "the connection to another job has used up its context ids: %u communicators. Likely cause: a "
             "loop makes and frees them. Remedy: make them once, before the loop",
             (1u << kJointCountBits) / kContextsEach));
  }
  const uint32_t counted =
      atomic::fetch_add(run.job.segment.job().next_context, kContextsEach) - kFirstFreeContext;
  const bool alone = run.node->has_all();
  const uint32_t machines = alone ? 1 : static_cast<uint32_t>(run.job.hosts.size());
  const uint32_t machine = alone ? 0 : static_cast<uint32_t>(node_of(run.job.rank));
  const uint32_t context = new_context_block(counted, machines, machine);
  if (context != 0) return context;
  end_job_for(
      fail(MPI_ERR_OTHER,
           "the job has used up its context ids: its ranks have made %u communicators and channels of "
           "partitioned messages on one machine. Likely cause: a loop makes and frees them. Remedy: "
           "make them once, before the loop",
           counted / kContextsEach));
}

topo::Relation relation_to(objects::PeerIndex peer) {
  const int self = runtime().job.rank;
  if (peer == self) return topo::Relation::self;
  if (!Bridges::is_foreign(peer) && !runtime().node->has(peer)) return topo::Relation::network;
  return topo::relation_of(bound_place_of(self), bound_place_of(peer));
}

void make_node(Runtime& run) {
  const std::vector<int>& machines = run.job.node_of;
  const bool several = std::ranges::adjacent_find(machines, std::not_equal_to<>()) != machines.end();
  run.node.emplace(run.job.segment, run.job.place, &run.job.arena, run.job.place_of,
                   several ? machines : std::vector<int>());
}

void make_engine() {
  Runtime& run = runtime();
  const shm::Segment& segment = run.job.segment;
  const shm::JobHeader& job = segment.job();
  p2p::EngineSetup setup;
  setup.self = run.job.rank;
  setup.size = run.job.size;
  setup.size_max = run.job.size + kForeignPeersMax;
  setup.transport = run.islands.get();
  const auto ranks_here = segment.geometry().rank_count;
  setup.wait = p2p::WaitPolicy::from_parameters(ranks_here > job.usable_processors,
                                                static_cast<int>(ranks_here) == run.job.size);
  setup.relation = relation_to;
  setup.new_context = new_context;
  coll::use_regions(run.regions.emplace(&*run.node));
  coll::Agreement::set_up();
  io::set_up({[](size_t bytes, void*& memory) { return runtime().memory.allocate(bytes, nullptr, memory); },
              [](void* memory) { static_cast<void>(runtime().memory.free(memory)); },
              [](MPI_Status& status, int64_t bytes) { set_status_bytes(status, bytes); }});
  // The segment reports only deaths on this machine.
  const shm::Deaths* deaths = &run.node->liveness();
  if (!run.node->has_all()) {
    deaths = &run.lost.emplace(run.job.size);
    setup.record_death = record_lost_rank;
  }
  setup.liveness = &run.deaths.emplace(*deaths, run.job.size);
  if (run.job.launcher != nullptr) run.liveness_monitor.emplace(run.job.size).open();
  setup.check_liveness = check_processes;
  setup.node = &*run.node;
  setup.methods = single_copy::methods();
  setup.recorder = run.recorder.get();
  setup.fatal = [](Status status) { end_job_for(status); };
  shm::set_corruption_handler([](Status status) { end_job_for(status); });
  setup.warn = warn;
  run.engine = std::make_unique<p2p::Engine>(setup);
  p2p::process_engine = run.engine.get();
  publish_pools(*run.engine);
}

}  // namespace

bool is_attached() {
  return the_runtime != nullptr;
}

Runtime& runtime() {
  return *the_runtime;
}

void note_machines(objects::Group& group) {
  if (!runtime().node->is_one_of_several() || Bridges::has_foreign(group.peers)) return;
  group.machines = objects::divide(group.peers, group.rank, runtime().job.node_of);
}

bool on_one_machine(const std::vector<p2p::PeerIndex>& peers) {
  if (Bridges::has_foreign(peers)) return false;
  if (!runtime().node->is_one_of_several() || peers.empty()) return true;
  return std::all_of(peers.begin(), peers.end(),
                     [&peers](p2p::PeerIndex peer) { return node_of(peer) == node_of(peers[0]); });
}

const shm::RankPlace& bound_place_of(p2p::PeerIndex peer) {
  static constexpr shm::RankPlace kNowhere = {-1, -1, -1, -1, -1, -1};
  const shm::Node& node = *runtime().node;
  if (Bridges::is_foreign(peer)) return runtime().bridges.block_of(peer).place;
  return node.has(peer) ? node.block_of(peer).place : kNowhere;
}

void warn(const char* text) {
  std::fprintf(stderr, "hearth: rank %d: %s\n", runtime().job.rank, text);
}

void check_processes() {
  Runtime& run = runtime();
  if (run.liveness_monitor.has_value()) run.liveness_monitor->check();
  run.bridges.check_liveness();
}

namespace {

// Another library's launcher does not read the segment, so it does not detect that a rank ends without
// MPI_Finalize, and some launchers lose the exit code then. So the rank itself reports its end.
void end_without_finalize(int code) {
  const Runtime& run = runtime();
  if (run.users == 0 || state() == State::forked_child) return;
  if (code == 0) {
    std::fprintf(stderr, "hearth: rank %d ended with exit code 0 after MPI_Init, but without MPI_Finalize\n",
                 run.job.rank);
  }
  std::fflush(nullptr);
  os::sleep_ns(kLastWordsNs);
  run.job.launcher->abort(code == 0 ? 1 : code, "ended without MPI_Finalize");
}

Status attach() {
  if (the_runtime != nullptr) return {};
  auto run = std::make_unique<Runtime>();
  // Created now: later uses could not report a failed allocation.
  static_cast<void>(datatype::null_type());
  launch::begin_chaos();
  chaos::at(chaos::Point::boot_begins);
  if (const Status joined = launch::bootstrap(run->job); !joined.ok()) {
    left_launcher = run->job.launcher.release();
    return joined;
  }
  simulate_nodes(run->job);
  make_node(*run);
  if (const Status connected = make_transport(*run); !connected.ok()) {
    left_launcher = run->job.launcher.release();
    return connected;
  }
  chaos::at(chaos::Point::boot_joined);
  run->main_thread = pthread_self();
  // Never freed: see the_runtime.
  the_runtime = run.release();
  shm::process_node = &*the_runtime->node;
  shm::watch_forks_for(the_runtime->job.arena);
  if (const char* why_not = share_heap(the_runtime->job.arena);
      why_not != nullptr && the_runtime->job.rank == 0) {
    warn((std::string("the heap is not shared: ") + why_not).c_str());
  }
  if (the_runtime->job.launcher != nullptr) os::at_exit(end_without_finalize);
  make_recorder();
  make_engine();
  note_errhandler(initial_errhandler());
  return {};
}

void enter_phase(shm::RankPhase phase) {
  // Pairs with the load that the launcher does after the process has ended.
  atomic::store_release(shm::node().block().phase, static_cast<uint32_t>(phase));
}

}  // namespace

void note_errhandler(const objects::Errhandler& handler) {
  const bool ends = handler.kind == objects::ErrhandlerKind::errors_are_fatal ||
                    handler.kind == objects::ErrhandlerKind::errors_abort;
  if (ends || !is_attached()) return;
  atomic::store_relaxed(shm::node().block().returns_errors, 1u);
  // Hydra reports deaths by this signal, which must not end this process; the liveness monitor finds the dead
  // rank.
  if (runtime().job.launcher != nullptr) os::ignore_unless_handled(SIGUSR1);
}

Status add_user(int& level) {
  HEARTH_TRY(attach());
  Runtime& run = runtime();
  if (run.users++ > 0) {
    // The lock cannot be enabled while other threads may be in the library.
    level = std::min(level, run.level_in_force);
    return {};
  }
  run.level_in_force = level;
  if (run.network != nullptr) run.network->rejoin();
  // Stays enabled: a thread may wait for it.
  if (level == MPI_THREAD_MULTIPLE && !LibraryLock::enabled) LibraryLock::enabled = true;
  if (run.recorder != nullptr) {
    run.recorder->begin();
    // The end of a call is recorded where the lock is released.
    if (run.recorder->tracing()) LibraryLock::enabled = true;
  }
  enter_phase(shm::RankPhase::initialized);
  chaos::at(chaos::Point::boot_ends);
  enter_state(State::active);
  return {};
}

namespace {

// Messages to other machines may need this process until they have arrived. In MPI_Finalize (`with_all`) each
// rank waits for all ranks with which it has communicated; the end of a session only announces the departure.
void leave_network(bool with_all) {
  Runtime& run = runtime();
  if (run.network == nullptr) return;
  const auto wait_until = [&run](auto&& done) {
    run.engine->wait_until(done, [](p2p::WaitDiagnostics& note) { note.finalize(); });
  };
  wait_until([&run] { return run.engine->quiet(); });
  run.network->leave();
  wait_until([&run, with_all] { return with_all ? run.network->has_left() : run.network->quiet(); });
}

}  // namespace

void remove_user() {
  Runtime& run = runtime();
  if (run.users == 1) {
    flush_all_send_buffers();
    // Data in rings and bounce buffers stay readable after this process has ended; wait only for data that
    // are not there yet.
    run.engine->wait_until([&run] { return run.engine->quiet(); },
                           [](p2p::WaitDiagnostics& note) { note.finalize(); });
    leave_network(false);
  }
  if (--run.users > 0) {
    // Another user may have been added during the wait.
    if (run.network != nullptr) run.network->rejoin();
    return;
  }
  io::stop_queue();
  run.engine->complete_profile();
  if (run.recorder != nullptr) run.recorder->end(run.engine->pool_bytes());
  chaos::at(chaos::Point::finalize_ends);
  enter_state(State::finalized);
  enter_phase(shm::RankPhase::finalized);
  if (run.job.launcher != nullptr) run.job.launcher->finalize();
}

Status start_world(int& level) {
  HEARTH_TRY(attach());
  HEARTH_TRY(make_predefined_comms());
  Runtime& run = runtime();
  run.main_thread = pthread_self();
  HEARTH_TRY(add_user(level));
  run.thread_level = level;
  {
    const LockGuard guard;
    HEARTH_TRY(connect_to_parent());
  }
  atomic::store_relaxed(world_state, State::active);
  return {};
}

namespace {

/// Closing a file is collective, so MPI_Finalize cannot close files that the program has left open.
void warn_of_open_files() {
  for (size_t slot = 0; slot < objects::pools.files.slots_used(); ++slot) {
    const objects::File* file = objects::pools.files.at(slot);
    if (file == nullptr || file->comm == nullptr || file->comm->rank != 0) continue;
    const std::string text =
        "MPI_Finalize: " + file->comm->name + " is still open: MPI_File_close is missing";
    warn(text.c_str());
  }
}

}  // namespace

Status end_world() {
  chaos::at(chaos::Point::finalize_begins);
  // Attributes of MPI_COMM_SELF go first, while MPI still works (MPI 5.0 section 11.2.4).
  HEARTH_TRY(objects::delete_attributes(predefined_comm(MPI_COMM_SELF)));
  HEARTH_TRY(objects::delete_attributes(predefined_comm(MPI_COMM_WORLD)));
  warn_of_open_files();
  runtime().send_buffer.flush(p2p::engine());
  runtime().bridges.finalize();
  unpublish_all_names();
  leave_network(true);
  remove_user();
  drop_predefined_comms();
  atomic::store_relaxed(world_state, State::finalized);
  return {};
}

namespace {

int exit_code_of(int code) {
  return (code & 0xff) != 0 ? code & 0xff : 1;
}

// The first rank that ends the job stores its message in the segment. True for the first rank.
bool claim_end(shm::JobHeader& job, int code, const char* text) {
  if (!atomic::compare_exchange(job.abort_claimed, 0u, 1u)) return false;
  job.abort_rank = the_runtime->job.rank;
  job.abort_code = code;
  std::snprintf(job.abort_text, sizeof job.abort_text, "%s", text);
  // Pairs with the launcher's acquire load: the text is complete.
  atomic::store_release(job.abort_written, 1u);
  return true;
}

[[noreturn]] void end_with_text(launch::ForeignLauncher* launcher, int code, const char* text) {
  std::fflush(nullptr);
  if (launcher != nullptr) {
    os::sleep_ns(kLastWordsNs);
    launcher->abort(exit_code_of(code), text);
  }
  os::end_process(exit_code_of(code));
}

}  // namespace

void end_own_process(int code, const char* text) {
  std::fflush(stdout);
  std::fprintf(stderr, "hearth: %s\n", text);
  end_with_text(nullptr, code, text);
}

void end_job(int code, const char* text) {
  // A child made by fork shares the rank's segment, but ends alone.
  if (state() == State::forked_child) end_own_process(code, text);
  const bool in_job =
      the_runtime != nullptr && the_runtime->job.segment.mapped() && !the_runtime->job.singleton;
  if (!in_job) {
    std::fflush(stdout);
    std::fprintf(stderr, "hearth: %s\n", text);
    end_with_text(left_launcher, code, text);
  }
  launch::ForeignLauncher* launcher = the_runtime->job.launcher.get();
  // The launcher prints the message of the first rank; the other ranks print nothing.
  if (!claim_end(the_runtime->job.segment.job(), code, text)) {
    os::sleep_ns(1'000'000);
    launcher = nullptr;
  } else if (launcher != nullptr) {
    std::fflush(stdout);
    std::fprintf(stderr, "hearth: rank %d ended the job with code %d: %s\n", the_runtime->job.rank, code,
                 text);
  }
  end_with_text(launcher, code, text);
}

}  // namespace hearth::abi
