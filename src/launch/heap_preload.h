// Preloads libraries into the ranks' programs: libhearth_check.so, and libhearth_heap.so, the shared heap
// (heap/heap.h), which some programs do not support. mpiexec only.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// The lib folder of this installation; "" if /proc is not mounted.
std::string library_folder();
/// Path of a library of this installation; "" if it does not exist or has characters that LD_PRELOAD cannot
/// hold.
std::string library_beside(const std::string& name);
/// Adds a library to LD_PRELOAD in this environment, after the libraries that are there already.
void add_preload(const std::string& library, std::vector<std::string>& environment);

/// Path of libhearth_heap.so; "" as in library_beside().
std::string heap_library();

/// Why a program does not support a malloc that is placed in front of its own; "" if it does. A file that is
/// not an executable, such as a script, counts as supporting it, because its interpreter does.
std::string reason_against_heap(const std::string& program, const std::vector<std::string>& environment);

}  // namespace hearth::launch
