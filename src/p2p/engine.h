// The engine: point-to-point messages between the processes of a job, over any transport.
//
// The path of a short message: inline_path::send (src/abi) -> Engine::send_inline (inline_path.h) ->
// RingWriter::claim_short, copy into the ring -> RingWriter::commit_short, whose last store publishes the
// packet. Engine::send handles all other messages. At the receiver, Engine::receive_inline takes the packet,
// or Engine::progress polls the rings and on_eager() matches it: it unpacks the data for a posted receive, or
// adds the message to the unexpected queue.
//
// One engine per process; all calls under the library's lock. Ranks are PeerIndex and contexts come from the
// communicator: this folder does not know MPI handles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/chaos.h"
#include "base/counts.h"
#include "base/lock.h"
#include "base/pool.h"
#include "base/status.h"
#include "datatype/type.h"
#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/copy_offers.h"
#include "p2p/counters.h"
#include "p2p/deferred_work.h"
#include "p2p/eager_path.h"
#include "p2p/envelope.h"
#include "p2p/failure_record.h"
#include "p2p/fatal_errors.h"
#include "p2p/long_receives.h"
#include "p2p/long_sends.h"
#include "p2p/matching.h"
#include "p2p/memory_access.h"
#include "p2p/message_profile.h"
#include "p2p/offered_copies.h"
#include "p2p/pair_table.h"
#include "p2p/request.h"
#include "p2p/request_table.h"
#include "p2p/stream.h"
#include "shm/arena.h"
#include "shm/layout.h"
#include "shm/liveness.h"
#include "single_copy/single_copy.h"
#include "transport/transport.h"

namespace hearth::profile {
class Recorder;
enum class Wait : uint32_t;
struct PeerCounts;
}  // namespace hearth::profile

namespace hearth::p2p {

/// The envelope and length of a message that a receive or probe found.
struct Received {
  PeerIndex from = 0;
  int tag = 0;
  int64_t bytes = 0;
};

/// How long a waiting call spins, then yields, before the rank sleeps.
struct WaitPolicy {
  uint64_t spin_ns = 0;
  uint64_t yield_ns = 0;
  static WaitPolicy from_parameters(bool more_ranks_than_processors);
};

struct EngineSetup {
  PeerIndex self = 0;
  int size = 1;
  transport::Transport* transport = nullptr;
  WaitPolicy wait;
  /// The relation of this process to another one.
  std::function<topo::Relation(PeerIndex)> relation;
  /// Allocates a block of context ids and returns the first (base/contexts.h).
  std::function<uint32_t()> new_context;
  /// The arena, which all processes of the machine map, and the control block of each process for cooperative
  /// copies. Without them these protocols are not used.
  shm::Arena* arena = nullptr;
  std::function<shm::CopyControlBlock*(PeerIndex)> control_block;
  /// The local rank of each process, by which the arena addresses it; empty: all processes are on one
  /// machine.
  std::vector<int> places;
  /// Single-copy methods in order of preference.
  std::vector<single_copy::Method*> methods;
  /// For the wait diagnostics of this rank; nullptr in tests.
  shm::WaitPage* wait_page = nullptr;
  /// Counters of the bytes sent and received outside of the rings; nullptr in tests.
  shm::LongTraffic* traffic = nullptr;
  /// Registry of dead processes; nullptr if deaths are not detected.
  const shm::Deaths* liveness = nullptr;
  /// Runs the peer liveness monitor; called repeatedly by calls that wait long. Null if the launcher detects
  /// deaths.
  void (*check_liveness)() = nullptr;
  /// Records the death of a process that another one reported. Null if all processes read the same registry.
  void (*record_death)(PeerIndex process, PeerIndex from) = nullptr;
  /// The recorder of --profile and --trace; nullptr without them.
  profile::Recorder* recorder = nullptr;
  /// Ends the job: the engine cannot go on (memory is exhausted in the middle of a receive). Does not return.
  void (*fatal)(Status) = nullptr;
  /// Prints a warning for the user.
  void (*warn)(const char* text) = nullptr;
  /// Longest sleep: a sleeping thread polls at least this often even without a wake-up. Tests set it high to
  /// expose lost wake-ups.
  uint64_t backstop_ns = 100'000'000;
};

class WaitDiagnostics;

/// Callback that describes a wait for the wait diagnostics (p2p/wait_diagnostics.h). Refers to a function
/// that has to outlive the wait, such as a lambda among the arguments of the call.
class Describe {
 public:
  template <class Function>
  Describe(const Function& function)
      : call_([](const void* which, WaitDiagnostics& note) { (*static_cast<const Function*>(which))(note); }),
        function_(&function) {}
  void operator()(WaitDiagnostics& note) const { call_(function_, note); }

