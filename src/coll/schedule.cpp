#include "coll/schedule.h"

#include <new>
#include <string>

#include "base/check.h"
#include "base/immortal.h"
#include "coll/coll.h"
#include "coll/collective_region.h"
#include "datatype/lifetime.h"
#include "datatype/reduce.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::coll {
namespace {

using objects::PeerIndex;

// Tags of collectives are below all user tags, because MPI_Comm_create_group sends in the same context with
// its caller's tag. Tags of persistent operations stay in use, so they have a range of their own below. A tag
// is reused after kTags (kPersistentTags) collectives of the communicator.
constexpr int kFirstTag = -1000;
constexpr uint32_t kTags = 1u << 30;
constexpr int kFirstPersistentTag = kFirstTag - static_cast<int>(kTags);
constexpr uint32_t kPersistentTags = (1u << 30) - 1000;
static_assert(kFirstTag < MPI_ANY_TAG);

int take_tag(Comm& comm, bool persistent) {
  if (persistent) {
    return kFirstPersistentTag - static_cast<int>(comm.persistent_collectives++ % kPersistentTags);
  }
  return kFirstTag - static_cast<int>(comm.collectives++ % kTags);
}

// Free list of schedules, which keep the capacity of their vectors.
constexpr size_t kSpareMax = 64;
using Spare = std::vector<Schedule*>;
constinit Immortal<Spare> spare;

}  // namespace

Type& byte_type() {
  return static_cast<Type&>(*objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_BYTE)]);
}

void Schedule::set_up(Comm& comm, int tag) {
  peers_ = own_peers_ = comm.group->peers.data();
  if (comm.is_inter()) {
    other_peers_ = comm.peers;
    other_size_ = comm.peer_count;
  } else {
    machines_ = comm.group->machines.get();
  }
  rank_ = comm.rank;
  size_ = comm.size;
  context_ = comm.context + kCollectiveContext;
  tag_ = tag;
}

Schedule::Schedule(Comm& comm) : comm_(&comm) {
  set_up(comm, take_tag(comm, false));
  region_ = CollectiveRegion::of(comm);
  if (machines_ != nullptr) machine_region_ = CollectiveRegion::on_machine(comm);
}

Schedule::Schedule(const objects::Group& group, const Comm& comm, int tag)
    : peers_(group.peers.data()),
      own_peers_(peers_),
      rank_(group.rank),
      size_(group.size()),
      context_(comm.context + kCollectiveContext),
      tag_(tag),
      among_some_(true) {
  HEARTH_DCHECK(tag >= 0);
}

Schedule::~Schedule() {
  // If adding steps failed, messages to or from the stack may still be in flight.
  if (messages_.under_way > 0) wait_for_messages(0);
}

// Adding steps.

void Schedule::hold(Type& type) {
  if (!stored_.types.empty() && stored_.types.back() == &type) return;
  datatype::retain(type);
  stored_.types.push_back(&type);
}

void Schedule::keep(const Step& step) {
  if (step.from_type != nullptr) hold(*step.from_type);
  if (step.to_type != nullptr) hold(*step.to_type);
  if (step.op != nullptr && stored_.op == nullptr) {
    objects::retain(*step.op);
    stored_.op = step.op;
  }
  stored_.steps.push_back(step);
}

void Schedule::put_send(const void* buffer, Count count, Type& type, int to) {
  if (!keeps_steps_) return start_send(buffer, count, type, peers_[to]);
  keep({.kind = Step::Kind::send,
        .peer = peers_[to],
        .from = buffer,
        .from_count = count,
        .from_type = &type});
}

void Schedule::put_receive(void* buffer, Count count, Type& type, int from) {
  if (keeps_steps_) {
    return keep({.kind = Step::Kind::receive,
                 .peer = peers_[from],
                 .to = buffer,
                 .to_count = count,
                 .to_type = &type});
  }
  if (has_waiting_ || messages_.under_way > 0) {
    post_waiting_receive();
    return start_receive(buffer, count, type, peers_[from]);
  }
  has_waiting_ = true;
  waiting_ = {buffer, count, &type, peers_[from]};
}

