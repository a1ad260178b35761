// `hearth top`: shows repeatedly what the ranks of a running job do, from another terminal.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::tools {

struct TopOptions {
  int pid = 0;                // of mpiexec or a rank; 0: the only running job
  bool once = false;          // print a table and end
  bool json = false;          // with once
  std::string sort = "rank";  // a column's name
  double seconds = 1;         // between two samples
};

/// The names of columns to sort by.
inline constexpr const char* kTopOrders[] = {"rank",       "state", "cpu", "wait",
                                             "unexpected", "in",    "out", "files"};

Status run_top(const TopOptions& options);

}  // namespace hearth::tools
