// Ends operations after the death of a process or the revocation of a communicator.
//
// Waiting loops that have found nothing for a while check for failures; the message path never does. Each
// death is handled once: the packets that the process sent before are received, every operation that needs
// the process ends with an error, and its bounce buffers are reclaimed. From then on each check also ends
// receives that were posted later. Collectives need all members, so those of a communicator with a dead
// member end too (coll/schedule.cpp).
//
// A revocation is a packet to every member, and each member that receives it forwards it to all others. So
// all live members receive it, whichever processes die. The packet also means that its sender no longer
// accesses buffers exposed for that communicator.
//
// Owned by the engine, under the library's lock. docs/design/reliability.md.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "objects/comm.h"
#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/eager_path.h"
#include "p2p/failure_record.h"
#include "p2p/long_receives.h"
#include "p2p/long_sends.h"
#include "p2p/matching.h"
#include "p2p/memory_access.h"
#include "p2p/request_table.h"
#include "p2p/sleeping_threads.h"
#include "transport/transport.h"

namespace hearth::p2p {

class FailureHandler {
 public:
  struct Parts {
    transport::Transport& transport;
    Matching& matching;
    RequestTable& requests;
    FailureRecord& failures;
    Answers& answers;
    EagerPath& eager;
    BounceBuffers& buffers;
    MemoryAccess& access;
    LongSends& sends;
    LongReceives& receives;
    SleepingThreads& threads;
    const FatalErrors& errors;
    /// Handles the packets that have arrived.
    void (*poll)(void* owner);
    void* owner;
    /// Records the death of a process that another one reported. Null if all processes read the same
    /// registry.
    void (*record_death)(PeerIndex process, PeerIndex from);
  };
  FailureHandler(PeerIndex self, const Parts& parts);

  /// Checks for new failures and ends operations that cannot complete any more, with an error; returns
  /// whether anything changed. Called by waiting loops that have found nothing for a while.
  bool poll() {
    const bool any = failures_.has_news() || failures_.any() || requests_.any_unsent();
    return __builtin_expect(any, 0) && handle();
  }
  /// Applies earlier deaths and revocations to a communicator that has just been created.
  void examine(objects::Comm& comm);
  /// Revokes a communicator: its operations end with an error, on all processes (MPIX_Comm_revoke).
  void revoke(objects::Comm& comm);
  /// Called by a process that has no memory for its part of a collective: revokes the communicator, so that
  /// the other processes do not wait for this one. Ends the job if there is no memory for that either.
  [[gnu::cold]] void abandon(objects::Comm& comm);
  /// Acknowledges the first `deaths` deaths: receives from any source on `comm` continue despite them.
  void acknowledge(objects::Comm& comm, uint32_t deaths);
  /// Ends the messages of one collective with the error `failure`. Pre: a participating process is dead.
  void give_up(uint32_t context, int tag, Status failure);

  /// Drops the unexpected messages of a process that is forgotten.
  void drop_messages_from(PeerIndex process);

  // Packets.
  void on_died(PeerIndex from, uint32_t process);
  void on_revoked(PeerIndex from, uint32_t context);

 private:
  /// The requests to end. Failures are also handled in calls that have no memory, so the memory is kept from
  /// one list to the next; a list that is made while there is another one starts without.
  class Ended {
   public:
    explicit Ended(std::vector<Request*>& kept) : kept_(kept), requests(std::move(kept)) {}
    ~Ended() {
      requests.clear();
      if (requests.capacity() > kept_.capacity()) kept_.swap(requests);
    }
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;

   private:
    std::vector<Request*>& kept_;

   public:
    std::vector<Request*> requests;
  };
  /// The reason why an operation with this key cannot complete; ok if it can.
  using Hopeless = std::function<Status(const MatchKey&)>;

  [[gnu::cold]] bool handle();
  bool abandon_unsent();
  void pass_on(PeerIndex dead);
  void reap(PeerIndex process);
  void leave_regions_of_dead() const;
  void close_if_broken(objects::Comm& comm);
  bool end_receives(const Hopeless& why);
  bool stall_receives();
  void end_sends(const Hopeless& why, bool exposed_too);
  FailureRecord::Revoked& note_revoked(uint32_t context);
  void disable_fast_path(objects::Comm& comm);
  void send_revoked(const FailureRecord::Revoked& revoked);
  void end_revoked(const FailureRecord::Revoked& revoked);
  void drop_unexpected(uint32_t block);
  bool drop_unexpected_once(uint32_t block);
  void drop(UnexpectedMessage& message);
  void forget_freed();

  const PeerIndex self_;
  transport::Transport& transport_;
  Matching& matching_;
  RequestTable& requests_;
  FailureRecord& failures_;
  Answers& answers_;
  EagerPath& eager_;
  BounceBuffers& buffers_;
  MemoryAccess& access_;
  LongSends& sends_;
  LongReceives& receives_;
  SleepingThreads& threads_;
  const FatalErrors& errors_;
  void (*const poll_)(void* owner);
  void* const owner_;
  void (*const record_death_)(PeerIndex process, PeerIndex from);
  std::vector<Request*> kept_;
};

}  // namespace hearth::p2p
