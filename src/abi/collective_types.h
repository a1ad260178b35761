// The datatypes of MPI_Alltoallw and its variants: an array of handles, one for each rank.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "abi/handle.h"
#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::abi {

class RankTypes {
 public:
  /// `name` is that of the argument. Fails with MPI_ERR_TYPE if a handle cannot be used to communicate.
  Status read(const MPI_Datatype* handles, int ranks, const char* name);
  datatype::Type* const* get() const { return types_; }

 private:
  static constexpr size_t kOwn = 64;

  std::array<datatype::Type*, kOwn> own_;
  datatype::Type** types_ = own_.data();
  std::unique_ptr<datatype::Type*[]> more_;
};

}  // namespace hearth::abi
