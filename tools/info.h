// `hearth info`: what was built, what the machine is, what is in force, and why messages go the way they go.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"

namespace hearth::tools {

struct InfoOptions {
  bool json = false;
  bool memory = false;            // memory per rank only
  bool explain = false;           // protocols only
  std::optional<uint64_t> bytes;  // of the message that --explain is about
  uint32_t ranks = 0;             // of the job that both are about; 0: not chosen
};

Status run_info(const InfoOptions& options);

}  // namespace hearth::tools
