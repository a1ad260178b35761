// Common part of the objects of all MPI handles.
//
// A handle is the address of its object. Handles of predefined objects are the ABI's constants below 4096;
// src/abi/handle.h converts them. Objects are created and destroyed under the library's lock.
#pragma once

#include <cstdint>

namespace hearth::objects {

struct Object {
  uint32_t slot;   // index in its Pool; the handle's stable integer is 4096 + slot
  uint32_t alive;  // Pool<T>::kAlive while the object has a handle
  /// The ABI's constant of a predefined object; 0 for a user's object.
  uint32_t predefined = 0;
  /// The handle holds one reference, operations in progress hold others. The last release destroys the
  /// object.
  uint32_t references = 1;

 protected:
  // Does not initialise slot and alive: the Pool sets them after construction.
  Object() {}  // NOLINT(modernize-use-equals-default)
};

/// An object's handle in the ABI's representation, for user callbacks.
template <class Handle, class T>
Handle handle_of(const T& object) {
  if (object.predefined != 0) return reinterpret_cast<Handle>(static_cast<uintptr_t>(object.predefined));
  return reinterpret_cast<Handle>(const_cast<T*>(&object));
}

}  // namespace hearth::objects
