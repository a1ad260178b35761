// What a wait is for, written to the rank's wait page (shm/wait_page.h) once it has lasted. Given to the
// function that a waiting call hands to Engine::wait_until, by the waiting thread, under the library's lock:
// a rank that has waited for so long has time.
#pragma once

#include <cstdint>
#include <string_view>

#include "p2p/engine.h"
#include "shm/wait_page.h"

namespace hearth::p2p {

/// The communicator that a context belongs to; nullptr when there is none here (any more).
objects::Comm* comm_of(uint32_t context);

class WaitNote {
 public:
  /// Pre: the page is being written.
  WaitNote(Engine& engine, shm::WaitPage& page, shm::WaitEntry& entry);
  /// For the waiting process itself: on no page, so that communicators are not looked up.
  WaitNote(Engine& engine, shm::WaitEntry& entry);

  /// One of the operations suffices; otherwise all are waited for.
  void any_suffices() { entry_.any_suffices = 1; }
  /// An operation that is not complete.
  void request(const Request& request);
  void probe(const MatchKey& key);
  /// A collective call; then who has not come as far as this process.
  void collective(uint32_t context, std::string_view name = {});
  /// Of the collective that was noted last.
  void root(int rank);
  void missing(PeerIndex process);
  /// A call that the peer has to make: "MPI_Win_post".
  void call(uint32_t context, PeerIndex peer, std::string_view name);
  /// That the peer progresses, in any call.
  void progress(uint32_t context, PeerIndex peer);
  /// The lock of the target's part of a window; then missing() for each known holder. `holders`: their
  /// number, 0 if it is not known.
  void lock(uint32_t context, PeerIndex target, uint64_t holders);
  /// The other sides of a collective's messages that are under way.
  void missing_in_messages(uint32_t context, int tag);
  /// Requests without a handle that are left on a communicator.
  void left_requests(const objects::Comm& comm);
  /// The end of MPI: sends that are not over.
  void finalize();
  /// A program that looks again and again: at all requests that it has under way, or at a probe.
  void polling(const MatchKey* probed_for);

 private:
  void kind(shm::WaitKind kind);
  void named(shm::WaitKind which, uint32_t context, PeerIndex peer, std::string_view name);
  void operation(shm::WaitKind kind, const MatchKey& key, uint64_t bytes, const datatype::Type* type);
  template <class Function>
  void for_requests(const Function& function) const;

  Engine& engine_;
  shm::WaitPage* page_ = nullptr;
  shm::WaitEntry& entry_;
};

}  // namespace hearth::p2p
