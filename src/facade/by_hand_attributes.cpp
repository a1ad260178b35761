// Attributes whose values are constants; buffers of MPI_Bsend; versions.
#include "facade_by_hand.h"

namespace hearth::facade {
namespace {

/// Addresses of attribute values in the facade's ABI, which stay valid for the life of the process.
template <int N>
const int* constant_value(const Pair (&set)[N], int here) {
  for (const Pair& pair : set) {
    if (pair.here == here) return &pair.there;
  }
  return nullptr;
}

/// The converted value of a predefined attribute; `value` if it is no constant.
const int* converted_value(int keyval, const int* value) {
  static const int host = rank_out(MPI_PROC_NULL);
  static const int io = rank_out(MPI_ANY_SOURCE);
  static int last_used_code;  // updated by each MPI_Comm_get_attr
  switch (keyval) {
    case MPI_HOST:
      return *value == MPI_PROC_NULL ? &host : value;
    case MPI_IO:
      return *value == MPI_ANY_SOURCE ? &io : value;
    case MPI_LASTUSEDCODE:
      last_used_code = error_out(*value);
      return &last_used_code;
    case MPI_WIN_CREATE_FLAVOR:
      return constant_value(kWindowFlavor, *value);
    case MPI_WIN_MODEL:
      return constant_value(kWindowModel, *value);
    default:
      return value;
  }
}

void convert_value(int keyval, void* attribute_val, const int* flag, int code) {
  if (code != MPI_SUCCESS || *flag == 0) return;
  const int** const place = static_cast<const int**>(attribute_val);
  *place = converted_value(keyval, *place);
}

template <class Size>
int detached(int code, void* buffer_addr, Size*) {
  if (code == MPI_SUCCESS) {
    void** const place = static_cast<void**>(buffer_addr);
    *place = buffer_out(*place);
  }
  return code_out(code);
}

/// `call` reports a null pointer.
template <class Call>
int get_field(const Status* status, int Status::*field, int* value, Call call) {
  if (is_ignored(status) || value == nullptr) return code_out(call(nullptr, value));
  *value = status->*field;
  return MPI_SUCCESS;
}
template <class Call>
int set_field(Status* status, int Status::*field, int value, Call call) {
  if (is_ignored(status)) return code_out(call(nullptr, value));
  status->*field = value;
  return MPI_SUCCESS;
}

}  // namespace

namespace by_hand {

// The ABI is not the standard one: mpi4py chooses its module by this answer, which is that of MPICH.
int Abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = *abi_minor = -1;
  return MPI_SUCCESS;
}

int Comm_get_attr(Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  const int keyval = keyval_in(comm_keyval);
  const int code = core().Comm_get_attr(comm_in(comm), keyval, attribute_val, flag);
  convert_value(keyval, attribute_val, flag, code);
  return code_out(code);
}

int Attr_get(Comm comm, int keyval, void* attribute_val, int* flag) {
  return Comm_get_attr(comm, keyval, attribute_val, flag);
}

int Win_get_attr(Win win, int win_keyval, void* attribute_val, int* flag) {
  const int keyval = keyval_in(win_keyval);
  const int code = core().Win_get_attr(win_in(win), keyval, attribute_val, flag);
  convert_value(keyval, attribute_val, flag, code);
  return code_out(code);
}

int Buffer_detach(void* buffer_addr, int* size) {
  return detached(core().Buffer_detach(buffer_addr, size), buffer_addr, size);
}
int Buffer_detach_c(void* buffer_addr, MPI_Count* size) {
  return detached(core().Buffer_detach_c(buffer_addr, size), buffer_addr, size);
}
int Comm_detach_buffer(Comm comm, void* buffer_addr, int* size) {
  return detached(core().Comm_detach_buffer(comm_in(comm), buffer_addr, size), buffer_addr, size);
}
int Comm_detach_buffer_c(Comm comm, void* buffer_addr, MPI_Count* size) {
  return detached(core().Comm_detach_buffer_c(comm_in(comm), buffer_addr, size), buffer_addr, size);
}
int Session_detach_buffer(Session session, void* buffer_addr, int* size) {
  return detached(core().Session_detach_buffer(session_in(session), buffer_addr, size), buffer_addr, size);
}
int Session_detach_buffer_c(Session session, void* buffer_addr, MPI_Count* size) {
  return detached(core().Session_detach_buffer_c(session_in(session), buffer_addr, size), buffer_addr, size);
}

// The fields are those of the facade's ABI, set without a conversion, which could change a number of the
// user.

int Status_get_error(const Status* status, int* error) {
  return get_field(status, &Status::MPI_ERROR, error, core().Status_get_error);
}
int Status_get_source(const Status* status, int* source) {
  return get_field(status, &Status::MPI_SOURCE, source, core().Status_get_source);
}
int Status_get_tag(const Status* status, int* tag) {
  return get_field(status, &Status::MPI_TAG, tag, core().Status_get_tag);
}
int Status_set_error(Status* status, int error) {
  return set_field(status, &Status::MPI_ERROR, error, core().Status_set_error);
}
int Status_set_source(Status* status, int source) {
  return set_field(status, &Status::MPI_SOURCE, source, core().Status_set_source);
}
int Status_set_tag(Status* status, int tag) {
  return set_field(status, &Status::MPI_TAG, tag, core().Status_set_tag);
}

int Status_c2f(const Status* c_status, MPI_Fint* f_status) {
  std::memcpy(f_status, c_status, sizeof *c_status);
  return MPI_SUCCESS;
}
int Status_f2c(const MPI_Fint* f_status, Status* c_status) {
  std::memcpy(c_status, f_status, sizeof *c_status);
  return MPI_SUCCESS;
}

}  // namespace by_hand
}  // namespace hearth::facade
