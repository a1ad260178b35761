// The launcher of another MPI library or of a batch system, as seen by a rank: it provides the rank and the
// job size, and a key-value store for exchanging data between ranks. One implementation per protocol:
// bootstrap_pmi (PMI-1 and PMI-2), bootstrap_pmix. Created and used by the thread that initialises MPI; used
// later only to end the job.
//
//   put(name, bytes) ... fence() ... get(rank, name) ... all_have_read() ... finalize(); abort() at any time
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::launch {

class ForeignLauncher {
 public:
  virtual ~ForeignLauncher() = default;
  ForeignLauncher(const ForeignLauncher&) = delete;
  ForeignLauncher& operator=(const ForeignLauncher&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int app() const { return app_; }  // index of the program on the command line
  /// The protocol's name: "PMI-1".
  virtual const char* protocol() const = 0;

  /// Publishes bytes for the other ranks, which can read them after the next fence().
  Status put(const std::string& name, std::span<const std::byte> bytes);
  /// Waits until all ranks have called it.
  virtual Status fence() = 0;
  /// Reads the bytes that a rank put under a name before the last fence().
  Status get(int rank, const std::string& name, std::vector<std::byte>& bytes);
  /// Called after the last get(). Waits until all ranks have called it, if the server drops a rank's data
  /// when that rank ends.
  virtual Status all_have_read() { return {}; }

  /// Asks for the end of the whole job with this exit code. Returns; the caller then ends its own process.
  virtual void abort(int code, const std::string& text) = 0;
  /// Announces that this rank ends normally. Later calls do nothing.
  virtual void finalize() = 0;

 protected:
  /// A larger job is a launcher's error.
  static constexpr int kRanksMax = 1 << 24;

  ForeignLauncher() = default;
  /// Pre: each rank uses keys of its own; the text has letters and digits only, at most text_letters_max().
  virtual Status put_text(const std::string& key, const std::string& text) = 0;
  virtual Status get_text(int rank, const std::string& key, std::string& text) = 0;
  virtual size_t text_letters_max() const = 0;

  int rank_ = 0;
  int size_ = 1;
  int app_ = 0;
};

/// The foreign launcher that the environment announces.
struct LauncherSigns {
  enum class Server { none, pmi_descriptor, pmi_port, pmix };
  Server server = Server::none;
  int descriptor = -1;   // of pmi_descriptor
  std::string identity;  // distinguishes this server and rank from all others; "" without a server
};
LauncherSigns find_launcher();

/// Connects to the server that was found. If a later step fails, `launcher` is set all the same, to report
/// the end.
Status connect_to_launcher(const LauncherSigns& signs, std::unique_ptr<ForeignLauncher>& launcher);

/// Fails if variables announce a job of several ranks but no server can be asked; the message names the
/// remedy. Pre: find_launcher() found no server.
Status refuse_lost_rank();

/// A process outside srun in a Slurm job of several tasks runs alone, which is usually a mistake: one line
/// with the remedy; "" if there is no such job. Pre: find_launcher() found no server.
std::string note_about_running_alone();

/// note_rank() records in the environment that this process is a rank. Programs that it starts inherit the
/// record: started_by_rank() is true if the record is another process's and names this server, so that this
/// process is no rank.
void note_rank(const LauncherSigns& signs);
bool started_by_rank(const LauncherSigns& signs);

}  // namespace hearth::launch
