// The steps of one collective operation on this process: messages and local work, in rounds.
//
//   receive, send, ... | next_round | copy, reduce, send, ... | next_round | ...
//
// or, beside them, work that meets other ranks in the communicator's control area (Encounter).
//
// Steps are carried out in the order in which they were added; messages are only started. next_round() is
// where all messages started so far must be over, so that what follows may use what they brought. The same
// algorithm serves the three forms of a collective:
//
//   blocking        each step is carried out as it is added (run());
//   non-blocking    the steps are kept, and progress() goes through them behind a request (start());
//   persistent      the same, and the request can be started again and again (prepare()).
//
// A pair of ranks agrees on the order of its messages within one collective; between collectives of a
// communicator, which may be in flight together, a number in the tag keeps them apart.
//
// Made and used under the library's lock. A schedule for a blocking call lies on the stack; the others are
// kept in a list for reuse.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contexts.h"
#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/op.h"
#include "p2p/engine.h"
#include "profile/recorder.h"

namespace hearth::coll {

using datatype::Type;
using objects::Comm;
using objects::Op;

/// MPI_BYTE: packed data travel as bytes.
Type& byte_type();

class ControlArea;

/// A part of a collective in which the ranks meet in shared memory, not by messages. Lies in the memory of
/// its schedule (Schedule::make_encounter), or on the stack in a blocking call.
class Encounter : public p2p::Polled {
 public:
  /// The first error so far; other ranks count on us to go on.
  Status outcome;
  /// The process that is waited for, for the wait page.
  objects::PeerIndex awaited = 0;

  /// Takes its place among those of its area, in the order in which the ranks call collectives; of a
  /// persistent operation, with every start. What it has done before counts no more.
  virtual void begin() = 0;
  /// When advance() is not over: whether it never will be because other ranks do something else. Then it has
  /// an error as its outcome, and is over.
  virtual bool look() = 0;

  /// Goes through with it in a blocking call, while other messages go on.
  void run(uint32_t context) { run(context, kOwnRoot); }
  /// The same as a part of a collective with that root, or with none: -1. For wait diagnostics.
  void run(uint32_t context, int root);
  /// Says who has not come as far as this process.
  virtual void describe(p2p::WaitNote& note) const;

 protected:
  ~Encounter() = default;

 private:
  static constexpr int kOwnRoot = -2;
  /// Where it is all of a collective: its root, or -1.
  virtual int root() const { return -1; }
};

class Schedule final : private p2p::Polled {
 public:
  /// For a blocking call on a communicator.
  explicit Schedule(Comm& comm);
  /// For a blocking operation among some processes of a communicator, under a tag that is not negative. It
  /// does not mind the deaths of others.
  Schedule(const objects::Group& group, const Comm& comm, int tag);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// In the own group.
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Of an intercommunicator; 0 where there is one group only.
  int other_size() const { return other_size_; }
  bool is_inter() const { return other_size_ != 0; }
  /// Which group's processes the ranks of the following messages name; the own one's at first.
  void face_own_group() { peers_ = own_peers_; }
  void face_other_group() { peers_ = other_peers_; }
  /// Where the ranks are, when it is on several machines; else, and between two groups, nullptr.
  const objects::Machines* machines() const { return machines_; }
  /// Comm::context.
  uint32_t context() const { return context_ - kCollectiveContext; }
  /// The rank `distance` after or, if negative, before this one, around the circle.
  int neighbor(int distance) const { return (rank_ + distance % size_ + size_) % size_; }