 private:
  void (*call_)(const void* which, WaitDiagnostics& note);
  const void* function_;
};

/// Predicate: whether a wait is over. Its function has to outlive the wait, and to evaluate the current state
/// instead of a cached result: any thread that makes progress evaluates it for sleeping threads, under the
/// library's lock.
class Over {
 public:
  template <class Function>
  explicit Over(Function& function)
      : call_([](const void* which) { return (*static_cast<Function*>(const_cast<void*>(which)))(); }),
        function_(&function) {}
  bool operator()() const { return call_(function_); }

 private:
  bool (*call_)(const void* which);
  const void* function_;
};

class Engine {
 public:
  explicit Engine(const EngineSetup& setup);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  PeerIndex self() const { return self_; }
  int size() const { return pairs_.size(); }
  uint32_t new_context() { return new_context_(); }

  // Blocking calls. The buffer is `count` elements of `type`.
  Status send(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
              uint32_t context, SendMode mode = SendMode::standard);
  /// `from` may be MPI_ANY_SOURCE, `tag` MPI_ANY_TAG. A longer message is truncated, with MPI_ERR_TRUNCATE.
  Status receive(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                 uint32_t context, Received* received = nullptr);

  // Fast paths, inlined into the MPI calls (p2p/inline_path.h): the message fits the ring, its data are
  // contiguous, and no queued operation has to go first. False or nullptr: no side effects. `call`: the
  // number of the MPI function, for the profile.
  bool send_inline(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
                   uint32_t context, int call);
  /// Polls the ring of `from`, a single process, for a bounded number of rounds. The message has to be
  /// exactly as long as the buffer.
  bool receive_inline(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                      uint32_t context, int call);
  /// Posts a receive if the unexpected queue is empty and the posted queue is short. Does not throw.
  Request* post_inline(void* buffer, Count count, datatype::Type& type, PeerIndex from, int tag,
                       objects::Comm& comm);
  /// receive_inline() for a posted receive. On success the request is finished, but its `complete` and
  /// outcome fields are not set.
  bool receive_posted_inline(Request& request);

  // Non-blocking calls. The returned request may be requests().completed_send(), which is shared
  // and always complete.
  Status isend(const void* buffer, Count count, datatype::Type& type, PeerIndex to, int tag, uint32_t context,
               Request*& request, SendMode mode = SendMode::standard);
  Status ireceive(void* buffer, Count count, datatype::Type& type, PeerIndex from, int tag, uint32_t context,
                  Request*& request);
  /// Waits until the request is complete.
  void await(const Request& request) {
    if (!request.complete) await_incomplete(request);
  }
  /// The same; `describe` describes the caller's wait, of which this request is a part.
  void await(const Request& request, const Describe& describe) {
    if (!request.complete) await_incomplete(request, describe);
  }
  /// Waits, returns the outcome, destroys the request and sets the pointer to nullptr.
  Status wait(Request*& request);
  /// wait() for all; returns the first error. nullptr entries are skipped.
  Status wait_all(std::span<Request*> requests);

  /// Starts a send or receive that was created by requests() and filled in by the caller.
  void start(Request& request);
  /// Whether waits begin with spinning; false if ranks outnumber processors.
  bool spins() const { return wait_policy_.spin_ns != 0; }
  /// requests().complete() for callers outside of progress(), such as a call on the request. Also wakes
  /// waiting threads.
  void finish(Request& request, Status outcome);
  /// Wakes sleeping threads whose waits are over. For code outside of progress() that ends a wait.
  void wake_threads();
  /// Cancels a receive that has not matched; returns whether it was cancelled.
  bool cancel(Request& request);

  // Probing.
  /// Whether a matching message is in the unexpected queue. Does not progress.
  bool has_come(PeerIndex from, int tag, uint32_t context, Received& received);
  bool iprobe(PeerIndex from, int tag, uint32_t context, Received& received);
  /// Waits until a message matches, or fails if none can arrive any more.
  Status probe(PeerIndex from, int tag, uint32_t context, Received& received);
  /// Removes a matching message from the unexpected queue; nullptr if there is none.
  UnexpectedMessage* improbe(PeerIndex from, int tag, uint32_t context, Received& received);
  Status mprobe(PeerIndex from, int tag, uint32_t context, Received& received, UnexpectedMessage*& message);
  /// Receives a message that improbe() or mprobe() has removed, into a receive request.
  void start_matched(Request& request, UnexpectedMessage* message);

