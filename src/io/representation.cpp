#include "io/representation.h"

#include <climits>
#include <cstring>
#include <vector>

#include "base/immortal.h"
#include "base/inside.h"
#include "datatype/external32.h"
#include "datatype/lifetime.h"
#include "datatype/resize_basics.h"
#include "datatype/signature.h"
#include "objects/object.h"

namespace hearth::io {
namespace {

using SharedRepresentation = std::shared_ptr<const Representation>;

std::vector<SharedRepresentation>& representations() {
  static auto& all = *new std::vector<SharedRepresentation>{
      // never destroyed: see base/immortal.h
      std::make_shared<Representation>("native", Representation::Kind::native),
      std::make_shared<Representation>("internal", Representation::Kind::native),
      std::make_shared<Representation>("external32", Representation::Kind::external32)};
  return all;
}

}  // namespace

Status find_representation(const char* name, SharedRepresentation& found) {
  for (const SharedRepresentation& each : representations()) {
    if (each->name() != name) continue;
    found = each;
    return {};
  }
  return fail(MPI_ERR_UNSUPPORTED_DATAREP,
              "no data representation has the name '%.64s'. Remedy: native, internal, external32, or one of "
              "MPI_Register_datarep",
              name);
}

Status register_representation(const char* name, const Conversions& functions) {
  if (*name == 0 || std::strlen(name) >= MPI_MAX_DATAREP_STRING) {
    return fail(MPI_ERR_ARG, "datarep has %zu characters: it needs 1 to %d", std::strlen(name),
                MPI_MAX_DATAREP_STRING - 1);
  }
  if (functions.extent == nullptr) return fail(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer");
  SharedRepresentation found;
  if (find_representation(name, found).ok()) {
    return fail(MPI_ERR_DUP_DATAREP, "the data representation '%.64s' exists already", name);
  }
  representations().push_back(
      std::make_shared<Representation>(name, Representation::Kind::registered, functions));
  return {};
}

Status Representation::size_of_predefined(const Type& basic, int64_t& bytes) const {
  if (kind_ == Kind::external32) {
    bytes = datatype::external32_bytes(basic);
    return {};
  }
  MPI_Aint extent = 0;
  const int code = Inside::call_user([&] {
    return functions_.extent(objects::handle_of<MPI_Datatype>(basic), &extent, functions_.extra_state);
  });
  if (code != MPI_SUCCESS || extent < 0) {
    return fail(MPI_ERR_CONVERSION, "the extent function of '%s' returned %d and an extent of %lld for %s",
                name_.c_str(), code, static_cast<long long>(extent), basic.name.c_str());
  }
  bytes = extent;
  return {};
}

Status Representation::shape_in_file(const Type& type, datatype::Shape& shape) const {
  if (native()) {
    shape = type;
    return {};
  }
  Type* resized = nullptr;
  HEARTH_TRY(datatype::resize_basics(
      type, [this](const Type& basic, int64_t& bytes) { return size_of_predefined(basic, bytes); }, resized));
  shape = *resized;
  datatype::free_handle(*resized);
  return {};
}

Status Representation::bytes_in_file(const Type& type, int64_t& bytes) const {
  if (native()) {
    bytes = type.size;
    return {};
  }
  bytes = 0;
  return datatype::for_each_run(type, 1, [&](const Type& basic, Count count) {
    int64_t each = 0;
    HEARTH_TRY(size_of_predefined(basic, each));
    bytes = saturated_sum(bytes, saturated_product(each, count));
    return Status();
  });
}

Status Representation::call(bool reading, const Type& type, void* buffer, Count first, Count count,
                            std::byte* file) const {
  const auto handle = objects::handle_of<MPI_Datatype>(type);
  // A conversion function of the small interface has an int count: long runs need several calls.
  int64_t each = 0;
  HEARTH_TRY(bytes_in_file(type, each));
  while (count > 0) {
    const Count part = std::min<Count>(count, INT_MAX);
    const auto items = static_cast<int>(part);
    auto* const large = reading ? functions_.read_large : functions_.write_large;
    auto* const small = reading ? functions_.read : functions_.write;
    const int code = Inside::call_user([&] {
      return large != nullptr ? large(buffer, handle, part, file, first, functions_.extra_state)
                              : small(buffer, handle, items, file, first, functions_.extra_state);
    });
    if (code != MPI_SUCCESS) {
      return fail(MPI_ERR_CONVERSION, "the conversion function of the data representation '%s' returned %d",
                  name_.c_str(), code);
    }
    count -= part;
    first += part;
    file += part * each;
  }
  return {};
}

Status Representation::to_file(const Type& type, const void* buffer, Count first, Count count,
                               std::byte* file) const {
  const std::byte* const at = static_cast<const std::byte*>(buffer) + first * type.extent;
  if (kind_ == Kind::external32) return datatype::pack_external32(type, at, count, file);
  if (functions_.write != nullptr || functions_.write_large != nullptr)
    return call(false, type, const_cast<void*>(buffer), first, count, file);
  datatype::pack(type, buffer, first * type.size, file, static_cast<size_t>(count * type.size));
  return {};
}

Status Representation::from_file(const Type& type, void* buffer, Count first, Count count,
                                 std::byte* file) const {
  std::byte* const at = static_cast<std::byte*>(buffer) + first * type.extent;
  if (kind_ == Kind::external32) return datatype::unpack_external32(type, at, count, file);
  if (functions_.read != nullptr || functions_.read_large != nullptr)
    return call(true, type, buffer, first, count, file);
  datatype::unpack(type, buffer, first * type.size, file, static_cast<size_t>(count * type.size));
  return {};
}

}  // namespace hearth::io
