// A launcher with a PMI-1 or PMI-2 server: Hydra (MPICH, Intel MPI), Slurm's srun --mpi=pmi2, Flux and
// others. The server holds the other end of an inherited socket (PMI_FD) or listens on a port (PMI_PORT).
#pragma once

#include <memory>
#include <string>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/bootstrap_launcher.h"
#include "launch/bootstrap_pmi_message.h"

namespace hearth::launch {

class PmiLauncher final : public ForeignLauncher {
 public:
  /// Connects over PMI_FD. The descriptor becomes close-on-exec and stays open until finalize() or the
  /// process's end.
  static Status from_descriptor(int descriptor, std::unique_ptr<ForeignLauncher>& result);
  /// Connects to PMI_PORT=host:port with the identity that PMI_ID gives.
  static Status from_port(const std::string& address, const std::string& id,
                          std::unique_ptr<ForeignLauncher>& result);

  const char* protocol() const override { return version_ == 2 ? "PMI-2" : "PMI-1"; }
  Status fence() override;
  void abort(int code, const std::string& text) override;
  void finalize() override;

 private:
  explicit PmiLauncher(os::Descriptor server) : server_(std::move(server)) {}

  Status put_text(const std::string& key, const std::string& text) override;
  Status get_text(int rank, const std::string& key, std::string& text) override;
  size_t text_letters_max() const override { return text_letters_max_; }

  Status introduce(const std::string& id);
  Status start();
  Status offer_version(int version);
  Status start_version_1();
  Status start_version_2();

  Status send(const PmiMessage& message);
  /// Sends a request and receives the answer, whose command must be `expected` and, with `must_succeed`, its
  /// rc 0.
  Status ask(const PmiMessage& request, const char* expected, PmiMessage& answer, bool must_succeed = true);
  Status receive(const char* expected, PmiMessage& answer);
  Status receive_line(std::string& line);
  Status receive_bytes(size_t bytes, std::string& text);
  Status receive_more();

  os::Descriptor server_;
  int version_ = 1;
  bool agreed_ = false;  // with the server, on the version
  std::string space_;    // the server's name for the job
  size_t text_letters_max_ = 1023;
  std::string received_;  // bytes that are not parsed yet
};

}  // namespace hearth::launch
