// The steps of one collective operation on this process: messages and local work, in rounds.
//
//   receive, send, ... | next_round | copy, reduce, send, ... | next_round | ...
//
// A step may also be a shared-memory operation in the communicator's collective region (add_shared()).
//
// Steps are executed in the order in which they were added; messages are only started. next_round() waits for
// all messages started so far, so that later steps may use the received data. The same algorithm serves the
// three forms of a collective:
//
//   blocking        each step is executed as it is added (run());
//   non-blocking    the steps are stored, and progress() executes them for a request (start());
//   persistent      the same, and the request can be started repeatedly (prepare()).
//
// Within one collective, two ranks add the messages between them in the same order. Collectives of a
// communicator that are in flight together are distinguished by a number in the tag.
//
// Made and used under the library's lock. The schedule of a blocking call is on the stack; the others are
// recycled through a free list.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contexts.h"
#include "base/counts.h"
#include "base/status.h"
#include "coll/scratch_memory.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/op.h"
#include "p2p/engine.h"
#include "profile/recorder.h"

namespace hearth::coll {

using datatype::Type;
using objects::Comm;
using objects::Op;

/// MPI_BYTE: the type of packed data.
Type& byte_type();

class CollectiveRegion;

/// A part of a collective that uses shared memory, not messages. It is in the memory of its schedule
/// (Schedule::make_shared), or on the stack in a blocking call.
class SharedCollective : public p2p::Polled {
 public:
  /// The first error so far. The operation continues, because other ranks depend on this one.
  Status outcome;
  /// The process that is waited for, for wait diagnostics.
  objects::PeerIndex awaited = 0;

  /// Takes the next sequence number or generation of its region, in the order in which the ranks call
  /// collectives; for a persistent operation, at every start. Resets the state.
  virtual void begin() = 0;
  /// Called if advance() returned false. If the operation can never complete, because of a failure or a
  /// collective mismatch, it sets the error in `outcome` and returns true: the operation is over.
  virtual bool check_failure() = 0;

  /// Completes the operation in a blocking call; other messages progress meanwhile.
  void run(uint32_t context) { run(context, kOwnRoot); }
  /// The same for a part of a collective with this root, -1 for none. For wait diagnostics.
  void run(uint32_t context, int root);
  /// Adds the ranks that it waits for to the wait diagnostics.
  virtual void describe(p2p::WaitDiagnostics& note) const;

 protected:
  ~SharedCollective() = default;

 private:
  static constexpr int kOwnRoot = -2;
  /// The root if the operation is a whole collective; -1 for none.
  virtual int root() const { return -1; }
};

class Schedule final : private p2p::Polled {
 public:
  /// For a blocking call on a communicator.
  explicit Schedule(Comm& comm);
  /// For a blocking operation among some processes of a communicator, with a tag >= 0. Failures of other
  /// processes do not affect it.
  Schedule(const objects::Group& group, const Comm& comm, int tag);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// In the local group.
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Size of the remote group of an intercommunicator; 0 for an intracommunicator.
  int other_size() const { return other_size_; }
  bool is_inter() const { return other_size_ != 0; }
  /// Select the group to which the ranks of the following messages refer; initially the local group.
  void face_own_group() { peers_ = own_peers_; }
  void face_other_group() { peers_ = other_peers_; }
  /// The machines of the ranks; nullptr if there is only one, and on an intercommunicator.
  const objects::Machines* machines() const { return machines_; }
  /// Comm::context.
  uint32_t context() const { return context_ - kCollectiveContext; }
  /// The rank at this distance after this one (before, if negative), modulo the number of ranks.
  int neighbor(int distance) const { return (rank_ + distance % size_ + size_) % size_; }

