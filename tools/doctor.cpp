#include "doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/os_io.h"
#include "base/os_library.h"
#include "base/os_machine.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "doctor_reach.h"
#include "facts.h"
#include "installation.h"
#include "launch/bootstrap_launcher.h"
#include "launch/hosts.h"
#include "launched.h"
#include "mpi.h"
#include "pretty.h"
#include "program_lines.h"

namespace hearth::tools {
namespace {

constexpr uint64_t kOpenFilesMin = 1024;
constexpr uint64_t kLockedBytesMin = uint64_t{64} << 20;

/// Rows of the report. `remedy` is printed if the row is not ok.
class Report {
 public:
  void add(const char* what, bool ok, const std::string& found, const std::string& remedy = "") {
    rows_.push_back(
        {{"what", what}, {"outcome", ok ? "ok" : "not"}, {"found", found}, {"remedy", ok ? "" : remedy}});
    healthy_ = healthy_ && ok;
  }
  bool healthy() const { return healthy_; }
  void print(bool json) const {
    if (json) {
      fmt::print("{}\n", Json{{"lines", rows_}, {"healthy", healthy_}}.dump(1));
      return;
    }
    for (const Json& row : rows_) {
      fmt::print("{:<4} {:<24} {}\n", row.at("outcome").get<std::string>(), row.at("what").get<std::string>(),
                 row.at("found").get<std::string>());
      if (const auto remedy = row.at("remedy").get<std::string>(); !remedy.empty())
        fmt::print("{:<29} remedy: {}\n", "", remedy);
    }
  }

