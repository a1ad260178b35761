#include "abi/pool_places.h"

#include "datatype/pool.h"
#include "objects/pools.h"
#include "p2p/engine.h"

namespace hearth::abi {
namespace {

const std::byte* const no_objects = nullptr;

template <class Object>
PoolPlace place_of(const Pool<Object>& pool) {
  return {&pool.base(), sizeof(Object)};
}

}  // namespace

// In the order of PoolKind.
PoolPlace pool_places[] = {
    place_of(objects::pools.comms),       place_of(objects::pools.groups),
    place_of(objects::pools.infos),       place_of(objects::pools.ops),
    place_of(objects::pools.errhandlers), place_of(objects::pools.sessions),
    place_of(objects::pools.wins),        place_of(datatype::pool),
    {&no_objects, sizeof(p2p::Request)},  {&no_objects, sizeof(p2p::Message)},
};
static_assert(sizeof pool_places / sizeof pool_places[0] == static_cast<size_t>(PoolKind::count_));

void publish_pools(p2p::Engine& engine) {
  pool_places[static_cast<int>(PoolKind::request)] = place_of(engine.requests().pool());
  pool_places[static_cast<int>(PoolKind::message)] = place_of(engine.matching().messages());
}

}  // namespace hearth::abi
