// Addresses of the pools of objects, for facades that derive handles from slot numbers (src/facade).
#pragma once

#include "facade_core.h"

namespace hearth::p2p {
class Engine;
}

namespace hearth::abi {

/// Indexed by PoolKind. Requests and messages: without objects until publish_pools().
extern PoolPlace pool_places[];

/// Publishes the pools of the engine. Called once, by the first MPI_Init or MPI_Session_init.
void publish_pools(p2p::Engine& engine);

}  // namespace hearth::abi
