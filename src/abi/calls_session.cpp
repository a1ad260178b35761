// MPI 5.0 section 11.3: sessions and their process sets.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "abi/comm_making.h"
#include "abi/handle.h"
#include "abi/hints.h"
#include "abi/process_sets.h"
#include "abi/runtime.h"
#include "abi/send_buffers.h"
#include "abi/state.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using abi::ProcessSet;
using objects::Errhandler;
using objects::Group;
using objects::Info;
using objects::Session;

constexpr const char* kThreadLevel = "thread_level";

struct Level {
  const char* name;
  int value;
};
constexpr Level kLevels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                             {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                             {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                             {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

// The thread level that a session requests. Independent parts of a program may open sessions in different
// threads, so the default is MPI_THREAD_MULTIPLE.
Status read_level(const Info* info, int& level) {
  level = MPI_THREAD_MULTIPLE;
  if (info == nullptr) return {};
  for (const auto& [key, value] : info->entries) {
    if (key != kThreadLevel) continue;
    const Level* found = std::find_if(std::begin(kLevels), std::end(kLevels),
                                      [&value = value](const Level& row) { return value == row.name; });
    if (found == std::end(kLevels)) {
      return fail(MPI_ERR_INFO_VALUE,
                  "thread_level is \"%s\". Remedy: use one of MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED and "
                  "_MULTIPLE",
                  value.c_str());
    }
    level = found->value;
  }
  return {};
}

Status find_set(const char* name, ProcessSet& set) {
  if (abi::find_process_set(name, set)) return {};
  return fail(MPI_ERR_ARG, "there is no process set \"%.80s\". Remedy: use mpi://WORLD or mpi://SELF", name);
}

}  // namespace

Status session_init(Info* info, Errhandler& errhandler, Session*& session) {
  if (abi::state() == abi::State::forked_child) {
    return fail(MPI_ERR_OTHER,
                "this process was made by fork after MPI was started: it cannot be a rank of its own");
  }
  if (errhandler.predefined == 0 && errhandler.kind != objects::ErrhandlerKind::user_session) {
    return fail(MPI_ERR_ERRHANDLER,
                "this error handler is not for sessions. Remedy: make one by MPI_Session_create_errhandler");
  }
  int level = 0;
  HEARTH_TRY(read_level(info, level));
  // The session is created first: from add_user() on, other threads may be in the library.
  Session* made = objects::pools.sessions.create();
  if (made == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another session");
  made->errhandler = &errhandler;
  objects::retain(errhandler);
  if (const Status status = abi::add_user(level); !status.ok()) {
    objects::free_handle(*made);
    return status;
  }
  abi::note_errhandler(errhandler);
  made->thread_level = level;
  session = made;
  return {};
}

Status session_finalize(Session*& session) {
  abi::drop_send_buffer(*session);
  objects::free_handle(*session);
  session = nullptr;
  abi::remove_user();
  return {};
}

Status session_get_info(Session& session, Info*& info_used) {
  HEARTH_TRY(info_create(info_used));
  const Level* level = std::find_if(std::begin(kLevels), std::end(kLevels), [&session](const Level& row) {
    return row.value == session.thread_level;
  });
  info_used->entries = {{kThreadLevel, level->name}, {abi::kMemoryKindsKey, abi::kMemoryKinds}};
  return {};
}

Status session_get_num_psets(Session&, Info*, int& npset_names) {
  npset_names = static_cast<int>(std::size(abi::kProcessSetNames));
  return {};
}

// pset_len is the size of pset_name; on return it is the size that the name needs, with the closing 0.
Status session_get_nth_pset(Session&, Info*, int n, int& pset_len, char* pset_name) {
  constexpr int count = std::size(abi::kProcessSetNames);
  if (n < 0 || n >= count) {
    return fail(MPI_ERR_ARG, "n is %d, but there are %d process sets, counted from 0", n, count);
  }
  if (pset_len < 0) return fail(MPI_ERR_ARG, "pset_len is %d: it must not be negative", pset_len);
  if (pset_len > 0) {
    if (pset_name == nullptr) return fail(MPI_ERR_ARG, "pset_name is a null pointer");
    const std::string shown =
        std::string(abi::kProcessSetNames[n]).substr(0, static_cast<size_t>(pset_len) - 1);
    std::memcpy(pset_name, shown.c_str(), shown.size() + 1);
  }
  pset_len = static_cast<int>(std::strlen(abi::kProcessSetNames[n])) + 1;
  return {};
}

Status session_get_pset_info(Session&, const char* pset_name, Info*& info) {
  ProcessSet set = ProcessSet::world;
  HEARTH_TRY(find_set(pset_name, set));
  HEARTH_TRY(info_create(info));
  const int size = set == ProcessSet::world ? abi::runtime().job.size : 1;
  info->entries = {{"mpi_size", std::to_string(size)}};
  return {};
}

Status group_from_session_pset(Session& session, const char* pset_name, Group*& newgroup) {
  ProcessSet set = ProcessSet::world;
  HEARTH_TRY(find_set(pset_name, set));
  objects::Peers peers = {abi::runtime().job.rank};
  if (set == ProcessSet::world) {
    peers.resize(static_cast<size_t>(abi::runtime().job.size));
    std::iota(peers.begin(), peers.end(), 0);
  }
  return abi::make_group(std::move(peers), &session, newgroup);
}

}  // namespace hearth::mpi
