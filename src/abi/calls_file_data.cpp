// MPI 5.0 section 14.4: data access. Each function names the way of one access; src/io does the rest.
#include "abi/requests.h"
#include "abi/status.h"
#include "hearth_calls.h"
#include "io/file.h"
#include "mpi.h"
#include "objects/file.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using io::Access;
using io::Pointer;
using objects::File;
using p2p::Request;

constexpr bool kRead = false;
constexpr bool kWrite = true;
constexpr bool kAlone = false;
constexpr bool kTogether = true;

/// The buffer of a write is only read.
Access access(bool writing, Pointer pointer, bool collective, MPI_Offset offset, const void* buffer,
              Count count, Type& type) {
  return {writing, pointer, collective, offset, {const_cast<void*>(buffer), count, &type}};
}

Status now(File& file, const Access& access, MPI_Status* status) {
  int64_t bytes = 0;
  const Status outcome = file.open->run(access, bytes);
  abi::set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
  return outcome;
}

Status start(File& file, const Access& access, Request*& request) {
  HEARTH_TRY(file.open->start(access, request));
  abi::belong_to(request, *file.comm);
  return {};
}

Status end(File& file, bool writing, Pointer pointer, MPI_Status* status) {
  int64_t bytes = 0;
  const Status outcome = file.open->end_split({writing, pointer, kTogether, 0, {}}, bytes);
  abi::set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
  return outcome;
}

}  // namespace

// Blocking.

Status file_read(File& fh, void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kRead, Pointer::individual, kAlone, 0, buf, count, datatype), status);
}

Status file_read_all(File& fh, void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kRead, Pointer::individual, kTogether, 0, buf, count, datatype), status);
}

Status file_read_at(File& fh, MPI_Offset offset, void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kRead, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), status);
}

Status file_read_at_all(File& fh, MPI_Offset offset, void* buf, Count count, Type& datatype,
                        MPI_Status* status) {
  return now(fh, access(kRead, Pointer::explicit_offset, kTogether, offset, buf, count, datatype), status);
}

Status file_read_shared(File& fh, void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kRead, Pointer::shared, kAlone, 0, buf, count, datatype), status);
}

Status file_read_ordered(File& fh, void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kRead, Pointer::ordered, kTogether, 0, buf, count, datatype), status);
}

Status file_write(File& fh, const void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::individual, kAlone, 0, buf, count, datatype), status);
}

Status file_write_all(File& fh, const void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::individual, kTogether, 0, buf, count, datatype), status);
}

Status file_write_at(File& fh, MPI_Offset offset, const void* buf, Count count, Type& datatype,
                     MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), status);
}

Status file_write_at_all(File& fh, MPI_Offset offset, const void* buf, Count count, Type& datatype,
                         MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::explicit_offset, kTogether, offset, buf, count, datatype), status);
}

Status file_write_shared(File& fh, const void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::shared, kAlone, 0, buf, count, datatype), status);
}

Status file_write_ordered(File& fh, const void* buf, Count count, Type& datatype, MPI_Status* status) {
  return now(fh, access(kWrite, Pointer::ordered, kTogether, 0, buf, count, datatype), status);
}

// Non-blocking. The collective forms are independent: collective accesses do not have to synchronise.

Status file_iread(File& fh, void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kRead, Pointer::individual, kAlone, 0, buf, count, datatype), request);
}

Status file_iread_all(File& fh, void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kRead, Pointer::individual, kAlone, 0, buf, count, datatype), request);
}

Status file_iread_at(File& fh, MPI_Offset offset, void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kRead, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), request);
}

Status file_iread_at_all(File& fh, MPI_Offset offset, void* buf, Count count, Type& datatype,
                         Request*& request) {
  return start(fh, access(kRead, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), request);
}

Status file_iread_shared(File& fh, void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kRead, Pointer::shared, kAlone, 0, buf, count, datatype), request);
}

Status file_iwrite(File& fh, const void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kWrite, Pointer::individual, kAlone, 0, buf, count, datatype), request);
}

Status file_iwrite_all(File& fh, const void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kWrite, Pointer::individual, kAlone, 0, buf, count, datatype), request);
}

Status file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, Count count, Type& datatype,
                      Request*& request) {
  return start(fh, access(kWrite, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), request);
}

Status file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, Count count, Type& datatype,
                          Request*& request) {
  return start(fh, access(kWrite, Pointer::explicit_offset, kAlone, offset, buf, count, datatype), request);
}

Status file_iwrite_shared(File& fh, const void* buf, Count count, Type& datatype, Request*& request) {
  return start(fh, access(kWrite, Pointer::shared, kAlone, 0, buf, count, datatype), request);
}

// Split collective.

Status file_read_all_begin(File& fh, void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(access(kRead, Pointer::individual, kTogether, 0, buf, count, datatype));
}

Status file_read_all_end(File& fh, void*, MPI_Status* status) {
  return end(fh, kRead, Pointer::individual, status);
}

Status file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(
      access(kRead, Pointer::explicit_offset, kTogether, offset, buf, count, datatype));
}

Status file_read_at_all_end(File& fh, void*, MPI_Status* status) {
  return end(fh, kRead, Pointer::explicit_offset, status);
}

Status file_read_ordered_begin(File& fh, void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(access(kRead, Pointer::ordered, kTogether, 0, buf, count, datatype));
}

Status file_read_ordered_end(File& fh, void*, MPI_Status* status) {
  return end(fh, kRead, Pointer::ordered, status);
}

Status file_write_all_begin(File& fh, const void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(access(kWrite, Pointer::individual, kTogether, 0, buf, count, datatype));
}

Status file_write_all_end(File& fh, const void*, MPI_Status* status) {
  return end(fh, kWrite, Pointer::individual, status);
}

Status file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(
      access(kWrite, Pointer::explicit_offset, kTogether, offset, buf, count, datatype));
}

Status file_write_at_all_end(File& fh, const void*, MPI_Status* status) {
  return end(fh, kWrite, Pointer::explicit_offset, status);
}

Status file_write_ordered_begin(File& fh, const void* buf, Count count, Type& datatype) {
  return fh.open->begin_split(access(kWrite, Pointer::ordered, kTogether, 0, buf, count, datatype));
}

Status file_write_ordered_end(File& fh, const void*, MPI_Status* status) {
  return end(fh, kWrite, Pointer::ordered, status);
}

}  // namespace hearth::mpi
