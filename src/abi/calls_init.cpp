// MPI 5.0 chapter 11: initialization, finalization, thread levels; and memory from MPI (section 9.2).
#include <algorithm>
#include <cstdio>

#include "abi/entry.h"
#include "abi/runtime.h"
#include "base/atomic.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/info.h"

namespace hearth::mpi {
namespace {

Status start(int& level) {
  if (abi::state() == abi::State::forked_child) {
    return fail(MPI_ERR_OTHER,
                "this process was made by fork after MPI_Init: it cannot be a rank of its own");
  }
  switch (abi::world_state) {
    case abi::State::outside:
      return abi::start_world(level);
    case abi::State::active:
    case abi::State::watched:
      return fail(MPI_ERR_OTHER, "MPI is initialized already. Remedy: ask MPI_Initialized first");
    default:
      return fail(MPI_ERR_OTHER,
                  "MPI has been finalized: MPI_Init can be called only once in a process. Remedy: use "
                  "MPI_Session_init");
  }
}

}  // namespace

Status init(int*, char***) {
  int level = MPI_THREAD_SINGLE;
  return start(level);
}

Status init_thread(int*, char***, int required, int* provided) {
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  if (std::find(std::begin(levels), std::end(levels), required) == std::end(levels)) {
    return fail(MPI_ERR_ARG,
                "required=%d is not a thread level. Remedy: use one of MPI_THREAD_SINGLE, _FUNNELED, "
                "_SERIALIZED, _MULTIPLE",
                required);
  }
  HEARTH_TRY(start(required));  // replaces it by the provided level
  if (provided != nullptr) *provided = required;
  return {};
}

Status finalize() {
  if (abi::world_state != abi::State::active) {
    return fail(MPI_ERR_OTHER,
                "there was no MPI_Init, or MPI_Finalize was called before. Likely cause: sessions are "
                "ended by MPI_Session_finalize");
  }
  return abi::end_world();
}

Status initialized(int& flag) {
  flag = atomic::load_relaxed(abi::world_state) != abi::State::outside;
  return {};
}

Status finalized(int& flag) {
  flag = atomic::load_relaxed(abi::world_state) == abi::State::finalized;
  return {};
}

Status query_thread(int& provided) {
  provided = abi::runtime().thread_level;
  return {};
}

Status is_thread_main(int& flag) {
  flag = pthread_equal(pthread_self(), abi::runtime().main_thread) != 0;
  return {};
}

Status abort(objects::Comm& comm, int errorcode) {
  char text[160];
  std::snprintf(text, sizeof text, "MPI_Abort(comm=%s, errorcode=%d)",
                comm.name.empty() ? "(unnamed)" : comm.name.c_str(), errorcode);
  abi::end_job(errorcode, text);
}

Status alloc_mem(MPI_Aint size, objects::Info* info, void* baseptr) {
  return abi::runtime().memory.allocate(static_cast<size_t>(size), info, *static_cast<void**>(baseptr));
}

Status free_mem(void* base) {
  return abi::runtime().memory.free(base);
}

}  // namespace hearth::mpi