  /// Of the arguments of a collective: the root comes last, if there is one.
  template <class... Arguments>
  void note_root(const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) > 0) {
      const auto& last = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
      if constexpr (std::is_same_v<decltype(last), const int&>) root_ = std::max(last, -1);
    }
  }

  // Messages. One without data is left out, on both sides of it.
  void send(const void* buffer, Count count, Type& type, int to) {
    if (count * type.size != 0) put_send(buffer, count, type, to);
  }
  void receive(void* buffer, Count count, Type& type, int from) {
    if (count * type.size != 0) put_receive(buffer, count, type, from);
  }
  void send_bytes(const void* buffer, int64_t bytes, int to) { send(buffer, bytes, byte_type(), to); }
  void receive_bytes(void* buffer, int64_t bytes, int from) { receive(buffer, bytes, byte_type(), from); }
  /// Empty messages.
  void send_signal(int to) { put_send(nullptr, 0, byte_type(), to); }
  void receive_signal(int from) { put_receive(nullptr, 0, byte_type(), from); }

  // Local work. Elements that are copied as MPI_BYTE are packed or unpacked.
  void copy(const void* from, Count from_count, Type& from_type, void* to, Count to_count, Type& to_type);
  void pack(const void* from, Count count, Type& type, std::byte* to) {
    copy(from, count, type, to, count * type.size, byte_type());
  }
  void unpack(const std::byte* from, void* to, Count count, Type& type) {
    copy(from, count * type.size, byte_type(), to, count, type);
  }
  void copy_bytes(const std::byte* from, std::byte* to, int64_t bytes) {
    copy(from, bytes, byte_type(), to, bytes, byte_type());
  }
  /// inout[i] = in[i] op inout[i]
  void reduce(Op& op, Type& type, const void* in, void* inout, Count count);

  /// A part of the operation among some ranks only: until it ends rank() and size() are those among them, and
  /// all that is added is meant so (coll/levels.h). Parts follow one another on all ranks in the same order.
  class Part {
   public:
    /// `members` live as long as it does. `machine`: all of the communicator's on this machine.
    Part(Schedule& schedule, std::span<const objects::PeerIndex> members, int rank, bool machine);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Schedule& schedule_;
    const objects::PeerIndex* const peers_;
    const int rank_;
    const int size_;
    ControlArea* const area_;
    const objects::Machines* const machines_;
  };

  /// Where the ranks meet; nullptr where they have messages only: between two groups, among some processes of
  /// a communicator, among several machines, and where no area is left.
  ControlArea* area() const { return area_; }
  /// Where it is on several machines, the ranks of each agree on an area, once for a communicator, in the
  /// first blocking operation: others must not wait for anybody, and use what there is.
  Status settle_area();
  /// A persistent operation's own area, where the communicator has one and there is another (control_area.h
  /// says why). Collective: rank 0 takes it and tells the others.
  Status obtain_area();
  /// What came before is over before it begins, and it is over before what follows. The types and the
  /// operation are those that it uses; nullptr for none.
  void meet(Encounter& encounter, Type* one = nullptr, Type* other = nullptr, Op* op = nullptr);
  /// An encounter that lives as long as the schedule.
  template <class T, class... Arguments>
  Status make_encounter(T*& encounter, Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    std::byte* memory;
    HEARTH_TRY(scratch(sizeof(T), memory));
    encounter = new (memory) T(std::forward<Arguments>(arguments)...);
    return {};
  }

  /// Any number of messages may be under way from here on.
  void lift_limit() { messages_max_ = INT_MAX; }

  /// All messages before are over before anything behind begins.
  void next_round();

  /// Memory that lives as long as the schedule.
  Status scratch(int64_t bytes, std::byte*& memory);
  /// The same for elements. The address is the one that stands for them in calls; data may lie before it.
  Status scratch(const Type& type, Count count, std::byte*& elements);

  /// Ends a blocking operation: waits for what is under way; the first error of any step.
  Status finish();

  /// Makes a request of a schedule that keeps its steps. `built` is what building it came to.
  static Status make(Comm& comm, std::string_view name, bool persistent, Schedule*& schedule);
  static Status launch(Schedule* schedule, Status built, p2p::Request*& request);
  /// Gives back one that keeps its steps, and of which no request was made.
  void let_go();

  struct Step {
    enum class Kind : uint8_t { send, receive, copy, reduce, next_round, meet };
    Kind kind;
    objects::PeerIndex peer = 0;
    const void* from = nullptr;
    Count from_count = 0;
    Type* from_type = nullptr;
    void* to = nullptr;
    Count to_count = 0;
    Type* to_type = nullptr;
    Op* op = nullptr;
    Encounter* encounter = nullptr;
  };
  /// For whoever goes through them otherwise: tests that count what each does.
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Hooks;

  // Messages under way at once: wide rounds go on as earlier ones complete. A rank's steps must not depend on
  // more than these, unless lift_limit() was called.
  static constexpr int kMessagesMax = 32;
  static constexpr size_t kOwnBytes = 4096;

  Schedule() {}  // NOLINT(modernize-use-equals-default): must not clear the scratch bytes

  void set_up(Comm& comm, int tag);
  void keep(const Step& step);
  void hold(Type& type);
  /// A step that is no next_round.
  void carry_out(const Step& step);
  /// Whether a process that takes part has died: then nothing is sent any more, and others, who find it out
  /// themselves, do not wait for it.
  bool has_failed() const;
  std::span<const objects::PeerIndex> members() const { return {own_peers_, static_cast<size_t>(size_)}; }
  void put_send(const void* buffer, Count count, Type& type, int to);
  void put_receive(void* buffer, Count count, Type& type, int from);
  void start_send(const void* buffer, Count count, Type& type, objects::PeerIndex to);
  void start_receive(void* buffer, Count count, Type& type, objects::PeerIndex from);
  void post_waiting_receive() {
    if (has_waiting_) post_waiting_receive_now();
  }
  void post_waiting_receive_now();
  void wait_for_messages(int left);
  void describe(p2p::WaitNote& note) const;
  void note(Status status) {
    if (!status.ok() && messages_.first_error.ok()) messages_.first_error = status;
  }
  /// What was received counts only if nobody had died by then: others may have sent on what they did not
  /// have.
  void note_failure();
  void go_on();
  bool advance() override;

  const objects::PeerIndex* peers_ = nullptr;  // of the group that is faced
  const objects::PeerIndex* own_peers_ = nullptr;
  const objects::PeerIndex* other_peers_ = nullptr;
  int other_size_ = 0;
  int rank_ = 0;
  int size_ = 0;
  // The communicator's, or the persistent operation's own; on several machines that of this machine is the
  // second one.
  ControlArea* area_ = nullptr;
  ControlArea* machine_area_ = nullptr;
  const objects::Machines* machines_ = nullptr;
  uint32_t context_ = 0;
  int tag_ = 0;
  std::string_view name_;  // "bcast"; of the non-blocking and persistent ones
  int root_ = -1;          // of a rooted collective, for wait diagnostics
  bool keeps_steps_ = false;
  bool persistent_ = false;
  p2p::MessageGroup messages_;
  int messages_max_ = kMessagesMax;
  bool among_some_ = false;

  // At once only: a receive that is not posted yet. When nothing else is under way at the end of its round it
  // takes the engine's short way.
  bool has_waiting_ = false;
  struct {
    void* buffer;
    Count count;
    Type* type;
    objects::PeerIndex from;
  } waiting_;

  Comm* comm_ = nullptr;  // the request holds the reference, or the caller; nullptr among some processes

  // Kept steps only.
  size_t next_ = 0;
  std::vector<Step> steps_;
  std::vector<Type*> types_;  // one reference held on each
  Op* op_ = nullptr;          // likewise

  size_t own_used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  alignas(64) std::byte own_[kOwnBytes];
};

