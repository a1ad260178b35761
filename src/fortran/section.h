// Choice buffers of mpi_f08, which arrive as descriptors of arrays (Fortran 2018, section 18.5): sections
// with any strides, and how a call passes those that are not contiguous.
//
// The elements of a section, in array order, are the buffer: element type and count of the call apply to
// them as if they were contiguous (MPI 5.0 section 19.1.12).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi.h"

namespace hearth::fortran {

/// The layout of ISO_Fortran_binding.h in GCC and LLVM.
struct Descriptor {
  struct Dimension {
    ptrdiff_t lower_bound;
    ptrdiff_t extent;  // -1: the last dimension of an assumed-size array
    ptrdiff_t stride;  // in bytes; may be negative
  };
  void* base_addr;  // the first element in array order
  size_t elem_len;  // in bytes
  int version;
  signed char rank;
  signed char attribute;
  int16_t type;
  Dimension dim[15];
};

/// Whether the elements are adjacent, in array order. Scalars and arrays without elements are.
inline bool is_contiguous(const Descriptor& section) {
  auto expected = static_cast<ptrdiff_t>(section.elem_len);
  bool adjacent = true;
  for (int i = 0; i < section.rank; ++i) {
    const auto& dimension = section.dim[i];
    if (dimension.extent == 0) return true;
    if (dimension.extent != 1 && dimension.stride != expected) adjacent = false;
    expected *= dimension.extent;
  }
  return adjacent;
}

/// A buffer that a call can use only if it is contiguous.
class Contiguous {
 public:
  explicit Contiguous(const Descriptor& section) : problem_(!is_contiguous(section)) {}
  const char* problem() const;

 private:
  bool problem_;
};

/// A section that a blocking call uses through a contiguous copy of it.
class Copied {
 public:
  enum class Way { in, in_out };
  Copied(const Descriptor& section, Way way) : section_(section), way_(way), address_(section.base_addr) {
    if (!is_contiguous(section)) [[unlikely]]
      copy_in();
  }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;
  ~Copied() {
    if (is_copy_) [[unlikely]]
      release();
  }
  void* get() const { return address_; }
  const char* problem() const { return problem_; }
  /// Copies the elements back.
  void finish() {
    if (is_copy_ && way_ == Way::in_out) [[unlikely]]
      copy_out();
  }

 private:
  void copy_in();
  void copy_out();
  void release();

  const Descriptor& section_;
  Way way_;
  bool is_copy_ = false;
  void* address_;
  const char* problem_ = nullptr;
};

/// A derived datatype, freed at the end of the call; a pending operation holds its own reference.
struct OwnType {
  OwnType() = default;
  OwnType(const OwnType&) = delete;
  OwnType& operator=(const OwnType&) = delete;
  ~OwnType() {
    if (type != MPI_DATATYPE_NULL) PMPI_Type_free(&type);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// `count` elements of `type` in a section: one element of a derived datatype if the section has gaps.
class Single {
 public:
  Single(const Descriptor& section, MPI_Count count, MPI_Datatype type)
      : address_(section.base_addr), count_(count), type_(type) {
    if (!is_contiguous(section)) [[unlikely]]
      make_type(section);
  }
  void* get() const { return address_; }
  struct Count {
    MPI_Count value;
    operator int() const { return static_cast<int>(value); }
    operator MPI_Count() const { return value; }
  };
  Count count() const { return {count_}; }
  MPI_Datatype type() const { return type_; }
  const char* problem() const { return problem_; }

 private:
  void make_type(const Descriptor& section);

  void* address_;
  MPI_Count count_;
  MPI_Datatype type_;
  OwnType own_;
  const char* problem_ = nullptr;
};

/// Blocks of elements of `type` for several processes: `type` resized to the distance of the runs.
class Blocks {
 public:
  Blocks(const Descriptor& section, MPI_Datatype type);
  void* get() const { return address_; }
  MPI_Datatype type() const { return type_; }
  const char* problem() const { return problem_; }

 private:
  void* address_;
  MPI_Datatype type_;
  OwnType own_;
  const char* problem_ = nullptr;
};

}  // namespace hearth::fortran
