// A job for tests of the entry points: MPI_COMM_WORLD with three ranks and MPI_COMM_SELF, without an engine.
// This is enough for entry points that reject their arguments.
#pragma once

#include "abi/handle.h"
#include "abi/state.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::abi {

class FakeJob {
 public:
  static constexpr int kSize = 3;
  static constexpr int kRank = 1;

  FakeJob() {
    world_ = make({0, 1, 2});
    self_ = make({kRank});
    set_predefined_comms(*world_, *self_);
    enter_state(State::active);
  }
  ~FakeJob() {
    enter_state(State::outside);
    objects::pools.predefined[world_->predefined] = nullptr;
    objects::pools.predefined[self_->predefined] = nullptr;
    for (objects::Comm* comm : {world_, self_}) {
      objects::pools.groups.destroy(comm->group);
      objects::pools.comms.destroy(comm);
    }
  }
  FakeJob(const FakeJob&) = delete;
  FakeJob& operator=(const FakeJob&) = delete;

  /// Sets MPI_ERRORS_RETURN on both communicators.
  void return_errors() { world_->errhandler = self_->errhandler = &predefined_errhandler(MPI_ERRORS_RETURN); }
  objects::Comm& world() { return *world_; }
  objects::Comm& self() { return *self_; }

 private:
  static objects::Comm* make(std::vector<objects::PeerIndex> peers) {
    objects::Comm* comm = objects::pools.comms.create();
    comm->group = objects::pools.groups.create();
    comm->group->peers = std::move(peers);
    comm->group->index(kRank);
    comm->rank = comm->group->rank;
    comm->size = comm->peer_count = comm->group->size();
    comm->peers = comm->group->peers.data();
    comm->errhandler = &predefined_errhandler(MPI_ERRORS_ARE_FATAL);
    return comm;
  }

  objects::Comm* world_;
  objects::Comm* self_;
};

/// The text of an error code.
inline std::string words_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

/// The class of an error code.
inline int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

}  // namespace hearth::abi
