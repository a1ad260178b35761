// MPI 5.0 sections 5.2 and 5.3: packing into a buffer of the user, in the machine's own representation or in
// external32. A packed unit has no header: its bytes are those of a message.
#include <cstring>

#include "datatype/external32.h"
#include "datatype/type.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/comm.h"

namespace hearth::mpi {

using datatype::Type;

namespace {

/// The bytes of `count` elements of `size` bytes.
Status total_bytes(Count count, int64_t size, int64_t& bytes) {
  if (!__builtin_mul_overflow(count, size, &bytes)) return {};
  return fail(MPI_ERR_COUNT, "%lld elements of %lld bytes are more than 64 bits can hold",
              static_cast<long long>(count), static_cast<long long>(size));
}

/// Whether `bytes` from `position` on lie inside of a packed buffer of `room` bytes.
Status check_room(const void* packed, int64_t room, int64_t position, int64_t bytes) {
  if (position < 0) {
    return fail(MPI_ERR_ARG, "position is %lld: it must not be negative", static_cast<long long>(position));
  }
  if (bytes > room - position) {
    return fail(MPI_ERR_TRUNCATE,
                "the packed data are %lld bytes, but from position %lld on the packed buffer has %lld. "
                "Remedy: MPI_Pack_size (or MPI_Pack_external_size) tells how large it must be",
                static_cast<long long>(bytes), static_cast<long long>(position),
                static_cast<long long>(room > position ? room - position : 0));
  }
  if (bytes > 0 && packed == nullptr) return fail(MPI_ERR_BUFFER, "the packed buffer is a null pointer");
  return {};
}

Status check_representation(const char* name) {
  if (std::strcmp(name, "external32") == 0) return {};
  return fail(MPI_ERR_UNSUPPORTED_DATAREP, "datarep is \"%s\": the only one here is \"external32\"", name);
}

Status external_bytes(const char* representation, Count count, const Type& type, int64_t& bytes) {
  HEARTH_TRY(check_representation(representation));
  return total_bytes(count, datatype::external32_bytes(type), bytes);
}

}  // namespace

Status pack_size(Count incount, Type& datatype, objects::Comm&, Count& size) {
  return total_bytes(incount, datatype.size, size);
}

Status pack(const void* inbuf, Count incount, Type& datatype, void* outbuf, Count outsize, Count& position,
            objects::Comm&) {
  int64_t bytes;
  HEARTH_TRY(total_bytes(incount, datatype.size, bytes));
  HEARTH_TRY(check_room(outbuf, outsize, position, bytes));
  datatype::pack(datatype, inbuf, 0, static_cast<std::byte*>(outbuf) + position, static_cast<size_t>(bytes));
  position += bytes;
  return {};
}

Status unpack(const void* inbuf, Count insize, Count& position, void* outbuf, Count outcount, Type& datatype,
              objects::Comm&) {
  int64_t bytes;
  HEARTH_TRY(total_bytes(outcount, datatype.size, bytes));
  HEARTH_TRY(check_room(inbuf, insize, position, bytes));
  datatype::unpack(datatype, outbuf, 0, static_cast<const std::byte*>(inbuf) + position,
                   static_cast<size_t>(bytes));
  position += bytes;
  return {};
}

Status pack_external_size(const char* datarep, Count incount, Type& datatype, Count& size) {
  return external_bytes(datarep, incount, datatype, size);
}

Status pack_external(const char* datarep, const void* inbuf, Count incount, Type& datatype, void* outbuf,
                     Count outsize, Count& position) {
  int64_t bytes;
  HEARTH_TRY(external_bytes(datarep, incount, datatype, bytes));
  HEARTH_TRY(check_room(outbuf, outsize, position, bytes));
  HEARTH_TRY(datatype::pack_external32(datatype, inbuf, incount, static_cast<std::byte*>(outbuf) + position));
  position += bytes;
  return {};
}

Status unpack_external(const char* datarep, const void* inbuf, Count insize, Count& position, void* outbuf,
                       Count outcount, Type& datatype) {
  int64_t bytes;
  HEARTH_TRY(external_bytes(datarep, outcount, datatype, bytes));
  HEARTH_TRY(check_room(inbuf, insize, position, bytes));
  HEARTH_TRY(datatype::unpack_external32(datatype, outbuf, outcount,
                                         static_cast<const std::byte*>(inbuf) + position));
  position += bytes;
  return {};
}

}  // namespace hearth::mpi
