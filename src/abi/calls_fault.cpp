// Calls for surviving process failures, beyond MPI 5.0: ULFM's MPIX_Comm_*. docs/guide/failures.md describes
// their use and their guarantees.
#include <algorithm>
#include <memory>
#include <new>

#include "abi/comm_making.h"
#include "abi/handle.h"
#include "abi/requests.h"
#include "abi/runtime.h"
#include "coll/agreement.h"
#include "hearth_calls.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::mpi {
namespace {

using coll::Agreement;
using objects::Comm;
using objects::Group;
using objects::PeerIndex;
using objects::Peers;

/// Records that the application handles deaths; otherwise the launcher ends the job after one.
void go_on() {
  p2p::Engine& engine = p2p::engine();
  if (engine.failures().deaths() != 0) engine.failures().registry()->go_on();
}

/// The members that are known to be dead, in the order of their deaths.
Peers failed_members(const Comm& comm) {
  p2p::Engine& engine = p2p::engine();
  static_cast<void>(engine.failure_handler().poll());
  Peers failed;
  for (const Group* group : {comm.group, comm.remote_group}) {
    if (group == nullptr) continue;
    std::copy_if(group->peers.begin(), group->peers.end(), std::back_inserter(failed),
                 [&engine](PeerIndex process) { return engine.failures().is_dead(process); });
  }
  std::sort(failed.begin(), failed.end(), [&engine](PeerIndex one, PeerIndex other) {
    return engine.failures().registry()->death_of(one) < engine.failures().registry()->death_of(other);
  });
  return failed;
}

Peers acknowledged_members(const Comm& comm) {
  Peers failed = failed_members(comm);
  std::erase_if(failed, [&comm](PeerIndex process) {
    return p2p::engine().failures().registry()->death_of(process) > comm.deaths_acknowledged;
  });
  return failed;
}

void acknowledge_all(Comm& comm) {
  static_cast<void>(p2p::engine().failure_handler().poll());
  p2p::engine().failure_handler().acknowledge(comm, p2p::engine().failures().deaths());
  go_on();
}

/// MPIX_ERR_PROC_FAILED on all members if one of them had not acknowledged a death.
Status status_of(const Agreement& agreement) {
  const Peers& unexpected = agreement.outcome().unexpected;
  if (unexpected.empty()) return {};
  if (p2p::engine().failures().is_dead(unexpected[0]))
    return p2p::engine().failures().death_of(unexpected[0], MPIX_ERR_PROC_FAILED);
  return fail(MPIX_ERR_PROC_FAILED, "rank %d of MPI_COMM_WORLD has died, as other ranks have found out",
              unexpected[0]);
}

Peers living(const Agreement& agreement, const Group& group) {
  Peers peers = group.peers;
  std::erase_if(peers, [&agreement](PeerIndex process) { return agreement.is_lost(process); });
  return peers;
}

/// No communicator if one of two groups has no survivor.
Status make_shrunk(Comm& comm, const Agreement& agreement, Comm*& newcomm) {
  static_cast<void>(p2p::engine().failure_handler().poll());
  go_on();
  abi::OwnedAllocation owned(agreement.outcome().allocation);
  Peers peers = living(agreement, *comm.group);
  if (!comm.is_inter()) return abi::make_intracomm(comm, std::move(owned), std::move(peers), newcomm);
  Peers others = living(agreement, *comm.remote_group);
  if (others.empty()) return {};
  Group* local = nullptr;
  Group* remote = nullptr;
  HEARTH_TRY(abi::make_group(std::move(peers), comm.group->session, local));
  const Status status = abi::make_group(std::move(others), comm.group->session, remote);
  if (!status.ok()) {
    objects::release(*local);
    return status;
  }
  return abi::make_intercomm(*comm.errhandler, owned.take().context, local, remote, newcomm);
}

/// An agreement that completes a request. Lives as long as the request.
class PendingAgreement : public Agreement {
 public:
  using Agreement::Agreement;
  virtual ~PendingAgreement() = default;

  bool advance() final {
    if (!Agreement::advance()) return false;
    p2p::engine().requests().complete(*request, conclude());
    return true;
  }
  p2p::Request* request = nullptr;

 private:
  virtual Status conclude() = 0;
};

class PendingAgree final : public PendingAgreement {
 public:
  PendingAgree(Comm& comm, int* flag)
      : PendingAgreement(comm, static_cast<uint32_t>(*flag), false, abi::is_first_group(comm)), flag_(flag) {}