  /// Polls the transport and advances all pending operations; returns whether anything advanced. Never
  /// blocks. Operations of other callers allocate memory here, so bad_alloc must not reach the caller: the
  /// affected request completes with MPI_ERR_NO_MEM, or, if a step is half done, the job ends with an error
  /// that names the memory. Not noexcept: the fatal handler of tests throws.
  bool progress();
  /// progress() for calls that return at once (Test, Iprobe). After several calls without progress it yields
  /// the processor if ranks outnumber processors.
  bool progress_once();
  /// Progresses until done() returns true: spins, yields, then sleeps. A wait that lasts is published in the
  /// wait diagnostics: describe(WaitDiagnostics&) writes them (p2p/wait_diagnostics.h), and again after
  /// changes of the queues or some time.
  template <class Done>
  void wait_until(Done&& done, const Describe& describe);
  /// True if no send or answer is pending: all sends have reached their receivers or the rings, all answers
  /// have been sent.
  bool quiet() const {
    return requests_.sends_pending() == 0 && answers_.empty() && !eager_.any_backlog() && transport_.quiet();
  }

  // Failures (failure.cpp): dead processes and revoked communicators. docs/design/reliability.md.

  /// Checks for new failures and ends operations that cannot complete any more, with an error; returns
  /// whether anything changed. Called by waiting loops that have found nothing for a while.
  bool poll_failures() {
    return __builtin_expect(failures_.has_news() || failures_.any(), 0) && handle_failures();
  }
  /// Applies earlier deaths and revocations to a communicator that has just been created.
  void examine(objects::Comm& comm);
  /// Revokes a communicator: its operations end with an error, on all processes (MPIX_Comm_revoke).
  void revoke(objects::Comm& comm);
  /// Acknowledges the first `deaths` deaths: receives from any source on `comm` continue despite them.
  void acknowledge(objects::Comm& comm, uint32_t deaths);
  /// Ends the messages of one collective with the error `failure`. Pre: a participating process is dead.
  void give_up(uint32_t context, int tag, Status failure);

  /// Reloads the thresholds of every pair, for messages that start from now on.
  void reload_thresholds();

  // The parts that other layers use.
  RequestTable& requests() { return requests_; }
  Matching& matching() { return matching_; }
  FailureRecord& failures() { return failures_; }
  PairTable& pairs() { return pairs_; }
  EagerPath& eager() { return eager_; }
  const EngineCounters& counters() const { return counters_; }
  /// Adds everything not counted yet to the profile; no effect without a recorder.
  void complete_profile();
  /// Memory of the pools of requests and messages.
  size_t pool_bytes() const;

 private:
  friend class WaitDiagnostics;

  /// A wait in which every round makes progress checks for failures every kMovesPerLook rounds.
  static constexpr uint32_t kMovesPerLook = 256;
  static constexpr uint64_t kSleepsPerWatch = 256;
  static constexpr int kNotShown = -1;
  static constexpr int kNoPlace = -2;
  /// State of a waiting loop for the profile (wait_profile.cpp).
  struct WatchedWait {
    profile::Wait kind{};
    PeerIndex peer = 0;    // negative: any, or several
    uint64_t look_ns = 0;  // last clock reading
    uint64_t idle_ns = 0;  // idle time not counted yet
    int site = -1;
    bool described = false;
    bool site_sought = false;
    bool counted = false;
  };
  struct Waiter {
    const Describe& describe;
    Over over;
    uint32_t rounds = 0;
    uint32_t moves = 0;
    int shown_at = kNotShown;  // entry in the wait diagnostics
    bool noted = false;        // end_wait() has something to do
    uint64_t since_ns = 0;     // start of the current time without progress
    uint64_t began_ns = 0;
    uint64_t queues_seen = 0;
    uint64_t shown_ns = 0;
    std::optional<WatchedWait> watched = {};
    uint32_t asleep = 0;  // futex of a follower thread; 1: it sleeps
  };

  void await_incomplete(const Request& request);
  void await_incomplete(const Request& request, const Describe& describe);
  /// Pauses briefly, and lets other threads enter the library; returns true once the wait has lasted long
  /// enough to sleep.
  bool idle(Waiter& waiter);
  /// Sleeps until a wake-up. Pre: the wait's condition was evaluated after the lock was last released.
  void sleep_as_waiter(Waiter& waiter);
  void lead(Waiter& waiter);
  void follow(Waiter& waiter);
  static void wake_follower(Waiter& waiter);
  void end_wait(Waiter& waiter);
  /// Randomizes the order of polling (base/chaos.h).
  [[gnu::cold]] void shuffle();
  // wait_profile.cpp: for --profile and --trace only.
  void watch_wait(Waiter& waiter, uint64_t now_ns, bool stretch_begins);
  void describe_watched(const Waiter& waiter, WatchedWait& watched);
  void count_wait(WatchedWait& watched) const;
  void end_watched_wait(Waiter& waiter);

