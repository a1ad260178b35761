// Probing (MPI 5.0 section 3.8): whether a message has arrived, without or with taking it.
//
// `Host` as in waiting.h. Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "p2p/failure_record.h"
#include "p2p/matching.h"
#include "p2p/received.h"
#include "p2p/wait_diagnostics.h"
#include "p2p/waiting.h"

namespace hearth::p2p {

template <class Host>
class Probes {
 public:
  Probes(Matching& matching, const FailureRecord& failures, Waiting<Host>& waiting)
      : matching_(matching), failures_(failures), waiting_(waiting) {}

  /// Whether a matching message is in the unexpected queue. Does not progress.
  bool has_come(PeerIndex from, int tag, uint32_t context, Received& received) {
    if (__builtin_expect(failures_.any(), 0) && failures_.revoked(context) != nullptr) return false;
    const UnexpectedMessage* message = matching_.find({context, from, tag});
    if (message == nullptr) return false;
    received = {message->key.peer, message->key.tag, message->bytes};
    return true;
  }

  bool iprobe(PeerIndex from, int tag, uint32_t context, Received& received) {
    if (has_come(from, tag, context, received)) return true;
    const MatchKey key = {context, from, tag};
    return waiting_.once(&key) && has_come(from, tag, context, received);
  }

  /// Waits until a message matches, or fails if none can arrive any more.
  Status probe(PeerIndex from, int tag, uint32_t context, Received& received) {
    const MatchKey key = {context, from, tag};
    const UnexpectedMessage* message = nullptr;
    Status status;
    waiting_.until(
        [&] {
          status = {};
          message = matching_.find(key);
          if (__builtin_expect(failures_.any(), 0) &&
              (message == nullptr || failures_.revoked(context) != nullptr)) {
            status = failures_.check_source(from, context);
          }
          return message != nullptr || !status.ok();
        },
        [&key](WaitDiagnostics& note) { note.probe(key); });
    HEARTH_TRY(status);
    received = {message->key.peer, message->key.tag, message->bytes};
    return {};
  }

  /// Removes a matching message from the unexpected queue; nullptr if there is none.
  UnexpectedMessage* improbe(PeerIndex from, int tag, uint32_t context, Received& received) {
    return iprobe(from, tag, context, received) ? matching_.take({context, from, tag}) : nullptr;
  }

  /// probe(), and removes the message.
  Status mprobe(PeerIndex from, int tag, uint32_t context, Received& received, UnexpectedMessage*& message) {
    HEARTH_TRY(probe(from, tag, context, received));
    message = matching_.take({context, from, tag});
    return {};
  }

 private:
  Matching& matching_;
  const FailureRecord& failures_;
  Waiting<Host>& waiting_;
};

}  // namespace hearth::p2p