 private:
  Json rows_ = Json::array();
  bool healthy_ = true;
};

/// The first program of that name in PATH; "" if there is none.
std::string find_in_path(const char* name) {
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "";
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    if (os::is_executable(candidate.c_str())) return candidate;
    at = end + 1;
  }
  return "";
}

/// Whether the PMIx library that a launcher's ranks need can be found: by the system, or next to the
/// launcher.
bool has_pmix(const std::string& launcher) {
  std::string problem;
  if (os::open_library("libpmix.so.2", problem) != nullptr) return true;
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(launcher, error).parent_path().parent_path();
  for (const char* folder : {"lib", "lib64", "lib/openmpi", "lib/pmix"}) {
    if (os::path_exists((root / folder / "libpmix.so.2").c_str())) return true;
  }
  return false;
}

/// The PMI versions that Slurm lists: "pmi2, pmix"; "" if it lists none.
std::string pmis_of_slurm(const std::string& srun) {
  std::string found;
  const auto take = [&found](const std::string& line) {
    for (const char* name : {"pmi2", "pmix"}) {
      const bool named = line.find(name) != std::string::npos;
      if (named && found.find(name) == std::string::npos)
        found += (found.empty() ? "" : ", ") + std::string(name);
    }
    return true;
  };
  static_cast<void>(
      for_each_line({"sh", "-c", "timeout 10 \"$1\" --mpi=list 2>&1 || true", "sh", srun}, take));
  return found;
}

void check_launchers(Report& report) {
  Installation place;
  const bool installed = find_installation(place).ok() && std::filesystem::exists(place.launcher);
  report.add("launcher, one machine", installed,
             installed ? place.launcher.string() : "no mpiexec beside this program",
             "install Hearth as a whole: make install");
  std::vector<std::string> found;
  bool usable = false;
  std::string remedy =
      "install PRRTE, MPICH's Hydra (Debian and PyPI: mpich) or Slurm, or ignore it where one machine is "
      "enough";
  for (const char* name : {"prterun", "mpiexec.hydra", "srun"}) {
    const std::string path = find_in_path(name);
    if (path.empty()) continue;
    const std::string title = name;
    if (title == "prterun") {
      const bool pmix = has_pmix(path);
      found.push_back(path + (pmix ? " (PMIx)" : " (PMIx, but no libpmix.so.2)"));
      usable = usable || pmix;
      if (!pmix)
        remedy = "install libpmix (Debian: libpmix2), or name its file in HEARTH_LAUNCH_PMIX_LIBRARY";
    } else if (title == "srun") {
      const std::string pmis = pmis_of_slurm(path);
      found.push_back(
          fmt::format("{} ({})", path, pmis.empty() ? "its PMIs cannot be asked for here" : "--mpi=" + pmis));
      usable = true;
    } else {
      found.push_back(path + " (PMI-1)");
      usable = true;
    }
  }
  report.add(
      "launcher, more machines", usable,
      found.empty() ? "no prterun, mpiexec.hydra or srun in PATH" : fmt::format("{}", fmt::join(found, ", ")),
      remedy);
}

void check_names(Report& report) {
  const std::string name = os::host_name();
  std::string problem;
  const std::vector<std::string> addresses = os::addresses_of_host(name, problem);
  const auto is_loopback = [](const std::string& text) { return text.starts_with("127.") || text == "::1"; };
  const bool only_loopback =
      !addresses.empty() && std::all_of(addresses.begin(), addresses.end(), is_loopback);
  const std::string remedy =
      "an entry with an address that other machines reach in DNS or /etc/hosts: launchers "
      "tell other machines this name";
  if (addresses.empty()) {
    report.add("own name", false, fmt::format("{}: {}", name, problem), remedy);
  } else {
    std::vector<std::string> texts = addresses;
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    report.add(
        "own name", !only_loopback,
        fmt::format("{} is {}{}", name, fmt::join(texts, ", "), only_loopback ? ": this machine only" : ""),
        remedy);
  }
}

void check_network_here(Report& report, bool& registers) {
  const NetworkFacts network = probe_network();
  registers = network.problem.empty() && network.offer.registers;
  std::string problem = network.problem;
  std::string remedy = "a network interface, or HEARTH_FABRIC_PROVIDER and HEARTH_FABRIC_INTERFACE";
  if (const size_t at = problem.find(" Remedy: "); at != std::string::npos) {
    remedy = problem.substr(at + std::string_view(" Remedy: ").size());
    problem.erase(at);
  }
  const std::string address = os::address_text(network.offer.address);
  report.add("network", problem.empty(),
             problem.empty() ? fmt::format("{}{}, of {}; offered: {}", network.offer.chosen,
                                           address.empty() ? "" : " (" + address + ")", network.offer.library,
                                           fmt::join(network.offer.offers, ", "))
                             : problem,
             remedy);
}

void check_memory(Report& report, bool registers) {
  for (const Json& probe : probe_facts()) {
    if (probe.at("what") != "memfd_create, mapped") continue;
    const auto works = probe.at("works").get<std::string>();
    report.add("shared memory", works == "yes",
               works == "yes" ? "memory files, which need no /dev/shm" : works,
               "allow memfd_create in the sandbox; without it jobs work, more slowly");
  }
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
  report.add("/dev/shm", true,
             error ? "not there, and not needed" : bytes_text(space.available) + " free; not needed");
  const std::string refusal = single_copy_refusal();
  report.add("single copy", refusal.empty(),
             refusal.empty() ? "one process may read another's memory" : refusal,
             "sysctl kernel.yama.ptrace_scope=0, or for a container --cap-add=SYS_PTRACE; without it long "
             "messages are "
             "copied twice");
  const Json limits = limit_facts();
  const auto is_less = [&limits](const char* name, uint64_t least) {
    return limits.at(name).is_number_unsigned() && limits.at(name).get<uint64_t>() < least;
  };
  const auto text = [&limits](const char* name) {
    const Json& value = limits.at(name);
    return value.is_number_unsigned() ? bytes_text(value.get<uint64_t>()) : value.get<std::string>();
  };
  const bool locked_enough = !registers || !is_less("locked_memory_bytes", kLockedBytesMin);
  report.add("locked memory", locked_enough,
             text("locked_memory_bytes") + (registers ? "" : "; this network needs none"),
             "ulimit -l unlimited, in the configuration of the batch system too: this network reads and "
             "writes locked memory");
  report.add("addresses", !limits.at("address_space_bytes").is_number(), text("address_space_bytes"),
             "ulimit -v unlimited: ranks reserve addresses that they do not use");
  const Json& files = limits.at("open_files");
  report.add("open files", !is_less("open_files", kOpenFilesMin),
             files.is_number() ? std::to_string(files.get<uint64_t>()) : files.get<std::string>(),
             "ulimit -n 4096");
  report.add("memory", true, text("memory_by_control_group_bytes") + " for this control group");
}

std::vector<std::string> hosts_of(const DoctorOptions& options) {
  std::string text = options.hosts;
  std::replace(text.begin(), text.end(), ',', '\n');
  if (!options.host_file.empty()) text += "\n" + os::read_text(options.host_file.c_str());
  std::vector<std::string> names;
  for (const std::string& entry : launch::hosts_in_text(text)) names.push_back(launch::name_of_host(entry));
  return names;
}

void check_hosts(Report& report, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    std::string problem;
    std::vector<std::string> addresses = os::addresses_of_host(host, problem);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    report.add("name of a machine", !addresses.empty(),
               addresses.empty() ? fmt::format("{}: {}", host, problem)
                                 : fmt::format("{} is {}", host, fmt::join(addresses, ", ")),
               "the right name, or an entry for it in DNS or /etc/hosts");
  }
}

