#include "transport/transport.h"

#include "transport/local_path.h"

namespace hearth::transport {

// Objects without state, shared by all transports that lack the ability.

BounceBuffers& Transport::bounce_buffers() {
  static BounceBuffers none;
  return none;
}

BufferTransfers& Transport::buffer_transfers() {
  static BufferTransfers none;
  return none;
}

LocalPath& Transport::local_path() {
  static LocalPath none;
  return none;
}

}  // namespace hearth::transport
