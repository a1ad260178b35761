#include "launch/why/running_job.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/os_io.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

namespace fs = std::filesystem;

/// Maps the file if it is the segment of a job. Takes ownership only on success.
bool map_job(os::Descriptor& file, shm::Segment& segment) {
  // Reads the first word instead of mapping it: the arena has a similar name, and a load from it would
  // allocate a page.
  uint64_t magic = 0;
  if (!file.open() || os::read_at(file.number(), &magic, sizeof magic, 0) != sizeof magic) return false;
  if (magic != shm::kMagic || !shm::Segment::attach_read_only(file.number(), segment).ok()) return false;
  file.release();
  return segment.geometry().is_bridge == 0;
}

/// Whether mpiexec or a rank of this job has published that PID.
bool has_process(const shm::Segment& segment, int pid) {
  const auto number = static_cast<uint32_t>(pid);
  if (segment.job().launcher_pid == number) return true;
  for (int rank = 0; rank < segment.rank_count(); ++rank) {
    if (segment.rank(rank).pid == number) return true;
  }
  return false;
}

/// Opens the segment of a process's job if it has one; `refused` if the process may not be inspected. A
/// process that is connected to other jobs has their segments open too.
bool segment_of(int pid, shm::Segment& segment, bool& refused, os::FileIdentity& identity) {
  std::error_code error;
  fs::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd", error);
  refused = error == std::errc::permission_denied;
  bool found = false;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    if (!fs::read_symlink(entries->path(), gone).string().starts_with("/memfd:hearth")) continue;
    os::Descriptor file = os::open_to_read(entries->path().c_str());
    const os::FileIdentity of_file = os::identity_of(file.number());
    shm::Segment candidate;
    if (!map_job(file, candidate)) continue;
    const bool certain = has_process(candidate, pid);
    // In another PID namespace no number is the same: then the first segment is the best guess.
    if (!found || certain) {
      segment = std::move(candidate);
      identity = of_file;
    }
    found = true;
    if (certain) break;
  }
  return found;
}

}  // namespace

Status find_job(int pid, RunningJob& job) {
  bool refused = false;
  os::FileIdentity identity;
  if (segment_of(pid, job.segment, refused, identity)) {
    job.pid = pid;
    return {};
  }
  if (refused) {
    return fail(MPI_ERR_OTHER, "process %d cannot be inspected. Likely cause: it is another user's", pid);
  }
  std::error_code error;
  if (!fs::exists("/proc/" + std::to_string(pid), error)) {
    return fail(MPI_ERR_OTHER, "there is no process %d", pid);
  }
  return fail(MPI_ERR_OTHER,
              "process %d is no mpiexec and no rank of this version of Hearth. Remedy: name one of those; "
              "`hearth top` without a number lists the jobs",
              pid);
}

std::vector<RunningJob> find_jobs() {
  std::vector<RunningJob> jobs;
  std::vector<os::FileIdentity> known;
  std::error_code error;
  fs::directory_iterator entries("/proc", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    RunningJob job;
    job.pid = std::stoi(name);
    bool refused = false;
    os::FileIdentity identity;
    if (!segment_of(job.pid, job.segment, refused, identity)) continue;
    const auto same = std::find(known.begin(), known.end(), identity);
    if (same == known.end()) {
      known.push_back(identity);
      jobs.push_back(std::move(job));
    } else if (static_cast<uint32_t>(job.pid) == job.segment.job().launcher_pid) {
      jobs[static_cast<size_t>(same - known.begin())].pid = job.pid;
    }
  }
  return jobs;
}

}  // namespace hearth::launch