void Schedule::copy(const void* from, Count from_count, Type& from_type, void* to, Count to_count,
                    Type& to_type) {
  const Step step = {.kind = Step::Kind::copy,
                     .from = from,
                     .from_count = from_count,
                     .from_type = &from_type,
                     .to = to,
                     .to_count = to_count,
                     .to_type = &to_type};
  keeps_steps_ ? keep(step) : carry_out(step);
}

void Schedule::reduce(Op& op, Type& type, const void* in, void* inout, Count count) {
  const Step step = {.kind = Step::Kind::reduce,
                     .from = in,
                     .from_count = count,
                     .from_type = &type,
                     .to = inout,
                     .op = &op};
  keeps_steps_ ? keep(step) : carry_out(step);
}

void Schedule::next_round() {
  if (keeps_steps_) {
    stored_.steps.push_back({.kind = Step::Kind::next_round});
  } else if (messages_.under_way > 0) {
    wait_for_messages(0);
  } else if (has_waiting_ && among_some_) {
    post_waiting_receive_now();
    wait_for_messages(0);
  } else if (has_waiting_) {
    has_waiting_ = false;
    if (has_failed()) return;
    note(p2p::engine().receive(waiting_.buffer, waiting_.count, *waiting_.type, waiting_.from, tag_,
                               context_));
  }
}

void Schedule::add_shared(SharedCollective& shared, Type* one, Type* other, Op* op) {
  if (!persistent_) shared.begin();
  if (keeps_steps_) {
    next_round();
    return keep(
        {.kind = Step::Kind::shared, .from_type = one, .to_type = other, .op = op, .shared = &shared});
  }
  next_round();
  shared.run(context_, root_);
  note(shared.outcome);
}

Status Schedule::scratch(const Type& type, Count count, std::byte*& elements) {
  const datatype::Span span = datatype::span_of(type, count);
  HEARTH_TRY(scratch(span.bytes, elements));
  elements -= span.lowest;
  return {};
}

// Executing steps. An error does not stop the operation, because other ranks depend on this one's messages. A
// process failure does: the other ranks detect it themselves, and this rank must not send invalid data.

bool Schedule::has_failed() const {
  const int error_class = messages_.first_error.error_class();
  return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED;
}

void Schedule::note_failure() {
  static_cast<void>(p2p::engine().failure_handler().poll());
  if (comm_ != nullptr) {
    note(failure_of(*comm_));
  } else if (p2p::engine().failures().deaths() != 0) {
    note(p2p::engine().failures().death_among(members()));
  }
}

void Schedule::carry_out(const Step& step) {
  switch (step.kind) {
    case Step::Kind::send:
      return start_send(step.from, step.from_count, *step.from_type, step.peer);
    case Step::Kind::receive:
      return start_receive(step.to, step.to_count, *step.to_type, step.peer);
    case Step::Kind::copy:
      post_waiting_receive();
      return note(
          datatype::copy(step.from, step.from_count, *step.from_type, step.to, step.to_count, *step.to_type));
    case Step::Kind::reduce:
      post_waiting_receive();
      return note(datatype::reduce(*step.op, *step.from_type, step.from, step.to, step.from_count));
    case Step::Kind::next_round:
    case Step::Kind::shared:
      break;
  }
}

void Schedule::start_send(const void* buffer, Count count, Type& type, PeerIndex to) {
  if (!keeps_steps_) wait_for_messages(messages_max_ - 1);
  if (__builtin_expect(!messages_.first_error.ok(), 0) && has_failed()) return;
  p2p::Request* request = nullptr;
  const Status status = p2p::engine().isend(buffer, count, type, to, tag_, context_, request);
  if (!status.ok()) return note_not_started(status);
  if (request == p2p::engine().requests().completed_send())
    return;  // complete, so a deferred receive stays deferred
  p2p::engine().requests().entrust(request, messages_);
  post_waiting_receive();
}

