// MPI 5.0 chapter 20: queries of the standard ABI, Fortran types, and handles as integers.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "abi/guard.h"
#include "abi/handle.h"
#include "datatype/reduce.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {
namespace {

using objects::Info;

struct FortranType {
  const char* name;  // mpi_NAME_size or mpi_NAME_supported
  MPI_Datatype handle;
};

constexpr const char* kSize = "_size";
constexpr const char* kSupported = "_supported";

// Types whose size depends on compiler options, and types that a compiler may lack.
const FortranType kSized[] = {{"logical", MPI_LOGICAL},
                              {"integer", MPI_INTEGER},
                              {"real", MPI_REAL},
                              {"double_precision", MPI_DOUBLE_PRECISION}};
const FortranType kOptional[] = {{"logical1", MPI_LOGICAL1},
                                 {"logical2", MPI_LOGICAL2},
                                 {"logical4", MPI_LOGICAL4},
                                 {"logical8", MPI_LOGICAL8},
                                 {"logical16", MPI_LOGICAL16},
                                 {"integer1", MPI_INTEGER1},
                                 {"integer2", MPI_INTEGER2},
                                 {"integer4", MPI_INTEGER4},
                                 {"integer8", MPI_INTEGER8},
                                 {"integer16", MPI_INTEGER16},
                                 {"real2", MPI_REAL2},
                                 {"real4", MPI_REAL4},
                                 {"real8", MPI_REAL8},
                                 {"real16", MPI_REAL16},
                                 {"complex4", MPI_COMPLEX4},
                                 {"complex8", MPI_COMPLEX8},
                                 {"complex16", MPI_COMPLEX16},
                                 {"complex32", MPI_COMPLEX32},
                                 {"double_complex", MPI_DOUBLE_COMPLEX}};

std::string value_for(const FortranType& row, const char* aspect) {
  const datatype::Type& type = *abi::find<datatype::Type>(row.handle);
  if (aspect == kSize) return std::to_string(type.size);
  return type.supported ? "true" : "false";
}

std::string key_for(const FortranType& row, const char* aspect) {
  return std::string("mpi_") + row.name + aspect;
}

// The caller's description of its compiler must match the library.
Status compare(const Info& info, const FortranType& row, const char* aspect) {
  const std::string key = key_for(row, aspect);
  for (const auto& [name, value] : info.entries) {
    const std::string ours = value_for(row, aspect);
    // A compiler that lacks a type of the library is compatible: it never uses that type.
    const bool fits = value == ours || (aspect == kSupported && value == "false");
    if (name == key && !fits) {
      return fail(MPI_ERR_ABI,
                  "%s is \"%s\", but this library has \"%s\". Likely cause: a compiler option that "
                  "changes the size of Fortran's default types",
                  key.c_str(), value.c_str(), ours.c_str());
    }
  }
  return {};
}

bool fortran_info_set = false;

bool booleans_set = false;

Status check_logical_size(int bytes) {
  if (bytes > 0 && bytes <= 16 && std::has_single_bit(static_cast<unsigned>(bytes))) return {};
  return fail(MPI_ERR_ARG, "logical_size is %d: a LOGICAL has 1, 2, 4, 8 or 16 bytes", bytes);
}

// Sign-extends the little-endian integer of `bytes` bytes at `from`.
void extend(const void* from, int bytes, std::byte (&to)[16]) {
  const auto length = static_cast<size_t>(bytes);
  std::memcpy(to, from, length);
  const bool negative = (to[length - 1] & std::byte{0x80}) != std::byte{0};
  std::memset(to + length, negative ? 0xff : 0, sizeof to - length);
}

Status no_pointer(const char* name) {
  return fail(MPI_ERR_ARG, "%s is a null pointer", name);
}

}  // namespace

Status abi_get_version(int& abi_major, int& abi_minor) {
  abi_major = MPI_ABI_VERSION;
  abi_minor = MPI_ABI_SUBVERSION;
  return {};
}

Status abi_get_info(Info*& info) {
  HEARTH_TRY(info_create(info));
  info->entries = {{"mpi_aint_size", std::to_string(sizeof(MPI_Aint))},
                   {"mpi_count_size", std::to_string(sizeof(MPI_Count))},
                   {"mpi_offset_size", std::to_string(sizeof(MPI_Offset))}};
  return {};
}

Status abi_get_fortran_info(Info*& info) {
  HEARTH_TRY(info_create(info));
  for (const FortranType& row : kSized)
    info->entries.emplace_back(key_for(row, kSize), value_for(row, kSize));
  for (const FortranType& row : kOptional) {
    info->entries.emplace_back(key_for(row, kSupported), value_for(row, kSupported));
  }
  return {};
}

Status abi_set_fortran_info(Info* info) {
  if (info == nullptr) return fail(MPI_ERR_INFO, "info is MPI_INFO_NULL");
  if (fortran_info_set) return fail(MPI_ERR_ABI, "the Fortran info was set before, and can be set only once");
  for (const FortranType& row : kSized) HEARTH_TRY(compare(*info, row, kSize));
  for (const FortranType& row : kOptional) HEARTH_TRY(compare(*info, row, kSupported));
  fortran_info_set = true;
  return {};
}

