// MPI 5.0 section 15.3.7: performance variables. Levels and sizes are read directly. A counter counts from
// the start of its handle, separately for each handle.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "abi/runtime.h"
#include "abi/tool.h"
#include "coll/collective_region.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

using p2p::Engine;

/// A performance variable; all have the type MPI_UNSIGNED_LONG_LONG and belong to no object.
struct Pvar {
  const char* name;
  int variable_class;
  uint64_t (*read)(Engine&);
  const char* text;
};

constexpr int kLevel = MPI_T_PVAR_CLASS_LEVEL;
constexpr int kCounter = MPI_T_PVAR_CLASS_COUNTER;
constexpr int kSizeClass = MPI_T_PVAR_CLASS_SIZE;

// Counted by mpiexec --profile in this process; 0 without a profile.
uint64_t profiled(uint64_t (*read)(const profile::RankHead&)) {
  const profile::Recorder* recorder = profile::process_recorder;
  return recorder == nullptr ? 0 : read(recorder->head());
}
template <profile::Wait wait>
uint64_t waited_ns(Engine&) {
  return profiled([](const profile::RankHead& head) { return head.waited_ns[static_cast<size_t>(wait)]; });
}

const Pvar pvars[] = {
    {"p2p_unexpected_messages", kLevel,
     [](Engine& e) -> uint64_t { return e.matching().unexpected().size(); },
     "messages that wait for a receive"},
    {"p2p_posted_receives", kLevel, [](Engine& e) -> uint64_t { return e.matching().posted().size(); },
     "receives that wait for a message"},
    {"p2p_sends_under_way", kLevel, [](Engine& e) -> uint64_t { return e.requests().sends_pending(); },
     "sends whose data have not left yet, or whose match is awaited"},
    {"p2p_requests", kLevel, [](Engine& e) -> uint64_t { return e.requests().pool().live(); },
     "requests that exist, those inside of other operations included"},
    {"p2p_unexpected_messages_total", kCounter, [](Engine& e) { return e.matching().unexpected().total(); },
     "messages that came before their receive"},
    {"p2p_posted_receives_total", kCounter, [](Engine& e) { return e.matching().posted().total(); },
     "receives that came before their message"},
    {"p2p_long_messages_sent", kCounter, [](Engine& e) { return e.counters().long_messages_sent; },
     "messages that were announced first: longer than p2p_eager_bytes_max, or held back"},
    {"p2p_long_bytes_sent", kCounter, [](Engine& e) { return e.counters().long_bytes_sent; }, "their bytes"},
    {"p2p_long_bytes_received", kCounter, [](Engine& e) { return e.counters().long_bytes_received; },
     "bytes of received messages that did not fit a ring"},
    {"p2p_single_copies", kCounter, [](Engine& e) { return e.counters().single_copies; },
     "messages that this process copied straight from their sender's memory"},
    {"p2p_single_copy_bytes", kCounter, [](Engine& e) { return e.counters().single_copy_bytes; },
     "their bytes"},
    {"shm_ring_slots_sent", kCounter, [](Engine& e) { return e.eager().slots_sent(); },
     "slots of 32 bytes that this process has written into rings: short messages and all packets of control"},
    {"wait_sleeps", kCounter, [](Engine& e) { return e.counters().sleeps; },
     "how often a waiting call has given its processor up until something comes"},
    {"profile_late_sender_ns", kCounter, waited_ns<profile::Wait::late_sender>,
     "under mpiexec --profile: time in which receives and probes waited for their message"},
    {"profile_late_receiver_ns", kCounter, waited_ns<profile::Wait::late_receiver>,
     "under mpiexec --profile: time in which sends waited for their receive, or for room"},
    {"profile_collective_ns", kCounter, waited_ns<profile::Wait::collective>,
     "under mpiexec --profile: time in which collectives waited for other ranks"},
    {"profile_copy_ns", kCounter,
     [](Engine&) { return profiled([](const profile::RankHead& head) { return head.timed_ns; }); },
     "under mpiexec --profile: time of copies of 32 KiB or more"},
    {"coll_regions_taken", kLevel, [](Engine&) { return coll::region_pool().count_taken(); },
     "communicators and persistent collectives of the whole job that have shared memory for collectives"},
    {"p2p_pool_bytes", kSizeClass, [](Engine& e) -> uint64_t { return e.pool_bytes(); },
     "memory that requests and messages have taken"},
    {"shm_segment_bytes", kSizeClass,
     [](Engine&) -> uint64_t { return runtime().job.segment.geometry().segment_bytes; },
     "addresses that the job's shared memory takes; only what was used of it is memory"},
};

