// The second half of a call: created, freed, matched and completed objects, and the end of the use of MPI.
#include <cstring>

#include "base/atomic.h"
#include "check/checker.h"
#include "check/visit.h"

namespace hearth::check {
namespace {

// Types that the program need not free, or must not free.
bool gives_lasting(Call call) {
  return is_any_of(call,
                   {Call::type_create_f90_complex, Call::type_create_f90_integer, Call::type_create_f90_real,
                    Call::type_get_value_index, Call::type_match_size, Call::comm_get_parent});
}

std::string many(uint64_t number, const char* what) {
  return number == 1 ? std::string("a ") + what : std::to_string(number) + " " + what + "s";
}

void tell_left_objects(Checker& all, bool any_time) {
  for (const Ledger::Left& left : all.ledger.left(any_time)) {
    const uint32_t site = all.report.site_of(left.made_by.return_address);
    Finding finding;
    finding.kind = shm::CheckClass::leak;
    finding.what = many(left.number, name_of(left.kind)) + (left.number == 1 ? " was" : " were") + " never " +
                   (left.kind == ObjectKind::file ? "closed" : "freed");
    finding.details = {std::string("made by ") +
                       abi::call_table[static_cast<size_t>(left.made_by.call)].name + " at " +
                       all.report.site_words(site)};
    finding.why =
        left.kind == ObjectKind::message
            ? "What MPI_Mprobe has matched has to be received (MPI 5.0 section 3.8.2). Remedy: MPI_Mrecv"
        : left.kind == ObjectKind::file
            ? "An open file keeps a descriptor and a communicator, and a file with MPI_MODE_DELETE_ON_CLOSE "
              "stays (MPI 5.0 section 14.2.2). Remedy: MPI_File_close on all its processes, before "
              "MPI_Finalize"
            : "Objects that the program makes stay until it frees them (MPI 5.0 section 11.2.2): in a loop "
              "that is "
              "memory, and communicators are limited. Remedy: the call that frees it, before MPI_Finalize";
    finding.key = mix(hash_of("object"), hash_of(finding.details[0]));
    all.report.add(finding, true);
  }
}

// Reports leaks after MPI_Finalize. A process that uses only sessions may open another one at any time, so
// its leaks are reported when it ends.
void end_of_use(Checker& all) {
  if (all.ended || all.world || !all.sessions.empty()) return;
  all.ended = true;
  tell_left_objects(all, false);
  if (all.report.has_board()) atomic::store_release(all.report.own().finalized, 1u);
}

// Info objects and error handlers may be freed after MPI_Finalize.
[[gnu::destructor]] void at_exit() {
  Checker& all = checker();
  if (!all.used || all.world || !all.sessions.empty()) return;
  if (!all.ended) all.requests.tell_left();
  end_of_use(all);
  tell_left_objects(all, true);
}

}  // namespace

// Needs no check lock, because the ledger has its own: nested calls from callbacks come here too.
void Visit::record_objects(int code) {
  Checker& all = checker();
  for (size_t row = 0; row < std::size(kObjects); ++row) {
    if (state_->freed[row] == 0) continue;
    const auto place = call_.find(kObjects[row].inout);
    const bool still_there =
        code != MPI_SUCCESS && *call_.pointer<const uint64_t>(place) == state_->freed[row];
    if (still_there && state_->makers[row])
      all.ledger.add(kObjects[row].kind, state_->freed[row], *state_->makers[row]);
  }
  if (code != MPI_SUCCESS) return;
  for (int i = 0; i < call_.count(); ++i) {
    for (const ObjectRow& row : kObjects) {
      const auto* handle = call_.kind(i) == row.out ? call_.pointer<const uint64_t>(i) : nullptr;
      // An unsuccessful probe returns no message.
      const bool given =
          handle != nullptr && (call_.function() != Call::improbe || *call_.pointer<int>("flag") != 0);
      if (given)
        all.ledger.add(row.kind, *handle, {call_.call(), return_address_}, gives_lasting(call_.function()));
    }
  }
  if (call_.function() == Call::type_get_contents) {
    const auto* types = call_.pointer<const uint64_t>("array_of_datatypes");
    MPI_Count sizes[4] = {};
    int combiner = 0;
    PMPI_Type_get_envelope_c(call_.handle<MPI_Datatype>("datatype"), &sizes[0], &sizes[1], &sizes[2],
                             &sizes[3], &combiner);
    for (MPI_Count i = 0; types != nullptr && i < sizes[3]; ++i) {
      MPI_Count unused[4];
      PMPI_Type_get_envelope_c(reinterpret_cast<MPI_Datatype>(static_cast<uintptr_t>(types[i])), &unused[0],
                               &unused[1], &unused[2], &unused[3], &combiner);
      const bool lasting = combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
                           combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_VALUE_INDEX;
      all.ledger.add(ObjectKind::type, types[i], {call_.call(), return_address_}, lasting);
    }
  }
}

void Visit::end_call(int code) {
  Checker& all = checker();
  VisitState& state = *state_;
  if (state.counted) --all.calling;
  if (code != MPI_SUCCESS) {
    all.messages.end_send(state.sent, true);
    if (state.posting) {
      all.messages.end_post(*state.comm);
      all.messages.give_up(*state.comm, state.posted);
    }
    if (frees_comm(call_.function())) all.communicators.put_back(state.comm);
    if (call_.function() == Call::file_close && *call_.pointer<const MPI_File>("fh") != MPI_FILE_NULL)
      all.files.put_back(state.comm);
    if (std::strcmp(call_.group(), "io") == 0)
      all.files.tell_refused(call_, code, all.report.site_of(return_address_));
    end_requests(code);
    return;
  }
  all.messages.end_send(state.sent, false);
  if (state.posting) all.messages.end_post(*state.comm);
  if (state.posted != nullptr) end_receive();
  if (state.pending != nullptr && Files::begins_split(call_)) {
    all.requests.begin_split(*state.comm, state.pending);
  } else if (state.pending != nullptr) {
    const auto* request = call_.pointer<const MPI_Request>(call_.find(Kind::request_out));
    all.requests.add(*request, request, state.pending);
  }
  end_requests(code);
  end_objects();
}

// Handles a posted receive, or a probe that matched a message.
void Visit::end_receive() {
  Checker& all = checker();
  VisitState& state = *state_;
  const Call function = call_.function();
  const Operation& operation = state.operation;
  if (is_any_of(function, {Call::mrecv, Call::imrecv})) {
    all.messages.receive_matched(*state.comm, state.posted, operation.receive.type, operation.receive.count,
                                 function, state.site);
    return;
  }
  if (state.pending != nullptr) {
    state.pending->posted = state.posted;
    return;
  }
  const auto* given = call_.pointer<const MPI_Status>("status");
  const MPI_Status& status = given != nullptr ? *given : own_status_[0];
  const bool nothing = function == Call::improbe && *call_.pointer<const int>("flag") == 0;
  if (nothing || status.MPI_SOURCE == MPI_PROC_NULL) {
    all.messages.drop(*state.comm, state.posted);
    return;
  }
  all.messages.match(*state.comm, state.posted, status.MPI_SOURCE, status.MPI_TAG);
  if (is_any_of(function, {Call::mprobe, Call::improbe})) {
    all.probed[*call_.pointer<const MPI_Message>("message")] = {state.comm, state.posted};
  }
}

// Determines the requests that the call completed.
void Visit::end_requests(int code) {
  VisitState& state = *state_;
  if (state.requests.empty()) return;
  Checker& all = checker();
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  const bool in_statuses = error_class == MPI_ERR_IN_STATUS;
  const auto flag = [&] { return *call_.pointer<const int>("flag") != 0; };
  const auto done = [&](int at, const MPI_Status& status) {
    const auto place = static_cast<size_t>(at);
    if (at < 0 || place >= state.requests.size()) return;
    const char* const name = call_.has("request") ? "request" : "array_of_requests";
    all.requests.complete(state.requests[place], call_.pointer<const MPI_Request>(name) + at, status);
  };
  const auto* given = call_.has("status") ? call_.pointer<const MPI_Status>("status") : nullptr;
  const MPI_Status& one = given != nullptr ? *given : own_status_[0];
  const auto number = static_cast<int>(state.requests.size());
  switch (call_.function()) {
    case Call::wait:
      done(0, one);
      break;
    case Call::test:
      if (code != MPI_SUCCESS || flag()) done(0, one);
      break;
    case Call::waitany:
    case Call::testany:
      if (code == MPI_SUCCESS && (call_.function() == Call::waitany || flag())) {
        done(*call_.pointer<const int>("indx"), one);
      }
      break;
    case Call::waitall:
    case Call::testall:
      if (code != MPI_SUCCESS && !in_statuses) break;
      if (call_.function() == Call::testall && code == MPI_SUCCESS && !flag()) break;
      for (int i = 0; i < number; ++i) {
        if (!in_statuses || statuses_[i].MPI_ERROR != MPI_ERR_PENDING) done(i, statuses_[i]);
      }
      break;
    case Call::waitsome:
    case Call::testsome: {
      if (code != MPI_SUCCESS && !in_statuses) break;
      const int found = *call_.pointer<const int>("outcount");
      for (int i = 0; i < found; ++i) done(call_.pointer<const int>("array_of_indices")[i], statuses_[i]);
      break;
    }
    default:
      break;
  }
}

// Handles initialisation, finalisation and communicators.
void Visit::end_objects() {
  Checker& all = checker();
  VisitState& state = *state_;
  switch (call_.function()) {
    case Call::init:
    case Call::init_thread:
      all.used = all.world = true;
      all.communicators.add_world();
      note_threads();
      break;
    case Call::session_init:
      all.used = true;
      all.sessions.push_back(*call_.pointer<const MPI_Session>("session"));
      all.communicators.add_session(all.sessions.back());
      note_threads();
      break;
    case Call::finalize:
      all.world = false;
      all.communicators.forget_world();
      end_of_use(all);
      break;
    case Call::session_finalize:
      if (!all.world && !all.sessions.empty()) all.communicators.add_session(all.sessions.back());
      break;
    case Call::comm_free:
    case Call::comm_disconnect:
      if (state.comm != nullptr) all.communicators.note_freed(*state.comm);
      break;
    case Call::file_open:
      all.files.add(call_, state.comm, state.collective);
      break;
    case Call::file_close:
      if (state.comm != nullptr) all.communicators.note_freed(*state.comm);
      break;
    case Call::comm_set_name:
      all.communicators.rename(call_.handle<MPI_Comm>("comm"));
      break;
    default: {
      const int made = call_.find(Kind::comm_out);
      if (made < 0 || call_.function() == Call::comm_get_parent) break;
      const MPI_Comm handle = *call_.pointer<const MPI_Comm>(made);
      // Both sides of an intercommunicator must derive the same id, and they have no common parent.
      const bool has_parent = state.collective != 0 && call_.function() != Call::intercomm_create;
      if (handle == MPI_COMM_NULL) break;
      all.communicators.add(handle, call_, has_parent ? state.comm : nullptr, state.collective);
      break;
    }
  }
}

// A session may be used by as many threads as its info states, without a limit by default.
void Visit::note_threads() {
  Checker& all = checker();
  all.level = MPI_THREAD_MULTIPLE;
  if (all.world && all.sessions.empty()) PMPI_Query_thread(&all.level);
  all.main_thread = pthread_self();
  if (all.level == MPI_THREAD_MULTIPLE) all.communicators.expect_threads();
}

}  // namespace hearth::check