// Before the values are set, returns those that reductions assume, and is_set 0.
Status abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int& is_set) {
  HEARTH_TRY(check_logical_size(logical_size));
  if (logical_true == nullptr) return no_pointer("logical_true");
  if (logical_false == nullptr) return no_pointer("logical_false");
  std::memcpy(logical_true, datatype::fortran_booleans.yes, static_cast<size_t>(logical_size));
  std::memcpy(logical_false, datatype::fortran_booleans.no, static_cast<size_t>(logical_size));
  is_set = booleans_set ? 1 : 0;
  return {};
}

// The standard allows one call: "only the first call to this function affects the state". So the values given
// for one width of LOGICAL are sign-extended to all widths.
Status abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  HEARTH_TRY(check_logical_size(logical_size));
  if (logical_true == nullptr) return no_pointer("logical_true");
  if (logical_false == nullptr) return no_pointer("logical_false");
  if (booleans_set) return fail(MPI_ERR_ABI, "Fortran's booleans were set before, and can be set only once");
  datatype::FortranBooleans given;
  extend(logical_true, logical_size, given.yes);
  extend(logical_false, logical_size, given.no);
  if (given.yes[0] == given.no[0]) {
    return fail(MPI_ERR_ARG,
                ".TRUE. and .FALSE. both end in the byte 0x%02x: a LOGICAL(1) could not tell them apart. "
                "Likely cause: logical_true and logical_false do not point to LOGICALs of %d bytes",
                std::to_integer<unsigned>(given.yes[0]), logical_size);
  }
  datatype::fortran_booleans = given;
  booleans_set = true;
  return {};
}

// Handles as integers. These functions return no error code: an invalid handle or number gives the null one.

namespace {

template <class Object>
int number_of(abi::HandleOf<Object> handle) {
  const abi::AnyTimeGuard guard;
  return abi::to_int<Object>(handle);
}

template <class Object>
abi::HandleOf<Object> handle_of(int number) {
  const abi::AnyTimeGuard guard;
  return abi::from_int<Object>(number);
}

}  // namespace

int comm_toint(MPI_Comm comm) {
  return number_of<objects::Comm>(comm);
}
MPI_Comm comm_fromint(int comm) {
  return handle_of<objects::Comm>(comm);
}
int errhandler_toint(MPI_Errhandler errhandler) {
  return number_of<objects::Errhandler>(errhandler);
}
MPI_Errhandler errhandler_fromint(int errhandler) {
  return handle_of<objects::Errhandler>(errhandler);
}
int group_toint(MPI_Group group) {
  return number_of<objects::Group>(group);
}
MPI_Group group_fromint(int group) {
  return handle_of<objects::Group>(group);
}
int info_toint(MPI_Info info) {
  return number_of<objects::Info>(info);
}
MPI_Info info_fromint(int info) {
  return handle_of<objects::Info>(info);
}
int message_toint(MPI_Message message) {
  return number_of<p2p::Message>(message);
}
MPI_Message message_fromint(int message) {
  return handle_of<p2p::Message>(message);
}
int op_toint(MPI_Op op) {
  return number_of<objects::Op>(op);
}
MPI_Op op_fromint(int op) {
  return handle_of<objects::Op>(op);
}
int request_toint(MPI_Request request) {
  return number_of<p2p::Request>(request);
}
MPI_Request request_fromint(int request) {
  return handle_of<p2p::Request>(request);
}
int type_toint(MPI_Datatype datatype) {
  return number_of<datatype::Type>(datatype);
}
MPI_Datatype type_fromint(int datatype) {
  return handle_of<datatype::Type>(datatype);
}
int file_toint(MPI_File file) {
  return number_of<objects::File>(file);
}
MPI_File file_fromint(int file) {
  return handle_of<objects::File>(file);
}
int session_toint(MPI_Session session) {
  return number_of<objects::Session>(session);
}
MPI_Session session_fromint(int session) {
  return handle_of<objects::Session>(session);
}
int win_toint(MPI_Win win) {
  return number_of<objects::Win>(win);
}
MPI_Win win_fromint(int win) {
  return handle_of<objects::Win>(win);
}

// A status has the same eight integers in Fortran. MPI 5.0 section 19.3.5 lets neither argument be a constant
// that ignores statuses; these are null pointers.
int status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
  if (c_status == nullptr || f_status == nullptr) return MPI_ERR_ARG;
  std::memcpy(f_status, c_status, sizeof *c_status);
  return MPI_SUCCESS;
}
int status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  if (c_status == nullptr || f_status == nullptr) return MPI_ERR_ARG;
  std::memcpy(c_status, f_status, sizeof *c_status);
  return MPI_SUCCESS;
}

}  // namespace hearth::mpi