  /// Takes the root from the arguments of a collective: the last argument, if it is an int.
  template <class... Arguments>
  void note_root(const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) > 0) {
      const auto& last = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
      if constexpr (std::is_same_v<decltype(last), const int&>) root_ = std::max(last, -1);
    }
  }

  // Messages. A message without data is left out on both sides.
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

  // Local work. A copy to MPI_BYTE packs, a copy from MPI_BYTE unpacks.
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

  /// A part of the operation among a subset of the ranks (coll/levels.h): while it lives, rank(), size() and
  /// all added steps refer to the subset. All ranks make their parts in the same order.
  class Part {
   public:
    /// `members` must outlive the part. `machine`: they are all ranks of the communicator on this machine.
    Part(Schedule& schedule, std::span<const objects::PeerIndex> members, int rank, bool machine);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Schedule& schedule_;
    const objects::PeerIndex* const peers_;
    const int rank_;
    const int size_;
    CollectiveRegion* const region_;
    const objects::Machines* const machines_;
  };

  /// The collective region. nullptr if the ranks can only use messages: on an intercommunicator, among some
  /// processes of a communicator, among several machines, and if no region was free.
  CollectiveRegion* region() const { return region_; }
  /// If the communicator spans several machines, the ranks of each agree on a region once, in the first
  /// blocking operation. Other operations must not wait, and use the region if there is one.
  Status agree_on_region();
  /// Obtains a region for a persistent operation, if the communicator has one and another one is free
  /// (collective_region.h gives the reason). Collective: rank 0 allocates it and broadcasts its id.
  Status obtain_operation_region();
  /// Adds a shared-memory operation as a step: earlier steps complete before it starts, and it completes
  /// before later steps. It uses these types and this operation; nullptr for none.
  void add_shared(SharedCollective& shared, Type* one = nullptr, Type* other = nullptr, Op* op = nullptr);
  /// Makes a shared-memory operation that lives as long as the schedule.
  template <class T, class... Arguments>
  Status make_shared(T*& shared, Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    std::byte* memory;
    HEARTH_TRY(scratch(sizeof(T), memory));
    shared = new (memory) T(std::forward<Arguments>(arguments)...);
    return {};
  }

  /// Removes the limit on messages in flight from here on.
  void lift_limit() { messages_max_ = INT_MAX; }

  /// Completes all earlier messages before any later step starts.
  void next_round();

  /// Memory that lives as long as the schedule.
  Status scratch(int64_t bytes, std::byte*& memory) { return scratch_.take(bytes, memory); }
  /// The same for elements. Returns the address that stands for them in calls; data may begin before it.
  Status scratch(const Type& type, Count count, std::byte*& elements);

  /// Ends a blocking operation: completes all messages. Returns the first error of any step.
  Status finish();

  /// A schedule that stores its steps. Pre: `schedule` is nullptr.
  static Status make(Comm& comm, std::string_view name, bool persistent, Schedule*& schedule);
  /// Makes a request of a schedule that stores its steps; `add` adds them. MPI_ERR_NO_MEM instead of
  /// bad_alloc.
  template <class Add>
  static Status store(Comm& comm, std::string_view name, bool persistent, p2p::Request*& request,
                      const Add& add) {
    Schedule* schedule = nullptr;
    HEARTH_TRY(make(comm, name, persistent, schedule));
    Status built;
    try {
      built = add(*schedule);
    } catch (const std::bad_alloc&) {
      built = no_memory();
    }
    return launch(schedule, built, request);
  }
  /// Frees a schedule that stores its steps, together with its request or if none was made.
  void let_go();

  struct Step {
    enum class Kind : uint8_t { send, receive, copy, reduce, next_round, shared };
    Kind kind;
    objects::PeerIndex peer = 0;
    const void* from = nullptr;
    Count from_count = 0;
    Type* from_type = nullptr;
    void* to = nullptr;
    Count to_count = 0;
    Type* to_type = nullptr;
    Op* op = nullptr;
    SharedCollective* shared = nullptr;
  };
  /// For tests that count the work of each step.
  const std::vector<Step>& steps() const { return stored_.steps; }

 private:
  struct Hooks;

  // Limit on messages in flight: long rounds continue as earlier messages complete. A rank's steps must not
  // depend on more concurrent messages, unless lift_limit() was called.
  static constexpr int kMessagesMax = 32;

  Schedule() = default;

  /// `built`: status of adding the steps.
  static Status launch(Schedule* schedule, Status built, p2p::Request*& request);
  [[gnu::cold]] static Status no_memory();
  void set_up(Comm& comm, int tag);
  void keep(const Step& step);
  void hold(Type& type);
  /// Executes a step other than next_round and meet.
  void carry_out(const Step& step);
  /// Whether a process that takes part has failed. Then nothing more is sent. Other ranks detect the failure
  /// themselves, so they do not wait for this rank.
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
  [[gnu::cold]] void note_not_started(Status status);
  void wait_for_messages(int left);
  void describe(p2p::WaitDiagnostics& note) const;
  void note(Status status) {
    if (!status.ok() && messages_.first_error.ok()) messages_.first_error = status;
  }
  /// Received data are valid only if no process had failed by then: otherwise a rank may have forwarded data
  /// that it had not received.
  void note_failure();
  void go_on();
  bool advance() override;

  const objects::PeerIndex* peers_ = nullptr;  // of the selected group
  const objects::PeerIndex* own_peers_ = nullptr;
  const objects::PeerIndex* other_peers_ = nullptr;
  int other_size_ = 0;
  int rank_ = 0;
  int size_ = 0;
  // The region of the communicator or of the persistent operation. On several machines, machine_region_ is
  // the region of this machine.
  CollectiveRegion* region_ = nullptr;
  CollectiveRegion* machine_region_ = nullptr;
  const objects::Machines* machines_ = nullptr;
  uint32_t context_ = 0;
  int tag_ = 0;
  std::string_view name_;  // "bcast"; empty for blocking operations
  int root_ = -1;          // of a rooted collective, for wait diagnostics
  bool keeps_steps_ = false;
  bool persistent_ = false;
  p2p::MessageGroup messages_;
  int messages_max_ = kMessagesMax;
  bool among_some_ = false;

  // Blocking operations only: a deferred receive, which is not posted yet. If no other message is in flight
  // at the end of its round, it takes the engine's fast path.
  bool has_waiting_ = false;
  struct {
    void* buffer;
    Count count;
    Type* type;
    objects::PeerIndex from;
  } waiting_;

  Comm* comm_ = nullptr;  // referenced by the request or the caller; nullptr among some processes

  // The steps of an operation that stores them.
  struct Stored {
    size_t next = 0;
    std::vector<Step> steps;
    std::vector<Type*> types;  // one reference held on each
    Op* op = nullptr;          // likewise
  } stored_;

  ScratchMemory scratch_;
};

