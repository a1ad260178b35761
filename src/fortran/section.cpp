#include "fortran/section.h"

#include <cstdlib>
#include <cstring>

namespace hearth::fortran {
namespace {

/// The runs of adjacent elements of a section, and the dimensions that repeat them.
struct Runs {
  MPI_Count bytes;      // of each run
  int first_dimension;  // the dimensions from here on have gaps
  MPI_Count count;      // number of runs
};

Runs runs_of(const Descriptor& section) {
  Runs runs{static_cast<MPI_Count>(section.elem_len), 0, 1};
  while (runs.first_dimension < section.rank) {
    const auto& dimension = section.dim[runs.first_dimension];
    if (dimension.extent != 1 && dimension.stride != runs.bytes) break;
    runs.bytes *= dimension.extent;
    ++runs.first_dimension;
  }
  for (int i = runs.first_dimension; i < section.rank; ++i) runs.count *= section.dim[i].extent;
  return runs;
}

/// Distance of run number `index` from the first run, in bytes.
MPI_Count displacement_of(const Descriptor& section, const Runs& runs, MPI_Count index) {
  MPI_Count bytes = 0;
  for (int i = runs.first_dimension; i < section.rank; ++i) {
    const auto& dimension = section.dim[i];
    bytes += index % dimension.extent * dimension.stride;
    index /= dimension.extent;
  }
  return bytes;
}

template <class Visit>
void for_each_run(const Descriptor& section, const Visit& visit) {
  const Runs runs = runs_of(section);
  auto* const base = static_cast<std::byte*>(section.base_addr);
  for (MPI_Count i = 0; i < runs.count; ++i) {
    visit(base + displacement_of(section, runs, i), i * runs.bytes, static_cast<size_t>(runs.bytes));
  }
}

constexpr const char* kNoMemoryForCopy = "no memory for a copy of a section with gaps";
constexpr const char* kGaps =
    "the buffer is a section of an array with gaps, which this call cannot use. Remedy: pass a contiguous "
    "array, and copy from or into the section yourself";
constexpr const char* kUnfitting =
    "the datatype does not fit the elements of the section: the section has gaps, and its runs of adjacent "
    "elements are no multiple of the datatype, or the datatype has gaps itself. Remedy: pass a contiguous "
    "array, or the whole array and a datatype of the section (MPI_Type_create_subarray)";
constexpr const char* kTooShort = "count is larger than the section has elements";
constexpr const char* kNoType = "the library could not make a datatype of the section";

/// Size of a datatype without gaps; 0 if it has gaps.
MPI_Count dense_size(MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS) return 0;
  if (PMPI_Type_get_extent_c(type, &lower_bound, &extent) != MPI_SUCCESS) return 0;
  return lower_bound == 0 && extent == size ? size : 0;
}

/// Frees `type` and replaces it by `next`. `made`: the error code of the call that created `next`.
bool take(int made, MPI_Datatype& type, const MPI_Datatype& next) {
  if (type != MPI_DATATYPE_NULL) PMPI_Type_free(&type);
  type = made == MPI_SUCCESS ? next : MPI_DATATYPE_NULL;
  return made == MPI_SUCCESS;
}

/// All runs: `per_run` elements of `element` each, repeated by the dimensions.
bool make_whole(const Descriptor& section, const Runs& runs, MPI_Count per_run, MPI_Datatype element,
                MPI_Datatype& type) {
  MPI_Datatype next = MPI_DATATYPE_NULL;
  if (!take(PMPI_Type_contiguous_c(per_run, element, &next), type, next)) return false;
  for (int i = runs.first_dimension; i < section.rank; ++i) {
    const auto& dimension = section.dim[i];
    if (!take(PMPI_Type_create_hvector_c(dimension.extent, 1, dimension.stride, type, &next), type, next)) {
      return false;
    }
  }
  return PMPI_Type_commit(&type) == MPI_SUCCESS;
}

/// The first `count` elements of `element`, `per_run` in each run.
bool make_part(const Descriptor& section, const Runs& runs, MPI_Count per_run, MPI_Count count,
               MPI_Datatype element, MPI_Datatype& type) {
  const MPI_Count needed = (count + per_run - 1) / per_run;
  auto* const lengths =
      static_cast<MPI_Count*>(std::calloc(2 * static_cast<size_t>(needed) + 1, sizeof(MPI_Count)));
  if (lengths == nullptr) return false;
  MPI_Count* const displacements = lengths + needed;
  for (MPI_Count i = 0; i < needed; ++i) {
    lengths[i] = i + 1 < needed ? per_run : count - i * per_run;
    displacements[i] = displacement_of(section, runs, i);
  }
  const int code = PMPI_Type_create_hindexed_c(needed, lengths, displacements, element, &type);
  std::free(lengths);
  if (code != MPI_SUCCESS) type = MPI_DATATYPE_NULL;
  return code == MPI_SUCCESS && PMPI_Type_commit(&type) == MPI_SUCCESS;
}

/// Whether the distance between consecutive runs is the same in the whole section; `stride`: that distance.
bool has_one_stride(const Descriptor& section, const Runs& runs, MPI_Count& stride) {
  stride = section.dim[runs.first_dimension].stride;
  MPI_Count next = stride * section.dim[runs.first_dimension].extent;
  for (int i = runs.first_dimension + 1; i < section.rank; ++i) {
    const auto& dimension = section.dim[i];
    if (dimension.extent != 1 && dimension.stride != next) return false;
    next *= dimension.extent;
  }
  return true;
}

}  // namespace