 private:
  Status conclude() override {
    static_cast<void>(p2p::engine().failure_handler().poll());
    *flag_ = static_cast<int>(outcome().flags);
    go_on();
    return status_of(*this);
  }
  int* flag_;
};

class PendingShrink final : public PendingAgreement {
 public:
  PendingShrink(Comm& comm, MPI_Comm* newcomm)
      : PendingAgreement(comm, ~0u, true, abi::is_first_group(comm)), comm_(comm), newcomm_(newcomm) {}

 private:
  Status conclude() override {
    Comm* made = nullptr;
    const Status status = make_shrunk(comm_, *this, made);
    *newcomm_ = abi::to_handle(made);
    return status;
  }
  Comm& comm_;
  MPI_Comm* newcomm_;
};

PendingAgreement& agreement_of(const p2p::Request& request) {
  return *static_cast<PendingAgreement*>(request.state);
}

const p2p::RequestHooks pending_hooks = {
    .cancel =
        [](p2p::Request&) {
          return fail(MPI_ERR_REQUEST,
                      "an agreement cannot be cancelled. Remedy: complete it with MPI_Wait or MPI_Test");
        },
    .release =
        [](p2p::Request& request) {
          delete &agreement_of(request);
          return Status();
        },
    .describe = [](const p2p::Request& request,
                   p2p::WaitDiagnostics& note) { agreement_of(request).describe(note); },
};

Status launch(Comm& comm, std::unique_ptr<PendingAgreement> agreement, p2p::Request*& request) {
  p2p::Engine& engine = p2p::engine();
  request = engine.requests().create(p2p::RequestKind::collective);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->hooks = &pending_hooks;
  request->comm = &comm;
  objects::retain(comm);
  request->key = {comm.context + kCollectiveContext, MPI_ANY_SOURCE, MPI_ANY_TAG};
  agreement->request = request;
  PendingAgreement* started = agreement.release();
  request->state = started;
  if (!started->advance()) engine.requests().poll(*started);
  return {};
}

}  // namespace

Status comm_revoke(Comm& comm) {
  go_on();
  p2p::engine().failure_handler().revoke(comm);
  return {};
}

Status comm_is_revoked(Comm& comm, int& flag) {
  static_cast<void>(p2p::engine().progress());
  flag = comm.failure == MPIX_ERR_REVOKED;
  return {};
}

Status comm_get_failed(Comm& comm, Group*& failedgrp) {
  return abi::make_group(failed_members(comm), comm.group->session, failedgrp);
}

Status comm_ack_failed(Comm& comm, int num_to_ack, int& num_acked) {
  if (num_to_ack < 0) return fail(MPI_ERR_ARG, "num_to_ack=%d: it must be 0 or more", num_to_ack);
  const Peers failed = failed_members(comm);
  if (num_to_ack > 0 && !failed.empty()) {
    const size_t last = std::min(static_cast<size_t>(num_to_ack), failed.size()) - 1;
    p2p::engine().failure_handler().acknowledge(comm,
                                                p2p::engine().failures().registry()->death_of(failed[last]));
    go_on();
  }
  num_acked = static_cast<int>(acknowledged_members(comm).size());
  return {};
}

Status comm_failure_ack(Comm& comm) {
  acknowledge_all(comm);
  return {};
}

Status comm_failure_get_acked(Comm& comm, Group*& failedgrp) {
  return abi::make_group(acknowledged_members(comm), comm.group->session, failedgrp);
}

Status comm_agree(Comm& comm, int& flag) {
  coll::BlockingAgreement agreement(comm, static_cast<uint32_t>(flag), false, abi::is_first_group(comm));
  agreement.run();
  static_cast<void>(p2p::engine().failure_handler().poll());
  go_on();
  flag = static_cast<int>(agreement.outcome().flags);
  return status_of(agreement);
}

Status comm_iagree(Comm& comm, int* flag, p2p::Request*& request) {
  if (flag == nullptr) return fail(MPI_ERR_ARG, "flag is a null pointer");
  return launch(comm, std::make_unique<PendingAgree>(comm, flag), request);
}

Status comm_shrink(Comm& comm, Comm*& newcomm) {
  coll::BlockingAgreement agreement(comm, ~0u, true, abi::is_first_group(comm));
  agreement.run();
  return make_shrunk(comm, agreement, newcomm);
}

Status comm_ishrink(Comm& comm, MPI_Comm* newcomm, p2p::Request*& request) {
  if (newcomm == nullptr) return fail(MPI_ERR_ARG, "newcomm is a null pointer");
  return launch(comm, std::make_unique<PendingShrink>(comm, newcomm), request);
}

}  // namespace hearth::mpi
