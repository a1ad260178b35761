#include "launch/bootstrap_launcher.h"

#include <cstdlib>

#include "base/os_io.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "base/param.h"
#include "launch/bootstrap_pmi.h"
#include "launch/bootstrap_pmix.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

// HEARTH_JOINED=pid:identity: record of a rank of a foreign launcher, for the programs that it starts.
constexpr const char* kJoined = "HEARTH_JOINED";
// Slurm numbers steps without parallel tasks (a batch script, an allocation's shell) from the end of the
// range.
constexpr uint64_t kOrdinaryStepMax = 0xfffffff0;

std::string key_of(int rank, const std::string& name) {
  return "hearth-" + name + "-" + std::to_string(rank);
}

// Variables that give the number of ranks. `fix`: the remedy if there is no server to ask.
struct CountVariable {
  const char* name;
  const char* fix;
};
constexpr CountVariable kCountVariables[] = {
    {"PMI_SIZE",
     "PMI_FD, the socket to that launcher's server, is not open: a program between the launcher and this one "
     "has closed it, or the variables are left over from another program. Remedy: start this program by the "
     "launcher itself"},
    {"OMPI_COMM_WORLD_SIZE",
     "there is no PMIx server to ask (PMIX_NAMESPACE and PMIX_SERVER_URI are missing; Open MPI before 5 "
     "and a launcher without PMIx support set none). Remedy: start it with prterun or mpirun of Open MPI 5"},
    {"PALS_SIZE", "it sets neither PMI_FD nor PMIx variables. Remedy: ask it for PMIx or PMI-2"},
    {"MV2_COMM_WORLD_SIZE", "it sets neither PMI_FD nor PMIx variables. Remedy: start it with mpiexec.hydra"},
};

bool in_slurm_step() {
  uint64_t step = 0;
  std::string_view text = variable("SLURM_STEP_ID");
  return take_number(text, step) && step < kOrdinaryStepMax;
}

Status refuse(const char* name, const char* fix) {
  return fail(
      MPI_ERR_OTHER,
      "started by the launcher of another MPI library (%s=%s), which cannot tell Hearth's ranks of each "
      "other: %s, or with Hearth's mpiexec: mpiexec -n %s %s",
      name, std::getenv(name), fix, std::getenv(name), os::program_name().c_str());
}

}  // namespace

Status ForeignLauncher::put(const std::string& name, std::span<const std::byte> bytes) {
  const std::string text = to_hex(bytes);
  if (text.size() > text_letters_max()) {
    return fail(MPI_ERR_OTHER, "%zu bytes are more than the launcher's server (%s) takes at once, %zu",
                bytes.size(), protocol(), text_letters_max() / 2);
  }
  return put_text(key_of(rank_, name), text);
}

Status ForeignLauncher::get(int rank, const std::string& name, std::vector<std::byte>& bytes) {
  std::string text;
  HEARTH_TRY(get_text(rank, key_of(rank, name), text));
  if (from_hex(text, bytes)) return {};
  return fail(MPI_ERR_OTHER, "the launcher's server (%s) gave '%s' for %s, which no rank of Hearth wrote",
              protocol(), printable(text).c_str(), key_of(rank, name).c_str());
}

LauncherSigns find_launcher() {
  using Server = LauncherSigns::Server;
  LauncherSigns signs;
  // An open socket came from the innermost launcher, because launchers close descriptors that they do not
  // know.
  if (int descriptor = -1; small_variable("PMI_FD", descriptor) && os::is_socket(descriptor)) {
    signs.server = Server::pmi_descriptor;
    signs.descriptor = descriptor;
    signs.identity = "socket:" + std::to_string(os::identity_of(descriptor).inode);
  } else if (!variable("PMIX_NAMESPACE").empty() && pmix_server_named()) {
    signs.server = Server::pmix;
    signs.identity = "pmix:" + std::string(variable("PMIX_NAMESPACE")) + ":";
    signs.identity += variable("PMIX_RANK");
  } else if (!variable("PMI_PORT").empty() && !variable("PMI_ID").empty()) {
    signs.server = Server::pmi_port;
    signs.identity = "port:" + std::string(variable("PMI_PORT")) + ":";
    signs.identity += variable("PMI_ID");
  }
  return signs;
}

Status connect_to_launcher(const LauncherSigns& signs, std::unique_ptr<ForeignLauncher>& launcher) {
  switch (signs.server) {
    case LauncherSigns::Server::pmi_descriptor:
      return PmiLauncher::from_descriptor(signs.descriptor, launcher);
    case LauncherSigns::Server::pmi_port:
      return PmiLauncher::from_port(std::string(variable("PMI_PORT")), std::string(variable("PMI_ID")),
                                    launcher);
    case LauncherSigns::Server::pmix:
      return PmixLauncher::open(launcher);
    case LauncherSigns::Server::none:
      break;
  }
  return fail(MPI_ERR_INTERN, "no launcher's server to connect to");
}

Status refuse_lost_rank() {
  bool alone = false;
  int count = 0;
  for (const CountVariable& candidate : kCountVariables) {
    if (!small_variable(candidate.name, count)) continue;
    if (count > 1) return refuse(candidate.name, candidate.fix);
    alone = true;
  }
  if (in_slurm_step() && small_variable("SLURM_STEP_NUM_TASKS", count)) {
    if (count > 1) {
      return refuse("SLURM_STEP_NUM_TASKS",
                    "srun was told of no PMI that Hearth speaks. Remedy: start it with srun --mpi=pmi2 or "
                    "srun --mpi=pmix");
    }
    alone = true;
  }
  if (alone) return {};
  if (!variable("PMIX_NAMESPACE").empty()) {
    return fail(MPI_ERR_OTHER,
                "started by a launcher with PMIx (PMIX_NAMESPACE=%s), but PMIX_SERVER_URI, by which its "
                "server is found, is missing. Remedy: start this program by the launcher itself, or with "
                "Hearth's mpiexec: mpiexec -n N %s",
                std::getenv("PMIX_NAMESPACE"), os::program_name().c_str());
  }
  return {};
}

std::string note_about_running_alone() {
  int tasks = 0;
  if (variable("SLURM_JOB_ID").empty() || in_slurm_step() || !small_variable("SLURM_NTASKS", tasks) ||
      tasks < 2) {
    return "";
  }
  const std::string count = std::to_string(tasks);
  const std::string name = os::program_name();
  return "note: " + name + " runs alone, as rank 0 of 1: it was started outside srun in a Slurm job of " +
         count + " tasks. Remedy, if all of them were meant: srun --mpi=pmi2 " + name + ", or mpiexec -n " +
         count + " " + name;
}

void note_rank(const LauncherSigns& signs) {
  ::setenv(kJoined, (std::to_string(os::process_id()) + ":" + signs.identity).c_str(), 1);
}

bool started_by_rank(const LauncherSigns& signs) {
  std::string_view note = variable(kJoined);
  uint64_t pid = 0;
  if (!take_number(note, pid) || !note.starts_with(":")) return false;
  note.remove_prefix(1);
  if (pid == static_cast<uint64_t>(os::process_id())) return false;
  // A rank's socket is close-on-exec, so an open socket means a launcher of this process's own.
  return signs.server == LauncherSigns::Server::none || signs.identity == note;
}

}  // namespace hearth::launch