void Schedule::start_receive(void* buffer, Count count, Type& type, PeerIndex from) {
  if (!keeps_steps_) wait_for_messages(messages_max_ - 1);
  if (__builtin_expect(!messages_.first_error.ok(), 0) && has_failed()) return;
  p2p::Request* request = nullptr;
  const Status status = p2p::engine().ireceive(buffer, count, type, from, tag_, context_, request);
  if (!status.ok()) return note_not_started(status);
  p2p::engine().requests().entrust(request, messages_);
}

// Without memory for a message, the rank at its other end would wait for ever.
void Schedule::note_not_started(Status status) {
  note(comm_ == nullptr ? status : abandon_unbuilt(*comm_, status));
}

void Schedule::post_waiting_receive_now() {
  has_waiting_ = false;
  start_receive(waiting_.buffer, waiting_.count, *waiting_.type, waiting_.from);
}

void Schedule::wait_for_messages(int left) {
  if (messages_.under_way <= left) return;
  p2p::Engine& engine = p2p::engine();
  engine.wait_until(
      [this, left, &engine] {
        if (messages_.under_way <= left) return true;
        if (!among_some_ || engine.failures().deaths() == 0) return false;
        const Status failure = engine.failures().death_among(members());
        if (failure.ok()) return false;
        engine.failure_handler().give_up(context_, tag_, failure);
        return messages_.under_way <= left;
      },
      [this](p2p::WaitDiagnostics& note) { describe(note); });
}

void Schedule::describe(p2p::WaitDiagnostics& note) const {
  note.collective(context_, name_);
  note.root(root_);
  const bool is_shared =
      stored_.next < stored_.steps.size() && stored_.steps[stored_.next].kind == Step::Kind::shared;
  if (is_shared) return stored_.steps[stored_.next].shared->describe(note);
  note.missing_in_messages(context_, tag_);
}

Status abandon_unbuilt(Comm& comm, Status built) {
  if (built.error_class() != MPI_ERR_NO_MEM) return built;
  const std::string words = last_failure_text();  // revoking writes other texts
  abandon(comm);
  return fail(MPI_ERR_NO_MEM, "%s", words.c_str());
}

Status Schedule::finish() {
  next_round();
  note_failure();
  // The text of the error is that of the revocation which followed it.
  return messages_.first_error.error_class() == MPI_ERR_NO_MEM ? no_memory() : messages_.first_error;
}

// Non-blocking and persistent operations.

void SharedCollective::describe(p2p::WaitDiagnostics& note) const {
  note.missing(awaited);
}

void SharedCollective::run(uint32_t context, int root) {
  // Rounds that poll this operation only, before messages are progressed too.
  constexpr int kRounds = 64;
  p2p::Engine& engine = p2p::engine();
  for (int round = engine.spins() ? kRounds : 1; round > 0; --round) {
    if (advance()) return;
    atomic::cpu_relax();
  }
  struct Watch final : p2p::Polled {
    SharedCollective* watched = nullptr;
    bool over = false;
    bool advance() override { return over = watched->advance() || watched->check_failure(); }
  } watch;
  watch.watched = this;
  engine.requests().poll(watch);
  engine.wait_until([&watch] { return watch.over; },
                    [this, context, root](p2p::WaitDiagnostics& note) {
                      note.collective(context);
                      note.root(root == kOwnRoot ? this->root() : root);
                      describe(note);
                    });
}

struct Schedule::Hooks {
  static Schedule& of(p2p::Request& request) { return *static_cast<Schedule*>(request.state); }

  static void advance(p2p::Request& request) { of(request).go_on(); }
  static Status start(p2p::Request& request) {
    HEARTH_TRY(failure_of(*of(request).comm_));
    request.active = true;
    request.complete = false;
    request.outcome = {};
    Schedule& schedule = of(request);
    schedule.stored_.next = 0;
    schedule.messages_.first_error = {};
    for (const Step& step : schedule.stored_.steps) {
      if (step.shared != nullptr) step.shared->begin();
    }
    schedule.go_on();
    return {};
  }
  static Status cancel(p2p::Request&) {
    return fail(MPI_ERR_REQUEST,
                "a collective operation cannot be cancelled (MPI 5.0 section 6.12). Remedy: complete it with "
                "MPI_Wait or MPI_Test");
  }
  static void describe(const p2p::Request& request, p2p::WaitDiagnostics& note) {
    static_cast<const Schedule*>(request.state)->describe(note);
  }
  static Status release(p2p::Request& request) {
    of(request).let_go();
    return {};
  }
  static constexpr p2p::RequestHooks kTable = {.advance = advance,
                                               .start = start,
                                               .query = nullptr,
                                               .cancel = cancel,
                                               .release = release,
                                               .describe = describe};
};

