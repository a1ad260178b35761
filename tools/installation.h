// The location of this installation of Hearth, derived from the running program, so that the whole
// installation can be moved. Called by the tools, once.
#pragma once

#include <filesystem>

#include "base/status.h"

namespace hearth::tools {

/// Files at the same places in the installation and in the build folder:
/// bin/hearth, bin/mpiexec, libexec/hearth/bench_driver, tune_probe, tune_collective_probe, skew_probe and
/// paper_probe, lib/libmpi_abi.so.1.
struct Installation {
  std::filesystem::path root;
  std::filesystem::path launcher;
  std::filesystem::path driver;
  std::filesystem::path tune_probe;
  std::filesystem::path tune_collective_probe;
  std::filesystem::path skew_probe;
  std::filesystem::path paper_probe;
  std::filesystem::path library;
};

Status find_installation(Installation& installation);

}  // namespace hearth::tools