/// The target of an MPI_T_pvar_handle.
struct PvarHandle {
  const Pvar* variable;
  bool running = false;
  uint64_t counted = 0;  // before the last start
  uint64_t start = 0;    // value of the variable at the last start
};

/// The target of an MPI_T_pvar_session.
struct PvarSession {
  std::vector<std::unique_ptr<PvarHandle>> handles;
};

std::vector<std::unique_ptr<PvarSession>>& sessions() {
  static auto& all = *new std::vector<std::unique_ptr<PvarSession>>;
  return all;
}

// 0 before MPI is started.
uint64_t value_of(const Pvar& variable) {
  return p2p::process_engine == nullptr ? 0 : variable.read(*p2p::process_engine);
}

bool counts(const PvarHandle& handle) {
  return handle.variable->variable_class == kCounter;
}

}  // namespace

int pvar_count() {
  return static_cast<int>(std::size(pvars));
}

const char* pvar_name(int index) {
  return pvars[index].name;
}

void drop_pvar_sessions() {
  sessions().clear();
}

}  // namespace hearth::abi

namespace hearth::mpi {
namespace {

using abi::put;
using abi::put_text;
using abi::PvarHandle;
using abi::PvarSession;
using abi::tool_error;

Status check_index(int index) {
  return index >= 0 && index < abi::pvar_count() ? Status() : tool_error(MPI_T_ERR_INVALID_INDEX);
}

auto place_of(MPI_T_pvar_session session) {
  return std::find_if(abi::sessions().begin(), abi::sessions().end(), [session](const auto& one) {
    return reinterpret_cast<MPI_T_pvar_session>(one.get()) == session;
  });
}

auto place_of(PvarSession& session, MPI_T_pvar_handle handle) {
  return std::find_if(session.handles.begin(), session.handles.end(), [handle](const auto& one) {
    return reinterpret_cast<MPI_T_pvar_handle>(one.get()) == handle;
  });
}

Status find_session(MPI_T_pvar_session session, PvarSession*& found) {
  const auto place = place_of(session);
  if (place == abi::sessions().end()) return tool_error(MPI_T_ERR_INVALID_SESSION);
  found = place->get();
  return {};
}

Status find_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, PvarHandle*& found) {
  PvarSession* owner = nullptr;
  HEARTH_TRY(find_session(session, owner));
  const auto place = place_of(*owner, handle);
  if (place == owner->handles.end()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  found = place->get();
  return {};
}

// The present value of a handle.
uint64_t reading_of(const PvarHandle& handle) {
  const uint64_t value = abi::value_of(*handle.variable);
  if (!abi::counts(handle)) return value;
  return handle.counted + (handle.running ? value - handle.start : 0);
}

void set_reading(PvarHandle& handle, uint64_t value) {
  handle.counted = value;
  handle.start = abi::value_of(*handle.variable);
}

// Starts, stops or resets one handle or, for MPI_T_PVAR_ALL_HANDLES, all counters of the session.
template <class Change>
Status for_one_or_all(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal, Change change) {
  PvarSession* owner = nullptr;
  HEARTH_TRY(find_session(session, owner));
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (const auto& one : owner->handles) {
      if (abi::counts(*one)) change(*one);
    }
    return {};
  }
  PvarHandle* found = nullptr;
  HEARTH_TRY(find_handle(session, handle, found));
  if (!abi::counts(*found)) return tool_error(refusal);
  change(*found);
  return {};
}

}  // namespace

Status t_pvar_get_num(int& num_pvar) {
  num_pvar = abi::pvar_count();
  return {};
}

