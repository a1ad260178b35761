// The engine: point-to-point messages between the processes of a job, over any transport. It is composed of
// parts, each with a header and a unit test of its own:
//
//   matching.h         posted and unexpected queues        request_table.h    requests, cookies, completion
//   eager_path.h       messages in the ring, backlogs      answers.h          answers that wait for room
//   long_sends.h, long_receives.h                          rendezvous; fragments.h has their lengths
//   bounce_buffers.h   recycled and reclaimed buffers      deferred_work.h    releases, prefetch for write
//   copy_offers.h, offered_copies.h                        single copy; memory_access.h has the abilities
//   waiting.h          polling, sleeping_threads.h         probes.h           probes
//   failure_record.h   deaths and revocations              failure_handler.h  operations that they end
//   pair_table.h       thresholds and copy policies        message_profile.h, wait_profile.h   --profile
//   wait_publisher.h   wait diagnostics                    packet_damage.h, fatal_errors.h     reports
//
// The path of a short message: inline_path::send (src/abi) -> Engine::send_inline (inline_path.h) ->
// RingWriter::claim_short, copy into the ring -> RingWriter::commit_short, whose last store publishes the
// packet. Engine::send handles all other messages. At the receiver, Engine::receive_inline takes the packet,
// or Engine::progress polls the rings and EagerPath::on_packet() matches it: it unpacks the data for a posted
// receive, or adds the message to the unexpected queue.
//
// One engine per process; all calls under the library's lock. Ranks are PeerIndex and contexts come from the
// communicator: this folder does not use MPI handles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/copy_offers.h"
#include "p2p/counters.h"
#include "p2p/deferred_work.h"
#include "p2p/eager_path.h"
#include "p2p/envelope.h"
#include "p2p/failure_handler.h"
#include "p2p/failure_record.h"
#include "p2p/fatal_errors.h"
#include "p2p/known_processes.h"
#include "p2p/long_receives.h"
#include "p2p/long_sends.h"
#include "p2p/matching.h"
#include "p2p/memory_access.h"
#include "p2p/message_profile.h"
#include "p2p/offered_copies.h"
#include "p2p/packet_damage.h"
#include "p2p/pair_table.h"
#include "p2p/probes.h"
#include "p2p/received.h"
#include "p2p/request.h"
#include "p2p/request_table.h"
#include "p2p/sleeping_threads.h"
#include "p2p/wait_profile.h"
#include "p2p/wait_publisher.h"
#include "p2p/waiting.h"
#include "shm/layout.h"
#include "shm/liveness.h"
#include "shm/node.h"
#include "single_copy/single_copy.h"
#include "transport/transport.h"

namespace hearth::profile {
class Recorder;
}  // namespace hearth::profile

namespace hearth::p2p {

struct EngineSetup {
  PeerIndex self = 0;
  int size = 1;
  /// Number of processes up to which the engine may grow (KnownProcesses); 0: it does not grow.
  int size_max = 0;
  transport::Transport* transport = nullptr;
  WaitPolicy wait;
  /// The relation of this process to another one.
  std::function<topo::Relation(PeerIndex)> relation;
  /// Allocates a block of context ids that no other communicator of these processes has, and returns the
  /// first (base/contexts.h).
  KnownProcesses::NewContext new_context;
  /// The machine of this process: its arena, the control blocks for cooperative copies, the local ranks by
  /// which both address processes, the wait diagnostics of this rank and its counters of the bytes sent and
  /// received outside of the rings. nullptr: all processes are on one machine and share no memory but that of
  /// the transport, so these protocols are not used. Outlives the engine.
  const shm::Node* node = nullptr;
  /// Single-copy methods in order of preference.
  std::vector<single_copy::Method*> methods;
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

class Engine {
 public:
  explicit Engine(const EngineSetup& setup);
  ~Engine();
  Engine(const Engine&) = delete;

