// Where the objects behind MPI handles live: one pool for each type, and the table of predefined objects.
//
// Globals of the process, ready before main. Users of the pools hold the library's lock.
#pragma once

#include "base/immortal.h"
#include "base/pool.h"
#include "objects/comm.h"
#include "objects/errhandler.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/op.h"
#include "objects/session.h"
#include "objects/win.h"

namespace hearth::objects {

/// Predefined handles of the ABI lie below; user handles are addresses.
inline constexpr uint32_t kPredefinedLimit = 1024;

struct Pools {
  Pool<Comm> comms{size_t{1} << 20};
  Pool<Group> groups{size_t{1} << 20};
  Pool<Info> infos{size_t{1} << 20};
  Pool<Op> ops{size_t{1} << 16};
  Pool<Errhandler> errhandlers{size_t{1} << 16};
  Pool<Session> sessions{size_t{1} << 16};
  Pool<Win> wins{size_t{1} << 16};

  /// By the ABI's constant: the object that a predefined handle stands for, datatypes and messages included.
  /// nullptr for NULL handles and for constants that name nothing; MPI_COMM_WORLD and MPI_COMM_SELF are set
  /// by MPI_Init.
  Object* predefined[kPredefinedLimit] = {};
};

inline constinit Immortal<Pools> immortal_pools;
inline constinit Pools& pools = immortal_pools.value;

}  // namespace hearth::objects
