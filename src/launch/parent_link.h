// mpiexec's side of the socket to the rank that started it by MPI_Comm_spawn (bootstrap_spawn.h). Until the
// ranks are connected, mpiexec's messages go to that rank, which returns them as an error of the call;
// afterwards they go to standard error as usual. One thread.
#pragma once

#include <string>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/options.h"

namespace hearth::launch {

class ParentLink {
 public:
  enum class News { none, connected, parted, gone };

  /// Takes over the descriptor of --spawned-by and reads the order into `job`.
  Status receive(int descriptor, JobSpec& job);
  bool open() const { return socket_.open(); }
  int descriptor() const { return socket_.number(); }

  /// Whether messages are collected for the spawning rank.
  bool collects() const { return open() && !connected_; }
  void note(const std::string& text);
  /// Reads the next SpawnWord of the spawning rank; the link is closed after `parted` and `gone`.
  News read();
  /// Reports the end of a job that was not connected, with the messages noted.
  void report(int code);
  /// Number of processes that share the processors with this job, those of the parent's job.
  int others() const { return others_; }

 private:
  os::Descriptor socket_;
  bool connected_ = false;
  int others_ = 0;
  std::string text_;
};

}  // namespace hearth::launch
