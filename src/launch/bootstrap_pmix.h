// A launcher with a PMIx server: PRRTE's prterun, Open MPI's mpirun, Slurm's srun --mpi=pmix, PALS and
// others. The wire protocol is private to the PMIx library (libpmix), which is loaded at run time if such a
// launcher started this process. The library runs a thread of its own until finalize().
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "launch/bootstrap_launcher.h"
#include "launch/bootstrap_pmix_types.h"

namespace hearth::launch {

/// Whether the environment names a PMIx server.
bool pmix_server_named();

class PmixLauncher final : public ForeignLauncher {
 public:
  static Status open(std::unique_ptr<ForeignLauncher>& result);

  const char* protocol() const override { return "PMIx"; }
  Status fence() override;
  Status all_have_read() override;
  void abort(int code, const std::string& text) override;
  void finalize() override;

 private:
  PmixLauncher() = default;
  Status load();
  Status put_text(const std::string& key, const std::string& text) override;
  Status get_text(int rank, const std::string& key, std::string& text) override;
  size_t text_letters_max() const override { return 65536; }
  Status get_number(uint32_t rank, const char* key, int& number);
  Status refused(const char* what, int status) const;

  pmix::Functions call_ = {};
  pmix::Process self_ = {};
  bool connected_ = false;
};

}  // namespace hearth::launch
