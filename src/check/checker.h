// State of libhearth_check.so, and of one call between its two halves. Included only by the sources of Visit.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "check/collectives.h"
#include "check/files.h"
#include "check/ledger.h"
#include "check/messages.h"
#include "check/operation.h"
#include "check/report.h"
#include "check/requests.h"

namespace hearth::check {

using abi::Kind;

// Everything that outlives a call. Lives until the process ends, because leaks are reported then.
struct Checker {
  std::mutex mutex;
  Report report;
  Ledger ledger;
  Types types{ledger};
  Communicators communicators{report};
  Messages messages{report};
  Requests requests{report, messages};
  Collectives collectives{report, communicators, types};
  Files files{report, communicators};
  std::unordered_map<MPI_Message, std::pair<CommPointer, PostedPointer>> probed;
  bool opened = false;
  bool used = false;   // MPI has been initialised at least once
  bool world = false;  // MPI_Init was called, MPI_Finalize was not
  std::vector<MPI_Session> sessions;
  int level = MPI_THREAD_MULTIPLE;  // thread level that MPI_Init provided
  pthread_t main_thread = {};
  int calling = 0;  // threads in calls that transfer data
  bool ended = false;
};

Checker& checker();

// Objects by the kinds of parameters that create and release them.
struct ObjectRow {
  ObjectKind kind;
  Kind out;
  Kind inout;
};
constexpr ObjectRow kObjects[] = {
    {ObjectKind::comm, Kind::comm_out, Kind::comm_inout},
    {ObjectKind::group, Kind::group_out, Kind::group_inout},
    {ObjectKind::type, Kind::type_out, Kind::type_inout},
    {ObjectKind::op, Kind::op_out, Kind::op_inout},
    {ObjectKind::info, Kind::info_out, Kind::info_inout},
    {ObjectKind::errhandler, Kind::errhandler_out, Kind::errhandler_inout},
    {ObjectKind::session, Kind::session_out, Kind::session_inout},
    {ObjectKind::message, Kind::message_out, Kind::message_inout},
    {ObjectKind::file, Kind::file_out, Kind::file_inout},
};

inline bool is_any_of(Call call, std::initializer_list<Call> calls) {
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

inline bool frees_comm(Call call) {
  return call == Call::comm_free || call == Call::comm_disconnect;
}

// What the first half of a call stores for the second.
struct VisitState {
  uint32_t site = 0;
  CommPointer comm;
  Operation operation;
  PendingPointer pending;
  Sent sent;
  PostedPointer posted;
  bool posting = false;
  bool counted = false;  // counted in Checker::calling
  uint64_t collective = 0;
  std::vector<MPI_Request> requests;
  // Handles that the call releases, by row of kObjects.
  uint64_t freed[std::size(kObjects)] = {};
  std::optional<MadeBy> makers[std::size(kObjects)];
};

}  // namespace hearth::check
