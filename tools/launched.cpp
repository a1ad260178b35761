#include "launched.h"

#include <cerrno>
#include <cstring>

#include "base/os_process.h"
#include "launch/bootstrap_launcher.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

extern char** environ;

namespace hearth::tools {

int launched_rank() {
  const launch::LauncherSigns signs = launch::find_launcher();
  if (signs.server == launch::LauncherSigns::Server::none || launch::started_by_rank(signs)) return -1;
  int rank = -1;
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "PMI_ID", "SLURM_PROCID"}) {
    if (launch::small_variable(name, rank)) return rank;
  }
  return -1;
}

Status become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  os::become_program(words[0], words.data(), environ);
  return fail(MPI_ERR_OTHER, "cannot start '%s': %s", words[0], std::strerror(errno));
}

}  // namespace hearth::tools
