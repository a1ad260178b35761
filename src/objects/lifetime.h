// Reference counts of objects. The handle, and every operation or object that uses the object, hold one
// reference each; the last release destroys it. Under the library's lock; retain and release are on the data
// path.
#pragma once

#include "objects/comm.h"
#include "objects/errhandler.h"
#include "objects/file.h"
#include "objects/group.h"
#include "objects/info.h"
#include "objects/object.h"
#include "objects/op.h"
#include "objects/session.h"
#include "objects/win.h"

namespace hearth::objects {

void destroy(Comm& comm);
void destroy(Group& group);
void destroy(Info& info);
void destroy(Op& op);
void destroy(Errhandler& errhandler);
void destroy(Session& session);
void destroy(Win& win);
void destroy(File& file);

template <class T>
inline void retain(T& object) {
  ++object.references;
}

template <class T>
inline void release(T& object) {
  if (__builtin_expect(--object.references == 0, 0)) destroy(object);
}

/// Implements MPI_..._free: invalidates the handle, even if references keep the object alive. Pre: the object
/// is not predefined.
template <class T>
void free_handle(T& object) {
  object.alive = 0;
  release(object);
}

}  // namespace hearth::objects
