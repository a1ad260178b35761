#include "check/visit.h"

#include <cstring>

#include "check/checker.h"

namespace hearth::check {

namespace {

thread_local int calls_deep = 0;

void begin(Checker& all) {
  if (all.opened) return;
  all.opened = true;
  all.report.open();
}

bool is_any_of_groups(const Arguments& call, std::initializer_list<const char*> groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const char* group) { return std::strcmp(call.group(), group) == 0; });
}

void tell_thread(Checker& all, const Arguments& call, const void* return_address) {
  const char* const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"};
  const int known[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
  const auto level = std::find(std::begin(known), std::end(known), all.level) - std::begin(known);
  const bool at_once = all.level == MPI_THREAD_SERIALIZED;
  Finding finding;
  finding.kind = shm::CheckClass::thread_level;
  finding.what = std::string(call.name()) +
                 (at_once ? " is called while another thread is in MPI"
                          : " is called by a thread that did not call MPI_Init") +
                 ", and the level of threads is " + (level < 3 ? levels[level] : "another one");
  finding.details = {"called by rank " + std::to_string(all.report.rank()) + " at " +
                     all.report.site_words(all.report.site_of(return_address))};
  finding.why =
      "Threads call MPI only as far as MPI_Init_thread has said that they may (MPI 5.0 section 11.6). "
      "Remedy: ask it for "
      "MPI_THREAD_MULTIPLE, and look at what it provides";
  finding.key = mix(hash_of("thread"), hash_of(finding.details[0]));
  all.report.add(finding);
}

// Excludes MPI_REPLACE and MPI_NO_OP: they accept any type, but are invalid in collectives.
bool is_arithmetic(MPI_Op op) {
  constexpr uintptr_t kPredefinedLast = 0x3f;
  return op != MPI_OP_NULL && reinterpret_cast<uintptr_t>(op) <= kPredefinedLast;
}

void tell_reduced_text(Checker& all, const Arguments& call, const void* return_address) {
  if (call.handle<MPI_Datatype>("datatype") != MPI_CHAR || !is_arithmetic(call.handle<MPI_Op>("op"))) return;
  Finding finding;
  finding.kind = shm::CheckClass::reduced_text;
  finding.what = std::string(call.name()) + " reduces elements of MPI_CHAR with a predefined operation";
  finding.details = {"called by rank " + std::to_string(all.report.rank()) + " at " +
                     all.report.site_words(all.report.site_of(return_address))};
  finding.why =
      "MPI_CHAR is text, on which no predefined operation is defined (MPI 5.0 section 6.9.2). This library "
      "and "
      "others take it as a small integer. Remedy: MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR or MPI_INT8_T";
  finding.key = hash_of("reduced text");
  all.report.add(finding);
}

}  // namespace

Checker& checker() {
  static Checker* const one = new Checker;
  return *one;
}

Visit::Visit(Call call, const uint64_t* words, const void* return_address)
    : call_(call, words), return_address_(return_address), nested_(calls_deep++ > 0) {
  state_ = new VisitState;
  for (int i = 0; i < call_.count(); ++i) {
    for (size_t row = 0; row < std::size(kObjects); ++row) {
      const auto* handle = call_.kind(i) == kObjects[row].inout ? call_.pointer<const uint64_t>(i) : nullptr;
      if (handle == nullptr) continue;
      // Remove it before the call: once it is freed, another thread may get the same handle.
      state_->freed[row] = *handle;
      state_->makers[row] = checker().ledger.remove(kObjects[row].kind, *handle);
    }
  }
  if (nested_) return;
  const std::lock_guard guard(checker().mutex);
  begin_call();
}

Visit::~Visit() {
  --calls_deep;
  delete state_;
}

bool Visit::strict() const {
  return checker().report.strict();
}

MPI_Status* Visit::statuses(MPI_Status* given, int count) {
  if (given == MPI_STATUSES_IGNORE) {
    own_statuses_.resize(static_cast<size_t>(std::max(count, 1)));
    given = own_statuses_.data();
  }
  return statuses_ = given;
}

int Visit::end(int code) {
  record_objects(code);
  if (nested_) return code;
  const std::lock_guard guard(checker().mutex);
  end_call(code);
  return code;
}