// The three forms of a collective. `build` is its function of coll.h, the arguments those behind the
// schedule.

/// Specialised in coll.h for collectives that a blocking call may go through without a schedule: take() says
/// whether it did, and how it went.
template <auto build>
struct ShortWay {
  template <class... Arguments>
  static bool take(Comm&, Status&, Arguments&&...) {
    return false;
  }
};

/// Specialised in coll.h: whether a collective asks for an area().
template <auto build>
inline constexpr bool kMeetsInArea = false;

/// "bcast" of the function hearth::coll::bcast, as the compiler writes it where it names this one.
template <auto build>
constexpr std::string_view name_of_collective() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const size_t begin = text.find("build = ") + std::string_view("build = ").size();
  const std::string_view name = text.substr(begin, text.find_first_of(";]", begin) - begin);
  return name.substr(name.find_last_of(":&") + 1);
}

/// Why it can have no collective any more; ok when it can.
inline Status failure_of(const Comm& comm) {
  return __builtin_expect(comm.failure == 0, 1) ? Status() : p2p::engine().failure_of(comm);
}

template <auto build, class... Arguments>
Status run(Comm& comm, Arguments&&... arguments) {
  const profile::CollectiveTimer timer(comm);
  if (Status outcome; ShortWay<build>::take(comm, outcome, arguments...)) return outcome;
  HEARTH_TRY(failure_of(comm));
  Schedule schedule(comm);
  schedule.note_root(arguments...);
  const Status built = build(schedule, std::forward<Arguments>(arguments)...);
  const Status done = schedule.finish();
  return built.ok() ? done : built;
}

/// MPI 5.0 section 6.12.
template <auto build, class... Arguments>
Status start(Comm& comm, p2p::Request*& request, Arguments&&... arguments) {
  Schedule* schedule = nullptr;
  HEARTH_TRY(failure_of(comm));
  HEARTH_TRY(Schedule::make(comm, name_of_collective<build>(), false, schedule));
  schedule->note_root(arguments...);
  return Schedule::launch(schedule, build(*schedule, std::forward<Arguments>(arguments)...), request);
}

/// MPI 5.0 section 6.13.
template <auto build, class... Arguments>
Status prepare(Comm& comm, p2p::Request*& request, Arguments&&... arguments) {
  Schedule* schedule = nullptr;
  HEARTH_TRY(failure_of(comm));
  HEARTH_TRY(Schedule::make(comm, name_of_collective<build>(), true, schedule));
  schedule->note_root(arguments...);
  Status built;
  if constexpr (kMeetsInArea<build>) built = schedule->obtain_area();
  if (built.ok()) built = build(*schedule, std::forward<Arguments>(arguments)...);
  return Schedule::launch(schedule, built, request);
}

}  // namespace hearth::coll
