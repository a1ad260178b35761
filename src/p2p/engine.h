// The engine: point-to-point messages between the processes of a job, over any transport.
//
// A send of a short message, followed through: at_once::send (src/abi) -> Engine::send_at_once (at_once.h) ->
// RingWriter::claim_short, the bytes are copied into the ring -> RingWriter::commit_short, whose last store
// the peer sees; Engine::send is the way of all other messages. On the other side Engine::receive_at_once
// takes it, or Engine::progress polls the rings, on_eager() finds the posted receive and unpacks, or keeps
// the message.
//
// One engine per process; all calls under the library's lock. Ranks here are PeerIndex, contexts come from
// the communicator; nothing in this folder knows an MPI handle.
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
#include "p2p/cell_filler.h"
#include "p2p/cell_reader.h"
#include "p2p/envelope.h"
#include "p2p/kept_cells.h"
#include "p2p/match.h"
#include "p2p/message.h"
#include "p2p/protocol.h"
#include "p2p/request.h"
#include "p2p/skew.h"
#include "p2p/stream.h"
#include "shm/arena.h"
#include "shm/layout.h"
#include "shm/liveness.h"
#include "single_copy/cooperative.h"
#include "single_copy/single_copy.h"
#include "transport/transport.h"

namespace hearth::profile {
class Recorder;
enum class Wait : uint32_t;
struct PeerCounts;
}  // namespace hearth::profile

namespace hearth::p2p {

/// What a receive or probe found.
struct Received {
  PeerIndex from = 0;
  int tag = 0;
  int64_t bytes = 0;
};

/// An answer for which the ring had no room yet.
struct Answer {
  PacketKind kind;
  uint8_t flags;
  uint32_t cookie;
};

/// What the engine knows of one process.
struct Peer {
  /// Short messages go straight into the ring: it is open, no sends wait in the backlog, and the peer is not
  /// burdened with unmatched messages.
  bool at_once = false;
  bool profiled = false;  // there is an Engine::ProfiledPeer
  shm::RingWriter* lane_to = nullptr;
  shm::RingReader* lane_from = nullptr;
  Request* backlog = nullptr;  // sends that found no room, oldest first; order of matching depends on it
  Request* backlog_last = nullptr;
  PairProtocol protocol;
  bool known = false;      // protocol has been looked up
  bool reachable = false;  // the transport knows where its memory could be read
  bool listed = false;     // in Engine::waiting_peers_
  bool dead = false;       // and buried: nothing of it is waited for
  enum class Ability : uint8_t { untried, works, refused };
  Ability reading = Ability::untried;  // of this process, from the peer's memory by `method`
  Ability writing = Ability::untried;
  single_copy::Method* method = nullptr;
  bool single_copy_declined = false;  // the peer said that neither it nor we can copy what we lend
  bool writing_declined = false;      // the peer said that it cannot write to us
  bool arena_declined = false;        // it cannot map our window
  uint16_t copied_together = 0;       // messages of this peer to us, see single_copy/cooperative.h
  CellFiller filler;
  CellReader reader = CellReader(load_choice());
  Skew skew;
  KeptCells kept;
  uint32_t room_over = 0;  // the next packet's room has been brought over for so many bytes (meanwhile.cpp)
  uint32_t arena_questions = 0;  // messages that the arena could carry
  bool look_due = false;         // the next message through cells tells how far away the peer is
  single_copy::Target target;    // once it has been looked for
  std::vector<Answer> answers;
  std::vector<ReceiveStream*> streams;  // of which more pieces are to come
};

/// What the engine counts beside what its queues and pools know: only where a message takes a longer way.
struct EngineCounters {
  uint64_t long_messages_sent = 0;  // announced first, then sent in pieces or copied by the receiver
  uint64_t long_bytes_sent = 0;
  uint64_t long_bytes_received = 0;
  uint64_t single_copies = 0;  // made by this process as the receiver
  uint64_t single_copy_bytes = 0;
  uint64_t invitations = 0;   // of a sender to copy with us
  uint64_t bytes_helped = 0;  // copied by this process as the sender: together with the receiver, or alone
  uint64_t sleeps = 0;        // of waiting calls
};

/// Something that goes on when other processes store into shared memory, not when they send. Who stores it
/// rings this process's bell (shm/wait.h).
class Polled {
 public:
  /// Does what can be done; true once it is over. Never blocks.
  virtual bool advance() = 0;

