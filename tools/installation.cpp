#include "installation.h"

#include "mpi.h"

namespace hearth::tools {

Status find_installation(Installation& installation) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return fail(MPI_ERR_OTHER,
                "cannot tell where this program lies: /proc/self/exe: %s. Likely cause: /proc is not mounted",
                error.message().c_str());
  }
  installation.root = self.parent_path().parent_path();
  installation.launcher = installation.root / "bin" / "mpiexec";
  installation.driver = installation.root / "libexec" / "hearth" / "bench_driver";
  installation.tune_probe = installation.root / "libexec" / "hearth" / "tune_probe";
  installation.tune_collective_probe = installation.root / "libexec" / "hearth" / "tune_collective_probe";
  installation.skew_probe = installation.root / "libexec" / "hearth" / "skew_probe";
  installation.paper_probe = installation.root / "libexec" / "hearth" / "paper_probe";
  installation.library = installation.root / HEARTH_LIBDIR / "libmpi_abi.so.1";
  return {};
}

}  // namespace hearth::tools