void add_ways(Report& report, const std::vector<HostConnection>& ways) {
  for (const HostConnection& way : ways) {
    const std::string between =
        fmt::format("{} to {}{}", way.from, way.to, way.by.empty() ? "" : " by " + way.by);
    report.add("way between machines", way.problem.empty(),
               way.problem.empty() ? between : fmt::format("{}: {}", between, way.problem), way.remedy);
  }
}

/// Starts this program on each host, with any launcher that reaches them.
Status start_between(Report& report, const std::vector<std::string>& hosts) {
  Installation place;
  HEARTH_TRY(find_installation(place));
  const std::vector<std::string> command = {place.launcher.string(),
                                            "-hosts",
                                            fmt::format("{}", fmt::join(hosts, ",")),
                                            "-ppn",
                                            "1",
                                            "-n",
                                            std::to_string(hosts.size()),
                                            (place.root / "bin" / "hearth").string(),
                                            "doctor",
                                            "--between",
                                            "--json"};
  std::string text;
  const Status ended = for_each_line(command, [&text](const std::string& line) {
    text += line;
    return true;
  });
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.contains("lines")) {
    report.add(
        "ways between machines", false,
        ended.ok() ? "the machines said nothing" : fmt::format("no job came about: {}", last_failure_text()),
        "what the launcher says above; it has to reach the machines without a password (ssh), and to find "
        "this "
        "installation there under the same path");
    return {};
  }
  for (const Json& row : document.at("lines")) {
    report.add("way between machines", row.at("outcome") == "ok", row.at("found").get<std::string>(),
               row.at("remedy").get<std::string>());
  }
  return {};
}

}  // namespace

Status run_doctor(const DoctorOptions& options, bool& healthy) {
  Report report;
  if (launched_rank() >= 0) {
    std::vector<HostConnection> ways;
    bool tells = false;
    HEARTH_TRY(try_ways(ways, tells));
    if (!tells) return {};
    if (ways.empty()) report.add("way between machines", true, "all processes are on one machine");
    add_ways(report, ways);
  } else if (options.between) {
    return fail(
        MPI_ERR_ARG,
        "--between is for a job of several machines: mpiexec -hosts a,b -n 2 hearth doctor --between");
  } else {
    const std::vector<std::string> hosts = hosts_of(options);
    bool registers = false;
    check_launchers(report);
    check_names(report);
    check_network_here(report, registers);
    check_memory(report, registers);
    check_hosts(report, hosts);
    if (hosts.size() > 1) HEARTH_TRY(start_between(report, hosts));
  }
  report.print(options.json);
  // A job's launcher would take another exit code for a crash.
  healthy = report.healthy() || options.between;
  return {};
}

}  // namespace hearth::tools