 protected:
  ~Polled() = default;
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
  /// What lies between this process and another.
  std::function<topo::Relation(PeerIndex)> relation;
  /// The first of a fresh block of context numbers (base/contexts.h).
  std::function<uint32_t()> new_context;
  /// The memory that all processes of the machine map, and where one of them shares its copying; without
  /// them nothing is copied that way.
  shm::Arena* arena = nullptr;
  std::function<shm::CopyDesk*(PeerIndex)> desk;
  /// The number of each process among those of its machine, by which the arena knows it; empty: all are on
  /// one machine.
  std::vector<int> places;
  /// How memory of other processes can be reached, the best way first.
  std::vector<single_copy::Method*> methods;
  /// Where the rank says what it waits for; nullptr in tests.
  shm::WaitPage* wait_page = nullptr;
  /// Where it says how much it sends and receives past the rings; nullptr in tests.
  shm::LongTraffic* traffic = nullptr;
  /// Who has died; nullptr where nobody tells.
  const shm::Deaths* liveness = nullptr;
  /// Finds out who has died, where the launcher does not; called by whoever has waited for long, again and
  /// again. Null where nobody has to.
  void (*look_around)() = nullptr;
  /// Takes in that a process has died, as another one says; null where all are told by the same.
  void (*hear_of_death)(PeerIndex process, PeerIndex from) = nullptr;
  /// Who counts for --profile and --trace; nullptr where nobody does.
  profile::Recorder* recorder = nullptr;
  /// Ends the job: the engine cannot go on (memory is exhausted in the middle of a receive). Does not return.
  void (*fatal)(Status) = nullptr;
  /// Tells the user something once.
  void (*warn)(const char* text) = nullptr;
  /// A sleeping thread polls this often even if nothing wakes it. Tests set it so long that a lost wake-up
  /// shows.
  uint64_t backstop_ns = 100'000'000;
};

class WaitNote;

/// Says what a wait is for, should it last (p2p/wait_note.h). Refers to a function that lives as long as the
/// wait: a lambda among the arguments of the call.
class Describe {
 public:
  template <class Function>
  Describe(const Function& function)
      : call_([](const void* which, WaitNote& note) { (*static_cast<const Function*>(which))(note); }),
        function_(&function) {}
  void operator()(WaitNote& note) const { call_(function_, note); }

 private:
  void (*call_)(const void* which, WaitNote& note);
  const void* function_;
};

/// Whether a wait is over. Its function lives as long as the wait, and says what is true now, not what it
/// said before: whoever has moved something asks for those that sleep, too, under the library's lock.
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
  int size() const { return static_cast<int>(peers_.size()); }
  uint32_t new_context() { return new_context_(); }

  // Blocking calls. The buffer is `count` elements of `type`.
  Status send(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
              uint32_t context, SendMode mode = SendMode::standard);
  /// `from` may be MPI_ANY_SOURCE, `tag` MPI_ANY_TAG. A longer message is cut and MPI_ERR_TRUNCATE.
  Status receive(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                 uint32_t context, Received* received = nullptr);

  // The usual cases, compiled into the MPI calls (p2p/at_once.h): a message that fits the ring, its data in
  // one piece, nothing queued that would go first. False or nullptr: nothing has been done. `call`: the
  // number of the MPI function, for a profile.
  bool send_at_once(const void* buffer, Count count, const datatype::Type& type, PeerIndex to, int tag,
                    uint32_t context, int call);
  /// Looks at the ring of that sender for a little while. The message is as long as there is room;
  /// `from` is one process.
  bool receive_at_once(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                       uint32_t context, int call);
  /// A posted receive, where no message waits that it might match, and few receives do. Throws nothing.
  Request* post_at_once(void* buffer, Count count, datatype::Type& type, PeerIndex from, int tag,
                        objects::Comm& comm);
  /// The same as receive_at_once() for a receive that has been posted; it is over then, but for the fields
  /// that say so.
  bool receive_posted_at_once(Request& request);
  /// destroy() for what is_plain_receive().
  void destroy_plain(Request& request);

