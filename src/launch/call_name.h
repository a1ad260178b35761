// The name of an MPI function by its number, for reports.
#pragma once

#include "hearth_calls.h"

namespace hearth::launch {

inline const char* call_name(int number) {
  return number >= 0 && number < static_cast<int>(abi::Call::count_) ? abi::call_table[number].name : "?";
}

}  // namespace hearth::launch
