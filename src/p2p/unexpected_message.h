// A message that arrived before its receive was posted. Eager payloads of one line are stored inside. The
// data of a long message belong to `stream`, which matching does not look into.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/match.h"
#include "shm/ring.h"

namespace hearth::p2p {

struct ReceiveStream;

struct UnexpectedMessage : MatchMessage {
  UnexpectedMessage() {}  // NOLINT(modernize-use-equals-default): see MatchEntry

  uint32_t slot;
  uint32_t alive;

  uint8_t flags = 0;
  uint32_t cookie = 0;
  int64_t bytes = 0;
  ReceiveStream* stream = nullptr;  // of a long message
  std::byte* payload = nullptr;     // of an eager one: `own` or a block of malloc
  std::byte own[shm::kLineBytes - shm::kHeaderBytes];

  /// Memory that the message takes in this process; flow control counts it.
  int64_t memory_bytes() const {
    return static_cast<int64_t>(sizeof(UnexpectedMessage)) + (stream == nullptr ? bytes : 0);
  }
};

}  // namespace hearth::p2p
