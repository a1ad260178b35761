// Invalid packets: only a stray write into the shared segment produces one. An answer that refers to no
// pending send is dropped, because no operation waits for it. Any other invalid packet ends the job, because
// the message that it replaced would be missing.
#pragma once

#include "p2p/envelope.h"
#include "shm/ring.h"

namespace hearth::p2p {

class PacketDamage {
 public:
  /// `warn`: prints a warning for the user.
  PacketDamage(PeerIndex self, void (*warn)(const char* text)) : self_(self), warn_(warn) {}

  /// Reports an invalid packet; an answer only once, and not if `answers_expected`: after a failure, answers
  /// to the sends that it ended still arrive.
  void report(PeerIndex from, const shm::PacketHeader& header, bool answers_expected);

 private:
  const PeerIndex self_;
  void (*const warn_)(const char* text);
  bool reported_ = false;
};

}  // namespace hearth::p2p