Status Schedule::no_memory() {
  return fail(MPI_ERR_NO_MEM, "no memory for another collective operation");
}

Status Schedule::make(Comm& comm, std::string_view name, bool persistent, Schedule*& schedule) try {
  if (spare.value.empty()) {
    spare.value.reserve(kSpareMax);  // for let_go(), which cannot fail
    schedule = new Schedule;
  } else {
    schedule = spare.value.back();
    spare.value.pop_back();
  }
  schedule->set_up(comm, take_tag(comm, persistent));
  schedule->keeps_steps_ = true;
  schedule->name_ = name;
  schedule->persistent_ = persistent;
  schedule->comm_ = &comm;
  if (persistent) return {};
  schedule->region_ = CollectiveRegion::of(comm);
  if (schedule->machines_ != nullptr) schedule->machine_region_ = CollectiveRegion::on_machine(comm);
  return {};
} catch (const std::bad_alloc&) {
  if (schedule != nullptr) schedule->let_go();
  return no_memory();
}

namespace {

// Broadcasts a word from the first rank of this machine to the others; nullptr: does nothing. By messages,
// because there may be no region yet.
Status tell_machine(Schedule& schedule, int32_t* word) {
  if (word == nullptr) return {};
  const objects::Machines& machines = *schedule.machines();
  const auto members = machines.peers_on(machines.own);
  const Schedule::Part part(schedule, members, machines.place, false);
  HEARTH_TRY(bcast_in_group(schedule, word, Count{sizeof *word}, byte_type(), 0));
  schedule.next_round();
  return {};
}

}  // namespace

Status Schedule::obtain_operation_region() {
  if (machines_ != nullptr) {
    // Run on every machine, even if this one has no region: all ranks must count it among their collectives.
    const bool has_one = CollectiveRegion::on_machine(*comm_) != nullptr;
    int32_t region_id = has_one && machines_->place == 0 && comm_->failure == 0
                            ? region_pool().take_for_operation(machines_->peers_on(machines_->own))
                            : objects::kNoRegion;
    const Status status = run<tell_machine>(*comm_, has_one ? &region_id : nullptr);
    if (!status.ok()) {
      region_pool().leave(region_id);
    } else if (const int32_t region = region_pool().accept(region_id); region != objects::kNoRegion) {
      machine_region_ = CollectiveRegion::open(*comm_, region);
    }
    return status;
  }
  if (CollectiveRegion::of(*comm_) == nullptr) return {};
  // If a member has failed, no region is allocated, and the broadcast fails.
  int32_t region_id = rank_ == 0 && comm_->failure == 0
                          ? region_pool().take_for_operation(comm_->group->peers)
                          : objects::kNoRegion;
  const Status status = run<bcast>(*comm_, &region_id, Count{sizeof region_id}, byte_type(), 0);
  if (!status.ok()) {
    region_pool().leave(region_id);
  } else if (const int32_t region = region_pool().accept(region_id); region != objects::kNoRegion) {
    region_ = CollectiveRegion::open(*comm_, region);
  }
  return status;
}

Status Schedule::agree_on_region() {
  if (keeps_steps_ || comm_->region_agreed) return {};
  comm_->region_agreed = true;
  int32_t region_id = machines_->place == 0 && comm_->failure == 0
                          ? region_pool().take(machines_->peers_on(machines_->own))
                          : objects::kNoRegion;
  if (const Status status = tell_machine(*this, &region_id); !status.ok()) {
    region_pool().leave(region_id);
    return status;
  }
  comm_->region = region_pool().accept(region_id);
  machine_region_ = CollectiveRegion::on_machine(*comm_);
  return {};
}