  // Non-blocking calls. The request that comes back may be the shared one that is always complete.
  Status isend(const void* buffer, Count count, datatype::Type& type, PeerIndex to, int tag, uint32_t context,
               Request*& request, SendMode mode = SendMode::standard);
  Status ireceive(void* buffer, Count count, datatype::Type& type, PeerIndex from, int tag, uint32_t context,
                  Request*& request);
  /// Waits until it is complete.
  void await(const Request& request) {
    if (!request.complete) await_incomplete(request);
  }
  /// As a part of what the caller waits for.
  void await(const Request& request, const Describe& describe) {
    if (!request.complete) await_incomplete(request, describe);
  }
  /// The same, returns the outcome, gives the request back and sets it to nullptr.
  Status wait(Request*& request);
  /// The same for all; the first error. nullptr entries are skipped.
  Status wait_all(std::span<Request*> requests);

  // Requests by hand, for persistent ones and for kinds that other layers define.
  Request* make_request(RequestKind kind);
  /// Starts a send or receive that make_request() made and the caller filled in.
  void start(Request& request);
  /// Gives a request back; with `hooks`, their release() is called.
  void destroy(Request* request);
  /// For a request whose handle is gone: destroyed now if complete, else on completion.
  void release(Request* request);
  /// Registers a request whose hooks->advance is to be called by progress().
  void add_hooked(Request& request);
  /// Whether waiting begins with a while of looking only: not where others need this processor.
  bool spins() const { return wait_policy_.spin_ns != 0; }
  /// Has progress() advance it until it is over; not looked at any more then. In the order of these calls.
  void poll(Polled& work);
  /// Hands a request over: it counts in `group` until it is over, and is destroyed then.
  void entrust(Request* request, MessageGroup& group);
  /// Ends an operation. The request may be gone afterwards.
  void complete(Request& request, Status outcome) {
    request.outcome = outcome;
    request.complete = true;
    if (__builtin_expect(request.handle_freed, 0)) destroy_complete(request);
  }
  /// The same from outside of progress(): the user of a request, or a call on it, says that it is over.
  /// Threads that wait hear of it.
  void finish(Request& request, Status outcome);
  /// Wakes the threads that sleep although what they wait for has come. For who brings that about outside of
  /// progress().
  void wake_threads();
  /// Takes a receive back that has not matched; true when it was cancelled.
  bool cancel(Request& request);
  /// A send that was over at once; one object for all.
  Request* completed_send() { return completed_send_; }

  // Probing.
  /// Whether a message is here, as far as progress() has seen to it.
  bool has_come(PeerIndex from, int tag, uint32_t context, Received& received);
  bool iprobe(PeerIndex from, int tag, uint32_t context, Received& received);
  /// Waits for a message, or until none can come.
  Status probe(PeerIndex from, int tag, uint32_t context, Received& received);
  /// Takes the message out of matching; nullptr when there is none.
  UnexpectedMessage* improbe(PeerIndex from, int tag, uint32_t context, Received& received);
  Status mprobe(PeerIndex from, int tag, uint32_t context, Received& received, UnexpectedMessage*& message);
  /// Receives a message that improbe() or mprobe() took into a receive request.
  void start_matched(Request& request, UnexpectedMessage* message);

  /// Moves everything on that can move; whether anything did. Never blocks. Other operations than the
  /// caller's allocate here, so bad_alloc must not reach the caller: the affected request completes with
  /// MPI_ERR_NO_MEM, or, where half a step has been done, the job ends and says for what memory was needed.
  /// Not noexcept: the fatal handler of a test leaves by an exception of its own.
  bool progress();
  /// For calls that look and return (Test, Iprobe): progress(), and every now and then without success the
  /// processor is offered to others when ranks outnumber processors.
  bool progress_once();
  /// Progresses until done() says so: spins, yields, then sleeps. A wait that lasts is shown on the wait
  /// page: describe(WaitNote&) says then what it is for (p2p/wait_note.h), and again when the queues have
  /// changed or some time has passed.
  template <class Done>
  void wait_until(Done&& done, const Describe& describe);
  /// True once nothing of ours is under way: all sends are with their receivers or in the rings, all answers
  /// gone.
  bool quiet() const { return sends_under_way_ == 0 && waiting_peers_.empty() && transport_.quiet(); }

  // Failures (failure.cpp): processes that have died, communicators that were revoked.
  // docs/design/reliability.md.

