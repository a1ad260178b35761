// MPI handles and their objects.
//
// A user's handle is the address of its object in a pool; a predefined handle is the ABI's constant, below
// 4096, and an index of objects::pools.predefined. find() accepts any value: garbage, NULL handles, freed
// handles and handles of another type yield nullptr. Called under the library's lock; nothing allocates.
#pragma once

#include <cstdint>

#include "datatype/pool.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/request_pool.h"

namespace hearth::abi {

/// For each type of object: its handle type, the block of constants that the ABI gives it, its pool.
template <class Object>
struct HandleTraits;

template <>
struct HandleTraits<objects::Comm> {
  using Handle = MPI_Comm;
  static constexpr uintptr_t kFirst = 0x100, kCount = 8;  // kFirst is the NULL handle
  static Pool<objects::Comm>& pool() { return objects::pools.comms; }
};
template <>
struct HandleTraits<objects::Group> {
  using Handle = MPI_Group;
  static constexpr uintptr_t kFirst = 0x108, kCount = 8;
  static Pool<objects::Group>& pool() { return objects::pools.groups; }
};
template <>
struct HandleTraits<objects::Op> {
  using Handle = MPI_Op;
  static constexpr uintptr_t kFirst = 0x20, kCount = 0x20;
  static Pool<objects::Op>& pool() { return objects::pools.ops; }
};
template <>
struct HandleTraits<objects::Info> {
  using Handle = MPI_Info;
  static constexpr uintptr_t kFirst = 0x130, kCount = 8;
  static Pool<objects::Info>& pool() { return objects::pools.infos; }
};
template <>
struct HandleTraits<objects::Errhandler> {
  using Handle = MPI_Errhandler;
  static constexpr uintptr_t kFirst = 0x140, kCount = 8;
  static Pool<objects::Errhandler>& pool() { return objects::pools.errhandlers; }
};
template <>
struct HandleTraits<objects::Session> {
  using Handle = MPI_Session;
  static constexpr uintptr_t kFirst = 0x120, kCount = 1;  // the NULL handle only
  static Pool<objects::Session>& pool() { return objects::pools.sessions; }
};
template <>
struct HandleTraits<objects::Win> {
  using Handle = MPI_Win;
  static constexpr uintptr_t kFirst = 0x110, kCount = 1;  // the NULL handle only
  static Pool<objects::Win>& pool() { return objects::pools.wins; }
};
template <>
struct HandleTraits<objects::File> {
  using Handle = MPI_File;
  static constexpr uintptr_t kFirst = 0x118, kCount = 1;  // the NULL handle only
  static Pool<objects::File>& pool() { return objects::pools.files; }
};
template <>
struct HandleTraits<datatype::Type> {
  using Handle = MPI_Datatype;
  static constexpr uintptr_t kFirst = 0x200, kCount = 0x200;
  static Pool<datatype::Type>& pool() { return datatype::pool; }
};
template <>
struct HandleTraits<p2p::Request> {
  using Handle = MPI_Request;
  static constexpr uintptr_t kFirst = 0x180, kCount = 1;  // the NULL handle only
  static Pool<p2p::Request>& pool() { return p2p::request_pool(); }
};
template <>
struct HandleTraits<p2p::Message> {
  using Handle = MPI_Message;
  static constexpr uintptr_t kFirst = 0x128, kCount = 8;
  static Pool<p2p::Message>& pool() { return p2p::message_pool(); }
};

template <class Object>
using HandleOf = typename HandleTraits<Object>::Handle;

template <class Object>
inline HandleOf<Object> null_handle() {
  return reinterpret_cast<HandleOf<Object>>(HandleTraits<Object>::kFirst);
}

/// The object of a handle; nullptr if there is none.
template <class Object>
inline Object* find(HandleOf<Object> handle) {
  using Traits = HandleTraits<Object>;
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if constexpr (Traits::kCount == 1) {
    if (value == Traits::kFirst) return nullptr;
  } else {
    if (value - Traits::kFirst < Traits::kCount)
      return static_cast<Object*>(objects::pools.predefined[value]);
  }
  return Traits::pool().contains(handle) ? reinterpret_cast<Object*>(handle) : nullptr;
}

/// The handle of an object; the NULL handle for nullptr.
template <class Object>
inline HandleOf<Object> to_handle(const Object* object) {
  if (object == nullptr) return null_handle<Object>();
  if (object->predefined != 0) {
    return reinterpret_cast<HandleOf<Object>>(static_cast<uintptr_t>(object->predefined));
  }
  return reinterpret_cast<HandleOf<Object>>(const_cast<Object*>(object));
}

/// For requests and messages, which may be null: false if `place` is nullptr or its handle is invalid.
template <class Object>
inline bool take(const HandleOf<Object>* place, Object*& object) {
  object = nullptr;
  if (place == nullptr) return false;
  if (*place == null_handle<Object>()) return true;
  object = find<Object>(*place);
  return object != nullptr;
}

/// Like find(), but MPI_COMM_NULL, MPI_DATATYPE_NULL and MPI_WIN_NULL yield an object of that name.
objects::Comm* find_named(MPI_Comm handle);
datatype::Type* find_named(MPI_Datatype handle);
objects::Win* find_named(MPI_Win handle);

/// Integers for Fortran: the constant of a predefined handle, 4096 + slot for a user's handle. For an invalid
/// handle MPI_X_toint gives the number of the NULL handle; for an invalid number MPI_X_fromint gives the NULL
/// handle.
template <class Object>
int to_int(HandleOf<Object> handle);
template <class Object>
HandleOf<Object> from_int(int number);

/// The object of one of MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT and MPI_ERRORS_RETURN.
objects::Errhandler& predefined_errhandler(MPI_Errhandler handle);

/// MPI_COMM_WORLD and MPI_COMM_SELF, which MPI_Init makes.
void set_predefined_comms(objects::Comm& world, objects::Comm& self);
/// Removes their handles (MPI_Finalize). They are destroyed once no operation uses them.
void drop_predefined_comms();
/// Pre: set_predefined_comms() was called.
objects::Comm& predefined_comm(MPI_Comm handle);

}  // namespace hearth::abi
