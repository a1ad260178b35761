// Libraries that programs load without asking: libhearth_check.so, and libhearth_heap.so, the heap that ranks
// share (heap/heap.h), which not every program can do with. mpiexec only.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// A library of this installation; "" where there is none, or its path has letters that LD_PRELOAD cannot
/// hold.
std::string library_beside(const std::string& name);
/// Has programs with this environment load a library, behind what they preload already.
void add_preload(const std::string& library, std::vector<std::string>& environment);

/// libhearth_heap.so of this installation; "" where there is none, or its path has letters that LD_PRELOAD
/// cannot hold.
std::string heap_library();

/// Whether a program is linked against MPI, or is Python, which loads it later. Others, such as a shell or a
/// debugger, have no use for a shared heap themselves, and may start programs that cannot do with it.
bool is_known_to_use_mpi(const std::string& program);

/// Why a program cannot do with a malloc that is put in front of its own; "" when it can. What is no
/// executable, such as a script, is started by a program that can.
std::string reason_against_heap(const std::string& program, const std::vector<std::string>& environment);

}  // namespace hearth::launch