  /// Looks whether there are more, and ends what cannot be completed any more, with an error; whether
  /// anything moved. Called by waiting loops that have found nothing for a while.
  bool look_for_failures() {
    const bool news = liveness_ != nullptr && liveness_->deaths() != deaths_seen_;
    return __builtin_expect(news || troubled_, 0) && handle_failures();
  }
  /// The deaths that this process has reckoned with: the first so many.
  uint32_t deaths() const { return deaths_seen_; }
  const shm::Deaths* liveness() const { return liveness_; }
  bool is_dead(PeerIndex process) const { return peers_[static_cast<size_t>(process)].dead; }
  /// Whether one of them is dead, as far as this process knows.
  bool has_dead(std::span<const PeerIndex> processes) const;
  /// The same as an error, in the words of a death; ok when there is none.
  Status death_among(std::span<const PeerIndex> processes) const;
  /// MPIX_ERR_PROC_FAILED in the words of its death.
  [[gnu::cold]] Status death_of(PeerIndex process, int error_class) const;
  /// What collective calls come to: an error once a member has died, or the communicator was revoked.
  Status failure_of(const objects::Comm& comm) const;
  /// Whether a message may still come; else the error.
  Status check_source(PeerIndex from, uint32_t context) const;
  /// The outcome of a request that a failure has ended, in its own words.
  [[gnu::cold]] Status reworded(const Request& request) const;
  /// Of a communicator that has just been made: what happened meanwhile counts for it too.
  void examine(objects::Comm& comm);
  /// No operation on it completes any more, on any process (MPIX_Comm_revoke).
  void revoke(objects::Comm& comm);
  /// Messages in a context of their own count as those of a communicator when that is revoked, from now on:
  /// those of a partitioned operation (partitioned.cpp). `home`: any context of the communicator.
  void adopt(uint32_t context, uint32_t home);
  void disown(uint32_t context);
  /// Receives from any source wait on although these deaths, the first so many, were of members.
  void acknowledge(objects::Comm& comm, uint32_t deaths);
  /// Ends the messages of one collective. Pre: a process that takes part is dead; what its calls come to.
  void give_up(uint32_t context, int tag, Status failure);

  /// Looks the limits of every pair up anew, for messages that begin from now on. Each limit is the sender's
  /// alone, so that nobody else has to know.
  void reconsider_protocols();
  /// What the communicator whose first context this is asks for, for its messages beyond the ring that begin
  /// from now on.
  void set_hints(uint32_t context, const tune::Hints& hints);

  Pool<Request>& requests() { return requests_; }
  Pool<Message>& messages() { return messages_; }
  const UnexpectedQueue& unexpected() const { return unexpected_; }
  const PostedQueue& posted() const { return posted_; }
  const EngineCounters& counters() const { return counters_; }
  size_t sends_under_way() const { return sends_under_way_; }
  /// The profile gets what has not been counted yet; nothing where none is wanted.
  void complete_profile();
  /// Slots of rings that this process has written, whatever was in them. Counted when asked, from positions
  /// that come round after 2^32 slots of one ring, so it must be asked more often than that.
  uint64_t slots_sent();
  /// Memory that requests and messages have taken so far.
  size_t pool_bytes() const;

 private:
  friend class WaitNote;

  static constexpr int kCountedCall = -1;  // of a message whose call a profile has already
  /// A wait in which something always moves looks for failures after so many moves.
  static constexpr uint32_t kMovesPerLook = 256;
  static constexpr uint64_t kSleepsPerWatch = 256;
  static constexpr int kNotShown = -1;
  static constexpr int kNoPlace = -2;
  /// Beside Peer where a profile is wanted (profiled.cpp): messages that are still seen one by one, and what
  /// rings have carried unseen.
  struct ProfiledPeer {
    profile::PeerCounts* counts = nullptr;
    uint32_t seen_sends_left = 0;
    uint32_t seen_receives_left = 0;
    uint32_t short_counted_to = 0;
    uint32_t short_counted_from = 0;
    // Short messages that went the slow way, unseen like their neighbours: where the ring goes round, or
    // where its limit came early. Together with those of the shortest way they are what the draws number.
    uint32_t slow_to = 0;
    uint32_t slow_from = 0;
    uint32_t drawn_send = 0;  // the number of the one that is to be looked at
    uint32_t drawn_receive = 0;
  };
  /// Kept by a waiting loop where somebody counts (profiled.cpp).
  struct WatchedWait {
    profile::Wait kind{};
    PeerIndex peer = 0;    // or a negative number: any, or several
    uint64_t look_ns = 0;  // the last look at the clock
    uint64_t idle_ns = 0;  // nothing moved for so long that has not been counted yet
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
    int shown_at = kNotShown;  // entry of the wait page
    bool noted = false;        // end_wait() has something to do
    uint64_t since_ns = 0;     // that nothing has moved
    uint64_t began_ns = 0;
    uint64_t queues_seen = 0;
    uint64_t shown_ns = 0;
    std::optional<WatchedWait> watched = {};
    uint32_t asleep = 0;  // 1: sleeps on this very word, beside the one that leads; a futex
  };