  PeerIndex self() const { return access_.self(); }

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
  bool spins() const { return waiting_.spins(); }
  /// requests().complete() for callers outside of progress(), such as a call on the request. Also wakes
  /// waiting threads.
  void finish(Request& request, Status outcome);
  /// Wakes sleeping threads whose waits are over. For code outside of progress() that ends a wait.
  void wake_threads() { threads_.wake(); }
  /// Cancels a receive that has not matched; returns whether it was cancelled.
  bool cancel(Request& request);

  /// Receives a message that probes() has removed, into a receive request.
  void start_matched(Request& request, UnexpectedMessage* message);

  /// Polls the transport and advances all pending operations; returns whether anything advanced. Never
  /// blocks. Operations of other callers allocate memory here, so bad_alloc must not reach the caller: the
  /// affected request completes with MPI_ERR_NO_MEM, or, if a step is half done, the job ends with an error
  /// that names the memory. Not noexcept: the fatal handler of tests throws.
  bool progress();
  /// progress() for calls that return at once (Test, Iprobe). After several calls without progress it yields
  /// the processor if ranks outnumber processors.
  bool progress_once() { return waiting_.once(nullptr); }
  /// Progresses until done() returns true: spins, yields, then sleeps (p2p/waiting.h).
  template <class Done>
  void wait_until(Done&& done, const Describe& describe) {
    waiting_.until(std::forward<Done>(done), describe);
  }
  /// True if no send or answer is pending: all sends have reached their receivers or the rings, all answers
  /// have been sent.
  bool quiet() const {
    return requests_.sends_pending() == 0 && answers_.empty() && !eager_.any_backlog() && transport_.quiet();
  }

  /// Publishes the waits of a thread in system calls.
  WaitPublisher& wait_publisher() { return wait_publisher_; }

  /// Reloads the thresholds of every pair, for messages that start from now on.
  void reload_thresholds();

  // The parts that other layers use.
  KnownProcesses& processes() { return processes_; }
  RequestTable& requests() { return requests_; }
  Matching& matching() { return matching_; }
  FailureRecord& failures() { return failures_; }
  FailureHandler& failure_handler() { return failure_handler_; }
  Probes<Engine>& probes() { return probes_; }
  PairTable& pairs() { return pairs_; }
  EagerPath& eager() { return eager_; }
  /// Whether nothing waits to be sent to a process.
  bool quiet_to(PeerIndex to) { return answers_.empty_for(to) && !eager_.has_backlog(to); }
  const EngineCounters& counters() const { return counters_; }
  /// Adds everything not counted yet to the profile; no effect without a recorder.
  void complete_profile();
  /// Memory of the pools of requests and messages.
  size_t pool_bytes() const;

 private:
  friend class Waiting<Engine>;

  void await_incomplete(const Request& request);
  void await_incomplete(const Request& request, const Describe& describe);

  // For Waiting.
  bool poll_failures() { return failure_handler_.poll(); }
  void do_deferred_work() {
    if (deferred_.any()) deferred_.run();
  }
  /// A hooked operation (a generalized request) may end without a packet.
  bool must_poll() const { return requests_.has_hooked(); }
  [[noreturn]] void out_of_memory(const char* what) const { errors_.out_of_memory(what); }
  /// Randomizes the order of polling (base/chaos.h).
  [[gnu::cold]] void shuffle();
  /// Has the transport monitor the processes that posted receives wait for.
  [[gnu::cold]] void watch_awaited();

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
  bool poll_transport() { return transport_.poll_directly(&Engine::handle, this) > 0; }
  void post(Request& request);
  void deliver(Request& request, UnexpectedMessage* message);

  transport::Transport& transport_;
  EngineCounters counters_;
  Matching matching_;
  const FatalErrors errors_;
  RequestTable requests_;
  KnownProcesses processes_;
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
  SleepingThreads threads_;
  WaitPublisher wait_publisher_;
  WaitProfile wait_profile_;
  Waiting<Engine> waiting_;
  FailureHandler failure_handler_;
  Probes<Engine> probes_;
  PacketDamage damage_;
};

/// The process's engine, from MPI_Init to MPI_Finalize.
inline Engine* process_engine = nullptr;
inline Engine& engine() {
  return *process_engine;
}

}  // namespace hearth::p2p