// The three forms of a collective. `build` is its function in coll.h; `arguments` follow the schedule.

/// Fast path of a blocking call without a schedule, specialised in coll.h for collectives that have one.
/// run() returns whether it executed the call, with the status in its second argument.
template <auto build>
struct FastPath {
  template <class... Arguments>
  static bool run(Comm&, Status&, Arguments&&...) {
    return false;
  }
};

/// Specialised in coll.h: whether a collective can use the region.
template <auto build>
inline constexpr bool kUsesRegion = false;

/// "bcast" for the function hearth::coll::bcast, taken from the compiler's name of this function.
template <auto build>
constexpr std::string_view name_of_collective() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const size_t begin = text.find("build = ") + std::string_view("build = ").size();
  const std::string_view name = text.substr(begin, text.find_first_of(";]", begin) - begin);
  return name.substr(name.find_last_of(":&") + 1);
}

/// Why the communicator can run no more collectives; ok if it can.
inline Status failure_of(const Comm& comm) {
  return __builtin_expect(comm.failure == 0, 1) ? Status() : p2p::engine().failures().failure_of(comm);
}

/// For a process that cannot take part in a collective for lack of memory: the other ranks report an error
/// instead of waiting for this one (p2p/failure_handler.h).
[[gnu::cold]] inline void abandon(Comm& comm) {
  p2p::engine().failure_handler().abandon(comm);
}
/// The same, if the steps of a collective could not be added because of that. Returns the status.
[[gnu::cold]] Status abandon_unbuilt(Comm& comm, Status built);

template <auto build, class... Arguments>
Status run(Comm& comm, Arguments&&... arguments) try {
  const profile::CollectiveTimer timer(comm);
  if (Status outcome; FastPath<build>::run(comm, outcome, arguments...)) return outcome;
  HEARTH_TRY(failure_of(comm));
  Schedule schedule(comm);
  schedule.note_root(arguments...);
  Status built = build(schedule, std::forward<Arguments>(arguments)...);
  if (!built.ok()) built = abandon_unbuilt(comm, built);
  const Status done = schedule.finish();
  return built.ok() ? done : built;
} catch (const std::bad_alloc&) {
  abandon(comm);
  throw;
}

/// MPI 5.0 section 6.12.
template <auto build, class... Arguments>
Status start(Comm& comm, p2p::Request*& request, Arguments&&... arguments) {
  HEARTH_TRY(failure_of(comm));
  const Status started =
      Schedule::store(comm, name_of_collective<build>(), false, request, [&](Schedule& schedule) {
        schedule.note_root(arguments...);
        return build(schedule, std::forward<Arguments>(arguments)...);
      });
  return started.ok() ? started : abandon_unbuilt(comm, started);
}

/// MPI 5.0 section 6.13.
template <auto build, class... Arguments>
Status prepare(Comm& comm, p2p::Request*& request, Arguments&&... arguments) {
  HEARTH_TRY(failure_of(comm));
  const Status made =
      Schedule::store(comm, name_of_collective<build>(), true, request, [&](Schedule& schedule) {
        schedule.note_root(arguments...);
        if constexpr (kUsesRegion<build>) HEARTH_TRY(schedule.obtain_operation_region());
        return build(schedule, std::forward<Arguments>(arguments)...);
      });
  return made.ok() ? made : abandon_unbuilt(comm, made);
}

}  // namespace hearth::coll
