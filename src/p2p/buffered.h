// Buffered sends (MPI 5.0 section 3.6): memory that the user lends, out of which messages are sent.
//
// The bytes of a message are copied into the buffer only when they cannot go into the ring at once. A buffer
// belongs to the process, to a communicator or to a session. Used under the library's lock.
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
  /// `memory` is `bytes` long, or MPI_BUFFER_AUTOMATIC: the library takes memory as needed.
  Status attach(void* memory, int64_t bytes);
  /// Waits until every message has left, then gives the memory back to the user.
  Status detach(Engine& engine, void*& memory, int64_t& bytes);
  /// Waits until every message has left.
  void flush(Engine& engine);
  /// Whether every message has left.
  bool idle(Engine& engine);

  /// Sends without ever waiting for the receiver. MPI_ERR_BUFFER when there is no room.
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
