// MPI 5.0 section 7.7: attributes of communicators and datatypes, keys for all kinds of objects; and the
// attributes that communicators have from the start (section 9.1.2).
#include <algorithm>

#include "abi/error.h"
#include "abi/runtime.h"
#include "datatype/lifetime.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/attribute.h"
#include "objects/win.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Comm;
using objects::CopyFunction;
using objects::DeleteFunction;
using objects::KeyvalKind;
using objects::Win;

/// The value of a predefined key; nullptr for other keys. The address stays valid and does not change.
const int* predefined_attribute(int keyval) {
  static const int tag_upper_bound = 2147483647;
  static const int host = MPI_PROC_NULL;                                      // no process is special
  static const int io = MPI_ANY_SOURCE;                                       // every process can
  static const int time_is_global = shm::node().is_one_of_several() ? 0 : 1;  // each machine has its clock
  static const int application = abi::runtime().job.app;
  // What MPI_Comm_spawn can start without sharing processors.
  static const int universe_size =
      std::max(abi::runtime().job.size, static_cast<int>(abi::runtime().job.segment.job().usable_processors));
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_upper_bound;
    case MPI_HOST:
      return &host;
    case MPI_IO:
      return &io;
    case MPI_WTIME_IS_GLOBAL:
      return &time_is_global;
    case MPI_APPNUM:
      return &application;
    case MPI_UNIVERSE_SIZE:
      return &universe_size;
    case MPI_LASTUSEDCODE:
      return &abi::last_used_code();
    default:
      return nullptr;
  }
}

Status get(const objects::AttributeHolder& holder, int keyval, void* attribute_val, int& flag) {
  void* value = nullptr;
  bool found = false;
  HEARTH_TRY(objects::get_attribute(holder, keyval, value, found));
  if (found) *static_cast<void**>(attribute_val) = value;
  flag = found;
  return {};
}

}  // namespace

// Communicators.

Status comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                          MPI_Comm_delete_attr_function* comm_delete_attr_fn, int& comm_keyval,
                          void* extra_state) {
  comm_keyval = objects::create_keyval(KeyvalKind::comm, CopyFunction{.comm = comm_copy_attr_fn},
                                       DeleteFunction{.comm = comm_delete_attr_fn}, extra_state);
  return {};
}

Status comm_free_keyval(int& comm_keyval) {
  return objects::free_keyval(KeyvalKind::comm, comm_keyval);
}

Status comm_set_attr(Comm& comm, int comm_keyval, void* attribute_val) {
  return objects::set_attribute(objects::holder_of(comm), comm_keyval, attribute_val);
}

// The attributes of the environment belong to MPI_COMM_WORLD; in the Sessions Model, communicators have
// MPI_TAG_UB alone (MPI 5.0 section 9.1.2).
Status comm_get_attr(Comm& comm, int comm_keyval, void* attribute_val, int& flag) {
  if (const int* value = predefined_attribute(comm_keyval)) {
    flag = comm_keyval == MPI_TAG_UB || comm.group->session == nullptr;
    if (flag) *static_cast<const int**>(attribute_val) = value;
    return {};
  }
  return get(objects::holder_of(comm), comm_keyval, attribute_val, flag);
}

Status comm_delete_attr(Comm& comm, int comm_keyval) {
  return objects::delete_attribute(objects::holder_of(comm), comm_keyval);
}

// The MPI-1 names of these functions.

Status keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int& keyval,
                     void* extra_state) {
  return comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}
Status keyval_free(int& keyval) {
  return comm_free_keyval(keyval);
}
Status attr_put(Comm& comm, int keyval, void* attribute_val) {
  return comm_set_attr(comm, keyval, attribute_val);
}
Status attr_get(Comm& comm, int keyval, void* attribute_val, int& flag) {
  return comm_get_attr(comm, keyval, attribute_val, flag);
}
Status attr_delete(Comm& comm, int keyval) {
  return comm_delete_attr(comm, keyval);
}

// Datatypes.

Status type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                          MPI_Type_delete_attr_function* type_delete_attr_fn, int& type_keyval,
                          void* extra_state) {
  type_keyval = objects::create_keyval(KeyvalKind::type, CopyFunction{.type = type_copy_attr_fn},
                                       DeleteFunction{.type = type_delete_attr_fn}, extra_state);
  return {};
}

Status type_free_keyval(int& type_keyval) {
  return objects::free_keyval(KeyvalKind::type, type_keyval);
}

Status type_set_attr(Type& datatype, int type_keyval, void* attribute_val) {
  return objects::set_attribute(datatype::holder_of(datatype), type_keyval, attribute_val);
}

Status type_get_attr(Type& datatype, int type_keyval, void* attribute_val, int& flag) {
  return get(datatype::holder_of(datatype), type_keyval, attribute_val, flag);
}

Status type_delete_attr(Type& datatype, int type_keyval) {
  return objects::delete_attribute(datatype::holder_of(datatype), type_keyval);
}

// Windows.

Status win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn,
                         MPI_Win_delete_attr_function* win_delete_attr_fn, int& win_keyval,
                         void* extra_state) {
  win_keyval = objects::create_keyval(KeyvalKind::win, CopyFunction{.win = win_copy_attr_fn},
                                      DeleteFunction{.win = win_delete_attr_fn}, extra_state);
  return {};
}

Status win_free_keyval(int& win_keyval) {
  return objects::free_keyval(KeyvalKind::win, win_keyval);
}

Status win_set_attr(Win& win, int win_keyval, void* attribute_val) {
  return objects::set_attribute(objects::holder_of(win), win_keyval, attribute_val);
}

// A predefined attribute is the address of the value, except for the base, which is the value (MPI 5.0
// section 12.2.6).
Status win_get_attr(Win& win, int win_keyval, void* attribute_val, int& flag) {
  void* const values[] = {win.base, &win.displacement_unit, &win.bytes, &win.flavor, &win.model};
  static_assert(MPI_WIN_DISP_UNIT == MPI_WIN_BASE + 1 && MPI_WIN_SIZE == MPI_WIN_BASE + 2 &&
                MPI_WIN_CREATE_FLAVOR == MPI_WIN_BASE + 3 && MPI_WIN_MODEL == MPI_WIN_BASE + 4);
  if (win_keyval >= MPI_WIN_BASE && win_keyval <= MPI_WIN_MODEL) {
    *static_cast<void**>(attribute_val) = values[win_keyval - MPI_WIN_BASE];
    flag = 1;
    return {};
  }
  return get(objects::holder_of(win), win_keyval, attribute_val, flag);
}

Status win_delete_attr(Win& win, int win_keyval) {
  return objects::delete_attribute(objects::holder_of(win), win_keyval);
}

}  // namespace hearth::mpi