void Visit::begin_call() {
  Checker& all = checker();
  begin(all);
  VisitState& state = *state_;
  const Call function = call_.function();
  if (is_any_of_groups(call_, {"pt2pt", "request", "coll", "comm", "io"})) {
    const bool strange =
        all.level < MPI_THREAD_SERIALIZED && pthread_equal(pthread_self(), all.main_thread) == 0;
    if (strange || (all.level == MPI_THREAD_SERIALIZED && all.calling > 0))
      tell_thread(all, call_, return_address_);
    ++all.calling;
    state.counted = true;
  }
  if (call_.has("op") && call_.has("datatype")) tell_reduced_text(all, call_, return_address_);
  if (function == Call::finalize) {
    if (all.sessions.empty()) all.requests.tell_left();
    all.communicators.let_go();
    return;
  }
  if (function == Call::session_finalize) {
    // Remove it before the call: meanwhile, other threads' calls may use the listed sessions to find the
    // job's processes.
    if (const auto* ended = call_.pointer<const MPI_Session>("session"); ended != nullptr) {
      std::erase(all.sessions, *ended);
    }
    if (!all.world) all.communicators.let_go();
    return;
  }
  for (const char* name : {"comm", "comm_old", "local_comm", "intercomm"}) {
    if (!call_.has(name)) continue;
    // MPI_Comm_free and MPI_Comm_disconnect take a pointer to the handle.
    const bool by_pointer = call_.kind(call_.find(name)) == Kind::comm_inout;
    const auto* at = call_.pointer<const MPI_Comm>(name);
    const MPI_Comm handle = !by_pointer ? call_.handle<MPI_Comm>(name) : at != nullptr ? *at : MPI_COMM_NULL;
    state.comm = all.communicators.find(handle);
    break;
  }
  const bool on_file = is_any_of_groups(call_, {"io"});
  if (on_file && state.comm == nullptr) state.comm = all.files.find(call_);
  if (frees_comm(function) && state.comm != nullptr) all.communicators.take_out(state.comm->handle);
  if (function == Call::file_close && state.comm != nullptr) all.files.take_out(*state.comm);
  const bool message = is_message(call_);
  const Manner manner = manner_of(call_);
  const bool collective = Collectives::is_collective(call_);
  if (message || collective || manner != Manner::other || call_.has("request") ||
      is_any_of(function, {Call::mprobe, Call::improbe, Call::startall})) {
    state.site = all.report.site_of(return_address_);
  }
  if (collective && state.comm != nullptr) {
    state.collective = all.collectives.begin(call_, *state.comm, state.site);
  }

  Operation& operation = state.operation;
  operation.call = function;
  operation.site = state.site;
  operation.comm = state.comm;
  if (message) {
    // The receive of a message from MPI_Mprobe takes its communicator from the probe.
    const bool matched = is_any_of(function, {Call::mrecv, Call::imrecv});
    if (matched) {
      const auto* handle = call_.pointer<const MPI_Message>("message");
      const auto probed = handle == nullptr ? all.probed.end() : all.probed.find(*handle);
      if (probed != all.probed.end()) {
        state.comm = operation.comm = probed->second.first;
        state.posted = probed->second.second;
        all.probed.erase(probed);
      }
    }
    if (state.comm == nullptr) return;
    read_message(call_, all.types, operation);
    if (manner == Manner::persistent) {
      state.pending = std::make_shared<Pending>();
      state.pending->persistent = true;
      state.pending->operation = operation;
      return;
    }
    all.requests.look_at(operation);
    if (manner == Manner::nonblocking) state.pending = all.requests.make(operation);
    if (operation.send.present) {
      state.sent = all.messages.send(state.comm, operation.send.peer, operation.send.tag, operation.send.type,
                                     operation.send.count, function, state.site);
    }
    if (operation.receive.present && !matched) {
      state.posting = true;
      state.posted = all.messages.post(state.comm, operation.receive.peer, operation.receive.tag,
                                       operation.receive.type, operation.receive.count, function, state.site);
    }
    return;
  }
  if (on_file) {
    Files::read_access(call_, all.types, operation);
    all.requests.look_at(operation);
    if (Files::ends_split(call_) && state.comm != nullptr) all.requests.end_split(*state.comm);
    if (Files::begins_split(call_) && state.comm != nullptr) {
      state.pending = all.requests.make(operation);
      return;
    }
  }
  if (collective && state.comm != nullptr && manner != Manner::other) {
    read_collective(call_, all.types, operation);
    if (manner != Manner::persistent) all.requests.look_at(operation);
  }
  if (call_.find(Kind::request_out) >= 0) {
    state.pending = all.requests.make(operation);
    state.pending->persistent = manner == Manner::persistent;
    return;
  }
  if (is_any_of(function, {Call::mprobe, Call::improbe}) && state.comm != nullptr) {
    // A matched probe takes its position among the posted receives now.
    state.posting = true;
    state.posted = all.messages.post(state.comm, call_.number("source"), call_.number("tag"), nullptr, 0,
                                     function, state.site);
    return;
  }
  begin_requests();
}

void Visit::begin_requests() {
  Checker& all = checker();
  VisitState& state = *state_;
  const Call function = call_.function();
  const auto* one = call_.has("request") ? call_.pointer<const MPI_Request>("request") : nullptr;
  const auto* several =
      call_.find(Kind::requests_inout) >= 0 ? call_.pointer<const MPI_Request>("array_of_requests") : nullptr;
  const int number =
      several == nullptr ? 0 : static_cast<int>(call_.number(call_.has("incount") ? "incount" : "count"));
  if (call_.find(Kind::request_inout) >= 0 && one != nullptr) state.requests.push_back(*one);
  if (several != nullptr && number > 0) state.requests.assign(several, several + number);
  if (function == Call::request_free && one != nullptr) all.requests.free(*one, one, state.site);
  if (is_any_of(function, {Call::start, Call::startall})) {
    for (const MPI_Request request : state.requests) all.requests.start(request);
  }
}

}  // namespace hearth::check
