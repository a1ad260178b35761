// Shared by the calls of the tool interface (MPI 5.0 chapter 15): categories and output arguments.
//
// Control variables are the parameters of src/base/param.def, performance variables the table in
// src/abi/calls_tool_pvar.cpp. A variable belongs to the category that its name begins with. Used under the
// lock of any-time functions.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "mpi.h"

namespace hearth::abi {

/// A category, and what is common to its control variables.
struct ToolCategory {
  const char* name;
  const char* text;
  int verbosity;
  int scope;  // MPI_T_SCOPE_CONSTANT: parameters of mpiexec
};
extern const ToolCategory tool_categories[];
extern const int tool_category_count;

/// The category of a variable.
int category_of(const char* variable_name);

int pvar_count();
const char* pvar_name(int index);

/// The type of variables that are flags: 0 is no, 1 is yes.
MPI_T_enum flag_enum();

/// An error of the tool interface, which has no message.
inline Status tool_error(int error_class) {
  return fail_with_code(error_class);
}

/// Writes a result that the caller may omit.
template <class T>
inline void put(T* place, T value) {
  if (place != nullptr) *place = value;
}
/// `length` is the size of `to`; on return, the length of the text there, with the closing 0. If `to` has no
/// room, it is the size that the whole text needs (MPI 5.0 section 15.3.3).
void put_text(const char* text, char* to, int* length);

// Called by the last MPI_T_finalize.
void drop_cvar_handles();
void drop_pvar_sessions();

}  // namespace hearth::abi
