// The pools of the objects of MPI handles, one per type, and the table of predefined objects.
//
// Globals that are ready before main. Accessed under the library's lock.
#pragma once

#include "base/immortal.h"
#include "base/pool.h"
#include "objects/comm.h"
#include "objects/errhandler.h"
#include "objects/file.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/op.h"
#include "objects/session.h"
#include "objects/win.h"

namespace hearth::objects {

/// Predefined handles of the ABI are below this limit; user handles are addresses.
inline constexpr uint32_t kPredefinedLimit = 1024;

struct Pools {
  Pool<Comm> comms{size_t{1} << 20};
  Pool<Group> groups{size_t{1} << 20};
  Pool<Info> infos{size_t{1} << 20};
  Pool<Op> ops{size_t{1} << 16};
  Pool<Errhandler> errhandlers{size_t{1} << 16};
  Pool<Session> sessions{size_t{1} << 16};
  Pool<Win> wins{size_t{1} << 16};
  Pool<File> files{size_t{1} << 16};

  /// Predefined objects by the ABI's constant, including datatypes and messages. nullptr for NULL handles and
  /// for unused constants; MPI_Init sets MPI_COMM_WORLD and MPI_COMM_SELF.
  Object* predefined[kPredefinedLimit] = {};
};

inline constinit Immortal<Pools> immortal_pools;
inline constinit Pools& pools = immortal_pools.value;

}  // namespace hearth::objects
