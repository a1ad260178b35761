// Errors that end the job: memory is exhausted in the middle of an operation of another process or caller,
// which can neither be repeated nor left out. Used by all parts of the engine; the handler does not return.
#pragma once

#include <cstddef>

#include "base/peer_index.h"
#include "base/status.h"
#include "p2p/match.h"

namespace hearth::p2p {

class FatalErrors {
 public:
  /// `unmatched`: the unexpected queue, whose length the text names.
  FatalErrors(PeerIndex self, void (*fatal)(Status), const MatchQueue& unmatched)
      : self_(self), fatal_(fatal), unmatched_(unmatched) {}

  /// For memory of a message with `peer`.
  [[noreturn, gnu::cold]] void out_of_memory(const char* what, size_t bytes, PeerIndex peer) const;
  /// For memory that belongs to no single message.
  [[noreturn, gnu::cold]] void out_of_memory(const char* what) const;

 private:
  const PeerIndex self_;
  void (*const fatal_)(Status);
  const MatchQueue& unmatched_;
};

}  // namespace hearth::p2p
