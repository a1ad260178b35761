// `hearth info`: the build, the machine, the parameters in effect, and why messages take their protocols; of
// a program, for which MPI library it was built and which it gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace hearth::tools {

struct InfoOptions {
  bool json = false;
  bool memory = false;            // memory per rank only
  bool explain = false;           // protocols only
  std::optional<uint64_t> bytes;  // message length for --explain
  std::string program;            // only about this program; "" for none
  uint32_t ranks = 0;             // job size for both; 0: not given
};

Status run_info(const InfoOptions& options);

}  // namespace hearth::tools