  Peer& know(PeerIndex index) {
    Peer& peer = peers_[static_cast<size_t>(index)];
    if (__builtin_expect(!peer.known, 0)) get_to_know(peer, index);
    return peer;
  }
  [[gnu::cold]] void get_to_know(Peer& peer, PeerIndex index);
  PairProtocol limits_of(PeerIndex index, const Peer& peer, const tune::Hints* hints = nullptr) const;
  /// For a message that does not fit the ring.
  const PairProtocol& limits_for(const MatchKey& key) { return limits_for(key.peer, key.context); }
  const PairProtocol& limits_for(PeerIndex index, uint32_t context) {
    Peer& peer = know(index);
    return __builtin_expect(hinted_.empty(), 1) ? peer.protocol : hinted_limits(index, peer, context);
  }
  const PairProtocol& hinted_limits(PeerIndex index, const Peer& peer, uint32_t context);
  void await_incomplete(const Request& request);
  void await_incomplete(const Request& request, const Describe& describe);
  void destroy_complete(Request& request);
  void leave_group(Request& request);
  void advance_ready();
  bool advance_polled();
  bool advance_hooked();
  [[gnu::cold]] Status too_many_requests() const;
  /// Passes some time, in which other threads may call; true when it has waited so long that it may sleep.
  bool idle(Waiter& waiter);
  /// Sleeps until something comes. Pre: what is waited for was looked at since the lock was given up last.
  void doze(Waiter& waiter);
  void lead(Waiter& waiter);
  void follow(Waiter& waiter);
  static void wake_follower(Waiter& waiter);
  void end_wait(Waiter& waiter);
  /// What is looked at in turn is looked at in another order (base/chaos.h).
  [[gnu::cold]] void shuffle();

  // profiled.cpp: what only --profile and --trace need.
  bool traced() const;
  void look_at_lanes(Peer& peer);
  void note_in_ring(Peer& peer, size_t bytes, PeerIndex to, int tag);
  ProfiledPeer& profiled(const Peer& peer) { return profiled_[static_cast<size_t>(&peer - peers_.data())]; }
  bool is_unseen(const Peer& peer);
  bool sample_send(Peer& peer);
  void expect_sample(Peer& peer);
  void sample_receive(Peer& peer, uint64_t bytes);
  void expect_receive_sample(Peer& peer);
  bool stops_of_itself(Peer& peer);
  void begin_profile(Peer& peer, PeerIndex index);
  [[gnu::noinline]] void meet(PeerIndex from, uint64_t bytes, int tag);
  bool is_drawn(uint32_t packets, uint32_t& drawn);
  void watch_wait(Waiter& waiter, uint64_t now_ns, bool stretch_begins);
  void describe_watched(const Waiter& waiter, WatchedWait& watched);
  void count_wait(WatchedWait& watched) const;
  void end_watched_wait(Waiter& waiter);

