// Wait diagnostics: what a call waits for, published in the rank's block of the segment (shm/wait_record.h)
// once the wait has lasted. A waiting call passes a function to Engine::wait_until(), and the waiting thread
// calls it with a WaitDiagnostics, under the library's lock. The cost does not matter: the rank has been
// waiting for long.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/pool.h"
#include "objects/comm.h"
#include "p2p/match.h"
#include "p2p/request.h"
#include "shm/wait_record.h"

namespace hearth::p2p {

/// Publishes the communicator of a queued message or receive, and returns its entry.
shm::QueuedMessage show_queued(shm::WaitRecord& record, const MatchKey& key, uint64_t bytes);

class WaitDiagnostics {
 public:
  /// `requests`: all requests of the process. Pre: a Writing of the record exists (wait_publisher.cpp).
  WaitDiagnostics(const Pool<Request>& requests, shm::WaitRecord& record, shm::WaitEntry& entry);
  /// Without a record, for use by the waiting process itself: communicators are not looked up.
  WaitDiagnostics(const Pool<Request>& requests, shm::WaitEntry& entry);

  /// The wait ends with any one of the operations; by default it needs all.
  void any_suffices() { entry_.any_suffices = 1; }
  /// Adds an operation that is not complete.
  void request(const Request& request);
  void probe(const MatchKey& key);
  /// Adds a collective call; then missing() for each process that has not come as far as this one.
  void collective(uint32_t context, std::string_view name = {});
  /// Sets the root of the collective that was added last.
  void root(int rank);
  void missing(PeerIndex process);
  /// Adds a call that the peer has to make: "MPI_Win_post".
  void call(uint32_t context, PeerIndex peer, std::string_view name);
  /// Adds the peer's progress, in any call.
  void progress(uint32_t context, PeerIndex peer);
  /// Adds the lock of the target's part of a window; then missing() for each known holder. `holders`: their
  /// number, 0 if it is not known.
  void lock(uint32_t context, PeerIndex target, uint64_t holders);
  /// Adds a system call on a file, such as "write"; `bytes` may be 0. `context`: of the file's communicator.
  void file(uint32_t context, std::string_view name, uint64_t bytes);
  /// Adds the peers of a collective's pending messages as missing.
  void missing_in_messages(uint32_t context, int tag);
  /// Adds requests without a handle that are left on a communicator.
  void left_requests(const objects::Comm& comm);
  /// The end of MPI: adds the sends that are not complete.
  void finalize();
  /// A program that polls: adds all its pending requests, or the probe.
  void polling(const MatchKey* probed_for);

 private:
  void kind(shm::WaitKind kind);
  void named(shm::WaitKind which, uint32_t context, PeerIndex peer, std::string_view name);
  void operation(shm::WaitKind kind, const MatchKey& key, uint64_t bytes, const datatype::Type* type);
  template <class Function>
  void for_requests(const Function& function) const;

  const Pool<Request>& requests_;
  shm::WaitRecord* record_ = nullptr;
  shm::WaitEntry& entry_;
};

}  // namespace hearth::p2p
