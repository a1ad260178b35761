// Buffered sends (MPI 5.0 section 3.6): messages are copied into memory that the user provides and sent from
// there.
//
// Each message is packed into the buffer first. Its block is free again once the message has been sent. A
// buffer belongs to the process, to a communicator or to a session. Used under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/counts.h"
#include "base/status.h"
#include "p2p/engine.h"

namespace hearth::p2p {

class SendBuffer {
 public:
  bool attached() const { return attached_; }
  /// `memory` is `bytes` long, or MPI_BUFFER_AUTOMATIC: the library allocates memory as needed.
  Status attach(void* memory, int64_t bytes);
  /// Waits until every message has been sent, then returns the memory to the user.
  Status detach(Engine& engine, void*& memory, int64_t& bytes);
  /// Waits until every message has been sent.
  void flush(Engine& engine);
  /// Whether every message has been sent.
  bool idle(Engine& engine);

  /// Never waits for the receiver. MPI_ERR_BUFFER if the buffer has no room.
  Status send(Engine& engine, const void* buffer, Count count, const datatype::Type& type, PeerIndex to,
              int tag, uint32_t context);

 private:
  struct Block {
    int64_t offset;
    int64_t bytes;
    Request* request;
    std::byte* own;  // with MPI_BUFFER_AUTOMATIC: from malloc
  };
  void reclaim(Engine& engine);
  int64_t find_room(int64_t bytes) const;

  bool attached_ = false;
  bool automatic_ = false;
  std::byte* memory_ = nullptr;
  int64_t bytes_ = 0;
  std::vector<Block> blocks_;  // by offset
};

}  // namespace hearth::p2p
