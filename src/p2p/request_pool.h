// The pools behind request and message handles, which the engine owns.
#pragma once

#include "p2p/engine.h"

namespace hearth::p2p {

/// Pre: between MPI_Init and MPI_Finalize.
inline Pool<Request>& request_pool() {
  return engine().requests().pool();
}
inline Pool<Message>& message_pool() {
  return engine().matching().messages();
}

}  // namespace hearth::p2p
