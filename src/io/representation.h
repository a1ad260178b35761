// Data representations of files (MPI 5.0 section 14.5): native and internal, which are the memory's;
// external32; and those of MPI_Register_datarep.
//
// Under the library's lock, except that any thread may copy data of a native representation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "datatype/shape.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::io {

using datatype::Type;

/// The functions of MPI_Register_datarep; nullptr: data are copied as they are.
struct Conversions {
  MPI_Datarep_conversion_function* read = nullptr;
  MPI_Datarep_conversion_function* write = nullptr;
  MPI_Datarep_conversion_function_c* read_large = nullptr;
  MPI_Datarep_conversion_function_c* write_large = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra_state = nullptr;
};

class Representation {
 public:
  enum class Kind : uint8_t { native, external32, registered };

  Representation(std::string name, Kind kind, const Conversions& functions = {})
      : name_(std::move(name)), kind_(kind), functions_(functions) {}

  const std::string& name() const { return name_; }
  bool native() const { return kind_ == Kind::native; }

  /// Sizes and distances of a datatype in the file: predefined types have their size in the file, and
  /// displacements in bytes stay as they are (MPI 5.0 section 14.5).
  Status shape_in_file(const Type& type, datatype::Shape& shape) const;
  /// Bytes of the data of one element in the file.
  Status bytes_in_file(const Type& type, int64_t& bytes) const;

  /// Converts elements [first, first + count) at `buffer` to consecutive data in `file`, or back.
  Status to_file(const Type& type, const void* buffer, Count first, Count count, std::byte* file) const;
  Status from_file(const Type& type, void* buffer, Count first, Count count, std::byte* file) const;

 private:
  Status size_of_predefined(const Type& basic, int64_t& bytes) const;
  Status call(bool reading, const Type& type, void* buffer, Count first, Count count, std::byte* file) const;

  std::string name_;
  Kind kind_;
  Conversions functions_;
};

/// MPI_ERR_UNSUPPORTED_DATAREP for an unknown name.
Status find_representation(const char* name, std::shared_ptr<const Representation>& found);
/// MPI_ERR_DUP_DATAREP for a name that exists.
Status register_representation(const char* name, const Conversions& functions);

}  // namespace hearth::io