const char* Contiguous::problem() const {
  return problem_ ? kGaps : nullptr;
}

void Copied::copy_in() {
  const Runs runs = runs_of(section_);
  void* const copy = std::malloc(static_cast<size_t>(runs.bytes * runs.count));
  if (copy == nullptr) {
    problem_ = kNoMemoryForCopy;
    return;
  }
  address_ = copy;
  is_copy_ = true;
  for_each_run(section_, [&](const std::byte* run, MPI_Count offset, size_t bytes) {
    std::memcpy(static_cast<std::byte*>(copy) + offset, run, bytes);
  });
}

void Copied::release() {
  std::free(address_);
}

void Copied::copy_out() {
  for_each_run(section_, [&](std::byte* run, MPI_Count offset, size_t bytes) {
    std::memcpy(run, static_cast<const std::byte*>(address_) + offset, bytes);
  });
}

void Single::make_type(const Descriptor& section) {
  if (count_ <= 0) return;
  const MPI_Count size = dense_size(type_);
  const Runs runs = runs_of(section);
  if (size == 0 || runs.bytes % size != 0) {
    problem_ = kUnfitting;
    return;
  }
  const MPI_Count per_run = runs.bytes / size;
  if (count_ > per_run * runs.count) {
    problem_ = kTooShort;
    return;
  }
  const bool made = count_ == per_run * runs.count
                        ? make_whole(section, runs, per_run, type_, own_.type)
                        : make_part(section, runs, per_run, count_, type_, own_.type);
  if (!made) problem_ = kNoType;
  type_ = own_.type;
  count_ = 1;
}

Blocks::Blocks(const Descriptor& section, MPI_Datatype type) : address_(section.base_addr), type_(type) {
  if (is_contiguous(section)) [[likely]]
    return;
  const Runs runs = runs_of(section);
  MPI_Count stride = 0;
  // Each run of adjacent elements becomes one element of the datatype.
  if (dense_size(type) != runs.bytes || !has_one_stride(section, runs, stride)) {
    problem_ = kUnfitting;
    return;
  }
  if (PMPI_Type_create_resized_c(type, 0, stride, &own_.type) != MPI_SUCCESS ||
      PMPI_Type_commit(&own_.type) != MPI_SUCCESS) {
    problem_ = kNoType;
  }
  type_ = own_.type;
}

}  // namespace hearth::fortran
