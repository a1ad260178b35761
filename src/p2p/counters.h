// Counters beyond those of queues and pools. The fast path does not count.
#pragma once

#include <cstdint>

namespace hearth::p2p {

struct EngineCounters {
  uint64_t long_messages_sent = 0;  // by rendezvous: sent in fragments, or copied by the receiver
  uint64_t long_bytes_sent = 0;
  uint64_t long_bytes_received = 0;
  uint64_t single_copies = 0;  // made by this process as the receiver
  uint64_t single_copy_bytes = 0;
  uint64_t cooperative_requests = 0;    // to senders: to join a copy, or to write the message
  uint64_t bytes_copied_by_sender = 0;  // copied by this process as the sender: cooperatively or alone
  uint64_t sleeps = 0;                  // of waiting calls
};

}  // namespace hearth::p2p
