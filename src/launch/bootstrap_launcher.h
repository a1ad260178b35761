// The launcher of another MPI library or of a batch system, as a rank sees it: who am I, and a board on which
// ranks leave bytes for each other. One implementation per protocol: bootstrap_pmi (PMI-1 and PMI-2),
// bootstrap_pmix. Made and used by the thread that starts MPI; later only to end the job.
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
  int app() const { return app_; }  // which program of the command line
  /// "PMI-1": how we speak with it.
  virtual const char* protocol() const = 0;

  /// Leaves bytes for the other ranks, who can read them after the next fence().
  Status put(const std::string& name, std::span<const std::byte> bytes);
  /// Waits until all ranks have come here.
  virtual Status fence() = 0;
  /// What a rank has put under a name before the last fence().
  Status get(int rank, const std::string& name, std::vector<std::byte>& bytes);
  /// After the last get(): waits until all ranks have come here, where what one has put is lost once it ends.
  virtual Status all_have_read() { return {}; }

  /// Asks for the end of the whole job with this exit code. Returns; the caller ends itself.
  virtual void abort(int code, const std::string& text) = 0;
  /// This rank will end well. Calls after the first do nothing.
  virtual void finalize() = 0;

 protected:
  ForeignLauncher() = default;
  /// Keys are different for each rank; text is letters and digits, at most text_letters_max() of them.
  virtual Status put_text(const std::string& key, const std::string& text) = 0;
  virtual Status get_text(int rank, const std::string& key, std::string& text) = 0;
  virtual size_t text_letters_max() const = 0;

  int rank_ = 0;
  int size_ = 1;
  int app_ = 0;
};

/// What the environment says about a launcher of others.
struct LauncherSigns {
  enum class Server { none, pmi_descriptor, pmi_port, pmix };
  Server server = Server::none;
  int descriptor = -1;   // of pmi_descriptor
  std::string identity;  // tells this server and rank from any other; "" without a server
};
LauncherSigns find_launcher();

/// Connects to the server that was found.
Status connect_to_launcher(const LauncherSigns& signs, std::unique_ptr<ForeignLauncher>& launcher);

/// An error where variables say that this is one of several ranks, but no server is there to ask; it names
/// the remedy. Pre: find_launcher() has found none.
Status refuse_lost_rank();

/// Notes in the environment that this process is a rank, for the programs that it starts, and tells whether
/// such a note of another process is there for this very server: then this process is no rank.
void note_rank(const LauncherSigns& signs);
bool started_by_rank(const LauncherSigns& signs);

}  // namespace hearth::launch
