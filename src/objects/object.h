// What every object behind an MPI handle has in common.
//
// A handle is the address of its object, except for predefined ones, whose handle is the ABI's constant
// below 4096; src/abi/handle.h maps between the two. Objects are created and destroyed under the
// library's lock.
#pragma once

#include <cstdint>

namespace hearth::objects {

struct Object {
  uint32_t slot;   // place in its Pool; the handle's stable integer is 4096 + slot
  uint32_t alive;  // Pool<T>::kAlive while the object lives and has a handle
  /// The ABI's constant for a predefined object, 0 for one that the user made.
  uint32_t predefined = 0;
  /// The handle counts as one; operations in flight hold the others. The last one destroys the object.
  uint32_t references = 1;

 protected:
  // slot and alive belong to the Pool, which sets them right after construction.
  Object() {}  // NOLINT(modernize-use-equals-default)
};

/// The handle of an object as the ABI has it, for the user's callbacks.
template <class Handle, class T>
Handle handle_of(const T& object) {
  if (object.predefined != 0) return reinterpret_cast<Handle>(static_cast<uintptr_t>(object.predefined));
  return reinterpret_cast<Handle>(const_cast<T*>(&object));
}

}  // namespace hearth::objects