Schedule::Part::Part(Schedule& schedule, std::span<const PeerIndex> members, int rank, bool machine)
    : schedule_(schedule),
      peers_(schedule.own_peers_),
      rank_(schedule.rank_),
      size_(schedule.size_),
      region_(schedule.region_),
      machines_(schedule.machines_) {
  schedule.peers_ = schedule.own_peers_ = members.data();
  schedule.rank_ = rank;
  schedule.size_ = static_cast<int>(members.size());
  schedule.region_ = machine ? schedule.machine_region_ : nullptr;
  schedule.machines_ = nullptr;
}

Schedule::Part::~Part() {
  schedule_.peers_ = schedule_.own_peers_ = peers_;
  schedule_.rank_ = rank_;
  schedule_.size_ = size_;
  schedule_.region_ = region_;
  schedule_.machines_ = machines_;
}

Status Schedule::launch(Schedule* schedule, Status built, p2p::Request*& request) {
  p2p::Request* made = nullptr;
  if (built.ok()) {
    made = p2p::engine().requests().create(p2p::RequestKind::collective);
    if (made == nullptr) built = fail(MPI_ERR_NO_MEM, "no memory for another request");
  }
  if (!built.ok()) {
    schedule->let_go();
    return built;
  }
  made->hooks = &Hooks::kTable;
  made->state = schedule;
  made->comm = schedule->comm_;
  objects::retain(*made->comm);
  made->key = {schedule->context_, MPI_ANY_SOURCE, schedule->tag_};
  schedule->messages_.owner = made;
  request = made;
  if (schedule->persistent_) {
    made->persistent = true;
    made->active = false;
  } else {
    schedule->go_on();
  }
  return {};
}

// Called when the request is started, when the number of messages in flight has dropped to wake_at, and when
// a shared-memory operation has completed.
void Schedule::go_on() {
  for (; stored_.next < stored_.steps.size(); ++stored_.next) {
    const Step& step = stored_.steps[stored_.next];
    if (step.kind == Step::Kind::next_round) {
      messages_.wake_at = 0;
      if (messages_.under_way > 0) return;
      continue;
    }
    if (step.kind == Step::Kind::shared) {
      if (!step.shared->advance()) {
        p2p::engine().requests().poll(*this);
        return;
      }
      note(step.shared->outcome);
      continue;
    }
    const bool message = step.kind == Step::Kind::send || step.kind == Step::Kind::receive;
    if (message && messages_.under_way == messages_max_) {
      messages_.wake_at = messages_max_ / 2;
      return;
    }
    carry_out(step);
  }
  messages_.wake_at = 0;
  if (messages_.under_way > 0) return;
  note_failure();
  p2p::engine().requests().complete(*messages_.owner, messages_.first_error);
}

// Polled by the engine until the shared-memory operation at which go_on() stopped is complete.
bool Schedule::advance() {
  SharedCollective& shared = *stored_.steps[stored_.next].shared;
  if (!shared.advance() && !shared.check_failure()) return false;
  note(shared.outcome);
  ++stored_.next;
  go_on();  // may free the schedule
  return true;
}

void Schedule::let_go() {
  for (Type* type : stored_.types) datatype::release(*type);
  if (stored_.op != nullptr) objects::release(*stored_.op);
  if (persistent_ && region_ != nullptr) CollectiveRegion::close(region_);
  if (persistent_ && machine_region_ != nullptr) CollectiveRegion::close(machine_region_);
  if (spare.value.size() == kSpareMax) {
    delete this;
    return;
  }
  stored_.steps.clear();
  stored_.types.clear();
  stored_.op = nullptr;
  scratch_.clear();
  region_ = machine_region_ = nullptr;
  machines_ = nullptr;
  other_peers_ = nullptr;
  other_size_ = 0;
  root_ = -1;
  stored_.next = 0;
  comm_ = nullptr;
  messages_ = {};
  messages_max_ = kMessagesMax;
  spare.value.push_back(this);
}

}  // namespace hearth::coll