  // failure.cpp
  /// Why an operation of this key cannot be completed; ok when it can.
  using Hopeless = std::function<Status(const MatchKey&)>;
  struct Revoked {
    uint32_t block;       // of contexts
    objects::Comm* comm;  // nullptr once it is freed, or as long as it is not made yet
  };
  [[gnu::cold]] bool handle_failures();
  /// Has the transport look after those that receives wait for.
  [[gnu::cold]] void watch_awaited();
  void pass_on(PeerIndex dead);
  void on_died(PeerIndex from, uint32_t process);
  void bury(PeerIndex process);
  [[gnu::cold]] void grow_cell_receivers(size_t cells);
  void note_receiver(int cell, PeerIndex receiver) {
    const auto at = static_cast<size_t>(cell);
    if (__builtin_expect(at >= cell_receivers_.size(), 0)) grow_cell_receivers(at + 1);
    cell_receivers_[at] = receiver;
  }
  void leave_areas_of_dead() const;
  void take_cells_back(PeerIndex process);
  void mark_broken(objects::Comm& comm);
  bool end_receives(const Hopeless& why);
  bool stall_receives();
  void end_sends(const Hopeless& why, bool lent_too);
  void end_receive(Request& request, PeerIndex from, Status status);
  void end_unstarted(Request& request, Status status);
  void end_send(Request& request, Status status);
  Status receive_hopeless(const MatchKey& key) const;
  Status check_destination(PeerIndex to, uint32_t context) const;
  uint32_t home_of(uint32_t context) const;
  const Revoked* revoked(uint32_t context) const;
  Revoked& note_revoked(uint32_t context);
  void on_revoked(PeerIndex from, uint32_t context);
  void take_detours(objects::Comm& comm);
  void tell_revoked(const Revoked& revoked);
  void end_revoked(const Revoked& revoked);
  void drop_unexpected(uint32_t block);
  bool drop_unexpected_once(uint32_t block);
  void forget_freed();
  /// What answers to a send name it by.
  static uint32_t cookie_of(const Request& request) {
    return request.slot | static_cast<uint32_t>(request.epoch) << kSlotBits;
  }
  uint32_t issue_cookie(Request& request) const {
    request.epoch = epoch_;
    return cookie_of(request);
  }
  static constexpr int kSlotBits = 24;

  // wait_note.cpp
  void show_wait(Waiter& waiter, uint64_t now_ns);
  void hide_wait(const Waiter& waiter);
  void show_queues();
  void note_polling();
  void end_polling();

  // send.cpp
  bool send_in_ring(Peer& peer, const void* buffer, const datatype::Type& type, int64_t bytes, PeerIndex to,
                    uint8_t flags, uint32_t cookie, uint64_t match, Status& status);
  bool send_lines_at_once(Peer& peer, const void* buffer, const datatype::Type& type, uint64_t bytes,
                          PeerIndex to, uint64_t match, int call);
  bool burdened(Peer& peer, PeerIndex to);
  void settle(Peer& peer);
  /// False when the ring has no room.
  bool try_start_send(Request& request);
  void start_send(Request& request);
  bool start_rendezvous(Request& request, Peer& peer, int64_t bytes, bool held);
  SendStream* make_send_stream();
  void complete_send(Request& request, Status outcome);
  void list_waiting(PeerIndex peer);
  bool serve_waiting_peers();
  void answer(PeerIndex to, PacketKind kind, uint8_t flags, uint32_t cookie);
  bool try_answer(PeerIndex to, const Answer& answer);
  Request* request_of(uint32_t cookie, PeerIndex from);