  // failure.cpp
  /// The reason why an operation with this key cannot complete; ok if it can.
  using Hopeless = std::function<Status(const MatchKey&)>;
  [[gnu::cold]] bool handle_failures();
  /// Has the transport monitor the processes that posted receives wait for.
  [[gnu::cold]] void watch_awaited();
  void pass_on(PeerIndex dead);
  void on_died(PeerIndex from, uint32_t process);
  void reap(PeerIndex process);
  void leave_regions_of_dead() const;
  void close_if_broken(objects::Comm& comm);
  bool end_receives(const Hopeless& why);
  bool stall_receives();
  void end_sends(const Hopeless& why, bool exposed_too);
  void end_unstarted(Request& request, Status status);
  FailureRecord::Revoked& note_revoked(uint32_t context);
  void on_revoked(PeerIndex from, uint32_t context);
  void disable_fast_path(objects::Comm& comm);
  void tell_revoked(const FailureRecord::Revoked& revoked);
  void end_revoked(const FailureRecord::Revoked& revoked);
  void drop_unexpected(uint32_t block);
  bool drop_unexpected_once(uint32_t block);
  void forget_freed();

  // wait_diagnostics.cpp
  void show_wait(Waiter& waiter, uint64_t now_ns);
  void hide_wait(const Waiter& waiter);
  void show_queues();
  void note_polling();
  void end_polling();

  // send.cpp
  /// Returns false if the ring has no room.
  bool try_start_send(Request& request);
  void start_send(Request& request);
  bool serve_backlogs();

  // receive.cpp
  static void handle(void* engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  /// Handles a packet of one kind; false: it is invalid.
  using Handler = bool (*)(Engine& engine, PeerIndex from, const shm::PacketHeader& header,
                           const std::byte* payload);
  static const std::array<Handler, kPacketKinds> handlers;
  template <bool (LongSends::*function)(Request&)>
  static bool on_answer(Engine& engine, PeerIndex from, const shm::PacketHeader& header, const std::byte*);
  bool on_cooperative_request(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  bool take_inline(shm::RingReader& ring, void* buffer, const datatype::Type& type, uint64_t bytes,
                   uint64_t match, int call);
  void post(Request& request);
  void deliver(Request& request, UnexpectedMessage* message);
  /// Drops a message of the unexpected queue that will not be received.
  void discard(UnexpectedMessage* message);
  void on_corruption(PeerIndex from, const shm::PacketHeader& header);

  const PeerIndex self_;
  transport::Transport& transport_;
  EngineCounters counters_;
  Matching matching_;
  const FatalErrors errors_;
  RequestTable requests_;
  FailureRecord failures_;
  PairTable pairs_;
  DeferredWork deferred_;
  Answers answers_;
  MessageProfile profile_;
  EagerPath eager_;
  BounceBuffers buffers_;
  MemoryAccess access_;
  CopyOffers offers_;
  OfferedCopies copies_;
  LongSends sends_;
  LongReceives receives_;
  const WaitPolicy wait_policy_;
  const std::function<uint32_t()> new_context_;
  shm::WaitPage* const wait_page_;
  void (*const check_liveness_)();
  void (*const record_death_)(PeerIndex process, PeerIndex from);
  profile::Recorder* const recorder_;
  void (*const warn_)(const char* text);
  const uint64_t backstop_ns_;
  bool corruption_reported_ = false;
  uint32_t fruitless_ = 0;         // consecutive calls of progress_once() without progress
  uint64_t polling_since_ns_ = 0;  // first clock reading during these; 0: none
  bool polling_shown_ = false;     // in the wait diagnostics
  uint64_t polling_queues_seen_ = 0;
  const MatchKey* probed_for_ = nullptr;  // key of the probe that polls
  // Sleeping threads: the leader, which other processes wake, and the followers, which threads of this
  // process wake when their wait is over, or to become the leader.
  Waiter* leader_ = nullptr;
  std::vector<Waiter*> followers_;
};

/// The process's engine, from MPI_Init to MPI_Finalize.
inline Engine* process_engine = nullptr;
inline Engine& engine() {
  return *process_engine;
}

template <class Done>
void Engine::wait_until(Done&& done, const Describe& describe) try {
  if (done()) return;
  Waiter waiter = {.describe = describe, .over = Over(done)};
  for (;;) {
    const bool moved = progress();
    if (done()) break;
    if (moved) {
      waiter.rounds = 0;
      if (++waiter.moves % kMovesPerLook == 0) poll_failures();
      LibraryLock::yield_lock();
    } else if (idle(waiter) && !done()) {  // another thread may have completed it during idle()
      sleep_as_waiter(waiter);
    }
  }
  if (__builtin_expect(waiter.noted, 0)) end_wait(waiter);
} catch (const std::bad_alloc&) {
  // The awaited operations use the caller's buffers, so the wait cannot be abandoned.
  errors_.out_of_memory("a wait");
}

}  // namespace hearth::p2p
