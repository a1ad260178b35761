// Info hints of communicators, windows and files (MPI 5.0 sections 7.4.4, 11.4.3, 12.2.1, 12.2.7,
// 14.2.8): which keys are supported, and with which default. Other keys and invalid values are ignored, so
// that MPI_Comm_get_info, MPI_Win_get_info and MPI_File_get_info return hints in force only.
//
// Under the library's lock.
#pragma once

#include "objects/info.h"

namespace hearth::abi {

/// The memory that buffers may lie in; the value of mpi_memory_alloc_kinds.
constexpr const char* kMemoryKinds = "mpi,system";
constexpr const char* kMemoryKindsKey = "mpi_memory_alloc_kinds";

/// What a hint applies to, as bits.
constexpr unsigned kCommHints = 1;
constexpr unsigned kWindowHints = 2;
constexpr unsigned kAllocationHints = 4;        // of windows with memory from MPI, at creation
constexpr unsigned kSharedAllocationHints = 8;  // of windows from MPI_Win_allocate_shared, at creation

constexpr unsigned kFileHints = 16;

/// Adds to `kept` the hints of `given` that are supported in one of `scopes` and have a valid value.
void keep_hints(const objects::Info& given, unsigned scopes, objects::Info& kept);

/// All hints in force in `scopes`: those of `kept` (nullptr: none), and defaults for the others.
void list_hints(const objects::Info* kept, unsigned scopes, objects::Info& all);

}  // namespace hearth::abi