  // receive.cpp
  static void handle(void* engine, PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  void on_eager(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  void keep_unexpected(const MatchKey& key, const shm::PacketHeader& header, const std::byte* payload);
  bool take_at_once(shm::RingReader& lane, void* buffer, const datatype::Type& type, uint64_t bytes,
                    uint64_t match, int call);
  bool take_lines_at_once(shm::RingReader& lane, std::byte* to, uint64_t bytes, uint64_t match, int call);
  bool receive_from_lane(void* buffer, Count count, const datatype::Type& type, PeerIndex from, int tag,
                         uint32_t context, int64_t& bytes);
  void post(Request& request);
  void deliver(Request& request, UnexpectedMessage* message);
  void deliver_bytes(Request& request, PeerIndex from, int tag, const std::byte* payload, int64_t bytes);
  void complete_receive(Request& request, PeerIndex from, int tag, int64_t bytes) {
    const int64_t room = request.count * request.type->size;
    request.from = from;
    request.received_tag = tag;
    request.received_bytes = bytes <= room ? bytes : room;
    complete(request, __builtin_expect(bytes <= room, 1) ? Status() : truncation(request, from, tag, bytes));
  }
  void forget(UnexpectedMessage* message);
  /// Of one in the queue, which nobody will receive.
  void discard(UnexpectedMessage* message);
  Status truncation(const Request& request, PeerIndex from, int tag, int64_t bytes) const;
  void on_damage(PeerIndex from, const shm::PacketHeader& header);
  [[noreturn, gnu::cold]] void out_of_memory(const char* what, size_t bytes, PeerIndex peer) const;
  /// For what is no message.
  [[noreturn, gnu::cold]] void out_of_memory(const char* what) const;

  // stream.cpp
  void on_rendezvous(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  void on_part(PeerIndex from, uint32_t cookie, const CellPart& part);
  void note_home(PeerIndex from, const CellPart& part);
  PeerIndex owner_of(PeerIndex from, const CellPart& part) const {
    return part.cell & kCellOfReceiver ? self_ : from;
  }
  static int number_of(const CellPart& part) { return static_cast<int>(part.cell & ~kCellOfReceiver); }
  void on_fragment(PeerIndex from, uint32_t cookie, const std::byte* payload, size_t bytes);
  void attach(ReceiveStream& stream, Request& request, int tag);
  void announce(ReceiveStream& stream, int64_t bytes) const;
  void keep_part(ReceiveStream& stream, const CellPart& part) const;
  void take_part(ReceiveStream& stream, const CellPart& part);
  [[noreturn, gnu::cold]] void refuse_part(PeerIndex from, const CellPart& part) const;
  /// Of a message that is not received.
  void return_part(PeerIndex from, const CellPart& part);
  void take_bytes(ReceiveStream& stream, const std::byte* data, int64_t bytes);
  void has_come(ReceiveStream& stream);
  void finish_if_whole(ReceiveStream& stream);
  ReceiveStream* stream_of(PeerIndex from, uint32_t cookie);
  bool push(SendStream& stream);
  void retire(SendStream& stream);
  bool fill_part(SendStream& stream, CellPart& part);
  void recall(SendStream& stream);
  void on_recall(PeerIndex from, uint32_t cookie);
  int take_cells(SendStream& stream, int64_t& bytes);
  bool push_fragment(SendStream& stream);
  bool push_buffer(SendStream& stream);
  bool await_buffer(ReceiveStream& stream);
  bool on_buffer_came(PeerIndex from, uint32_t slot);
  void end_stream(SendStream& stream);
  void let_go(SendStream& stream);
  bool on_clear_to_send(Request& request, uint8_t flags);

  // meanwhile.cpp: what can wait until this process waits.
  static int64_t withheld_bytes_max(size_t part_bytes_max, int processes);
  static int64_t kept_bytes_max(size_t part_bytes_max, int processes);
  void note_sent(PeerIndex to, int64_t bytes);
  void give_back(PeerIndex from, const CellPart& part);
  void give_back_now();
  void give_back_kept(PeerIndex peer);
  void do_chores();

  // single_copy.cpp
  static bool cells_hold(const PairProtocol& limits, uint64_t bytes);
  static bool offers_arena(Peer& peer);
  uint8_t offer(const Request& request, Peer& peer, uint64_t bytes, uint64_t& address);
  enum class Copied : uint8_t { whole, by_sender, not_now, never };
  Copied copy_from_sender(ReceiveStream& stream, const Request& request);
  Copied copy_by_method(ReceiveStream& stream, std::byte* to, size_t bytes);
  bool copy_from_arena(ReceiveStream& stream, const Request& request, size_t bytes);
  bool copy_together(const ReceiveStream& stream, uint64_t to, uint8_t flags, size_t bytes,
                     const single_copy::PieceSizes& sizes, single_copy::Copier& copier);
  bool invite(const ReceiveStream& stream, const Invitation& invitation, uint8_t flags);
  bool on_written(PeerIndex from, uint32_t cookie, uint8_t flags);

  // help.cpp
  int place_of(PeerIndex index) const {
    return places_.empty() ? static_cast<int>(index) : places_[static_cast<size_t>(index)];
  }
  single_copy::Method* reader_of(PeerIndex index, Peer& peer);
  single_copy::Method* writer_of(PeerIndex index, Peer& peer);
  shm::CopyDesk* visited(PeerIndex index, const single_copy::Method& method) const;
  bool on_invitation(Request& request, uint8_t flags, const std::byte* payload);
  bool follow_invitation(Request& request, uint8_t flags, const Invitation& invitation);
  bool help_in_arena(const Request& request, const Invitation& invitation);
  void help_by_method(const Request& request, const Invitation& invitation);
  uint8_t write_alone(const Request& request, const Invitation& invitation);

  const PeerIndex self_;
  transport::Transport& transport_;
  const WaitPolicy wait_policy_;
  const std::function<topo::Relation(PeerIndex)> relation_;
  const std::function<uint32_t()> new_context_;
  shm::Arena* const arena_;
  const std::function<shm::CopyDesk*(PeerIndex)> desk_;
  const std::vector<int> places_;
  const std::vector<single_copy::Method*> methods_;
  shm::WaitPage* const wait_page_;
  shm::LongTraffic* const traffic_;
  const shm::Deaths* const liveness_;
  void (*const look_around_)();
  void (*const hear_of_death_)(PeerIndex process, PeerIndex from);
  profile::Recorder* const recorder_;
  void (*const fatal_)(Status);
  void (*const warn_)(const char* text);
  const uint64_t backstop_ns_;
  bool damage_told_ = false;
  uint64_t unexpected_kib_max_;
  size_t packet_bytes_max_;
  bool skew_aware_;
  bool fresh_pages_;  // populated ahead of the copy
  bool keep_cells_;
  const int64_t kept_bytes_max_;  // of one peer

  std::vector<Peer> peers_;
  std::vector<ProfiledPeer> profiled_;  // empty without a recorder
  /// Communicators with thresholds of their own, by their block of contexts; limits by peer, once known.
  struct Hinted {
    uint32_t block;
    tune::Hints hints;
    std::vector<std::optional<PairProtocol>> limits;
  };
  std::vector<Hinted> hinted_;
  PostedQueue posted_;
  UnexpectedQueue unexpected_;
  Pool<Request> requests_{size_t{1} << kSlotBits};
  Pool<Message> messages_{size_t{1} << 16};
  Pool<UnexpectedMessage> unexpected_pool_;
  Pool<SendStream> send_streams_;
  Pool<ReceiveStream> receive_streams_;
  std::vector<SendStream*> sending_;
  std::vector<PeerIndex> waiting_peers_;  // with answers or a backlog
  std::vector<Polled*> polled_;
  Request* hooked_ = nullptr;
  Request* ready_ = nullptr;  // whose group of messages has come down to what it waits for
  Request* completed_send_ = nullptr;
  size_t sends_under_way_ = 0;
  uint32_t deaths_seen_ = 0;
  bool troubled_ = false;                  // somebody has died, or something was revoked
  bool detours_ = chaos::wants_detours();  // no message takes the shortest way: also while a revoked
                                           // communicator is in use
  uint8_t epoch_ = 1;                      // changes when sends end of which others may still speak; never 0
  std::vector<Revoked> revoked_;
  struct Adopted {
    uint32_t block;
    uint32_t home;  // the block of the communicator
  };
  std::vector<Adopted> adopted_;
  std::vector<PeerIndex> cell_receivers_;  // by own cell, of those that were sent
  uint32_t fruitless_ = 0;                 // calls of progress_once in a row that moved nothing
  uint64_t polling_since_ns_ = 0;          // the first of them at which the clock was read; 0: none
  bool polling_shown_ = false;             // on the wait page
  uint64_t polling_queues_seen_ = 0;
  const MatchKey* probed_for_ = nullptr;  // by the probe that polls just now
  // Threads that sleep: one leads, which others wake where there is news; the rest follow, woken by whoever
  // has ended what they wait for, or to lead.
  Waiter* leader_ = nullptr;
  std::vector<Waiter*> followers_;
  int unminded_ = 0;  // receive_from_lane() since the last progress()
  EngineCounters counters_;
  uint32_t chance_ = 1;               // of is_drawn()
  uint64_t posted_lines_ = 0;         // posted receives that take_lines_at_once() has served, while profiled
  std::vector<uint32_t> slots_seen_;  // by peer, at the last call of slots_sent()
  uint64_t slots_sent_ = 0;

  // meanwhile.cpp
  static constexpr int kChoresMax = 8;
  struct EmptiedCells {
    PeerIndex from;  // who filled them
    CellPart part;
  };
  struct Sent {
    PeerIndex to;
    int64_t bytes;
  };
  bool has_chores_ = false;
  int emptied_count_ = 0;
  int sent_count_ = 0;
  int64_t emptied_bytes_ = 0;
  const int64_t emptied_bytes_max_;
  size_t cells_ahead_bytes_ = 0;
  std::array<EmptiedCells, kChoresMax> emptied_;
  std::array<Sent, kChoresMax> sent_;
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
      if (++waiter.moves % kMovesPerLook == 0) look_for_failures();
      LibraryLock::breathe();
    } else if (idle(waiter) && !done()) {  // another thread may have seen to it in idle()
      doze(waiter);
    }
  }
  if (__builtin_expect(waiter.noted, 0)) end_wait(waiter);
} catch (const std::bad_alloc&) {
  // What is waited for uses the caller's buffers: the wait cannot be left.
  out_of_memory("a wait");
}

}  // namespace hearth::p2p
