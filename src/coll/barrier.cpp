#include "coll/channel.h"
#include "coll/coll.h"

namespace hearth::coll {

// Dissemination: after round k every rank has heard, through others, of the 2^k ranks before it.
Status barrier(Comm& comm) {
  const Channel channel(comm, Tag::barrier);
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    HEARTH_TRY(channel.signal(channel.neighbor(distance), channel.neighbor(-distance)));
  }
  return {};
}

}  // namespace hearth::coll