Status t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                       MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind,
                       int* readonly, int* continuous, int* atomic) {
  HEARTH_TRY(check_index(pvar_index));
  const abi::Pvar& variable = abi::pvars[pvar_index];
  const int counts = variable.variable_class == abi::kCounter;
  put_text(variable.name, name, name_len);
  put_text(variable.text, desc, desc_len);
  put(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
  put(var_class, variable.variable_class);
  put(datatype, MPI_UNSIGNED_LONG_LONG);
  put(enumtype, MPI_T_ENUM_NULL);
  put(bind, MPI_T_BIND_NO_OBJECT);
  put(readonly, !counts ? 1 : 0);
  put(continuous, !counts ? 1 : 0);
  put(atomic, counts);
  return {};
}

Status t_pvar_get_index(const char* name, int var_class, int& pvar_index) {
  for (int i = 0; i < abi::pvar_count(); ++i) {
    if (abi::pvars[i].variable_class != var_class || std::strcmp(abi::pvars[i].name, name) != 0) continue;
    pvar_index = i;
    return {};
  }
  return tool_error(MPI_T_ERR_INVALID_NAME);
}

Status t_pvar_session_create(MPI_T_pvar_session* session) {
  if (session == nullptr) return tool_error(MPI_T_ERR_INVALID);
  abi::sessions().push_back(std::make_unique<PvarSession>());
  *session = reinterpret_cast<MPI_T_pvar_session>(abi::sessions().back().get());
  return {};
}

Status t_pvar_session_free(MPI_T_pvar_session* session) {
  if (session == nullptr) return tool_error(MPI_T_ERR_INVALID);
  const auto place = place_of(*session);
  if (place == abi::sessions().end()) return tool_error(MPI_T_ERR_INVALID_SESSION);
  abi::sessions().erase(place);
  *session = MPI_T_PVAR_SESSION_NULL;
  return {};
}

Status t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void*, MPI_T_pvar_handle* handle,
                           int& count) {
  if (handle == nullptr) return tool_error(MPI_T_ERR_INVALID);
  PvarSession* owner = nullptr;
  HEARTH_TRY(find_session(session, owner));
  HEARTH_TRY(check_index(pvar_index));
  owner->handles.push_back(std::make_unique<PvarHandle>(PvarHandle{.variable = &abi::pvars[pvar_index]}));
  *handle = reinterpret_cast<MPI_T_pvar_handle>(owner->handles.back().get());
  count = 1;
  return {};
}

Status t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  if (handle == nullptr) return tool_error(MPI_T_ERR_INVALID);
  PvarSession* owner = nullptr;
  HEARTH_TRY(find_session(session, owner));
  const auto place = place_of(*owner, *handle);
  if (place == owner->handles.end()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  owner->handles.erase(place);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return {};
}

Status t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_one_or_all(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PvarHandle& one) {
    if (one.running) return;
    one.running = true;
    one.start = abi::value_of(*one.variable);
  });
}

Status t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_one_or_all(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PvarHandle& one) {
    one.counted = reading_of(one);
    one.running = false;
  });
}

Status t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_one_or_all(session, handle, MPI_T_ERR_PVAR_NO_WRITE,
                        [](PvarHandle& one) { set_reading(one, 0); });
}

Status t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  if (buf == nullptr) return tool_error(MPI_T_ERR_INVALID);
  PvarHandle* found = nullptr;
  HEARTH_TRY(find_handle(session, handle, found));
  *static_cast<unsigned long long*>(buf) = reading_of(*found);
  return {};
}

Status t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  if (buf == nullptr) return tool_error(MPI_T_ERR_INVALID);
  PvarHandle* found = nullptr;
  HEARTH_TRY(find_handle(session, handle, found));
  if (!abi::counts(*found)) return tool_error(MPI_T_ERR_PVAR_NO_WRITE);
  set_reading(*found, *static_cast<const unsigned long long*>(buf));
  return {};
}

Status t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  if (buf == nullptr) return tool_error(MPI_T_ERR_INVALID);
  PvarHandle* found = nullptr;
  HEARTH_TRY(find_handle(session, handle, found));
  if (!abi::counts(*found)) return tool_error(MPI_T_ERR_PVAR_NO_ATOMIC);
  *static_cast<unsigned long long*>(buf) = reading_of(*found);
  set_reading(*found, 0);
  return {};
}

}  // namespace hearth::mpi
