// Reports ranks that have loaded another MPI library than Hearth's, which start as jobs of one rank each.
// Programs are examined before their start (other_mpi.h); scripts load the library later. So ranks that have
// not called MPI_Init are examined twice.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "launch/heap_preload.h"
#include "launch/job.h"
#include "launch/other_mpi.h"

namespace hearth::launch {
namespace {

// Time from the first examination to the second: slow imports, as from a network file system, take that long.
constexpr uint64_t kSecondSampleNs = 13'000'000'000;
constexpr int kSamplesMax = 2;

// The processes of each process group. A rank leads a group, which includes the programs that a script
// starts.
std::multimap<int, int> processes_by_group() {
  std::multimap<int, int> result;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string text = os::read_text((at->path() / "stat").c_str());
    // "pid (name) state parent group ..."; the name may contain anything.
    const size_t name_end = text.rfind(')');
    int pid = 0;
    int group = 0;
    if (name_end == std::string::npos || std::sscanf(text.c_str(), "%d", &pid) != 1 ||
        std::sscanf(text.c_str() + name_end + 1, " %*c %*d %d", &group) != 1) {
      continue;
    }
    result.emplace(group, pid);
  }
  return result;
}

}  // namespace

void Job::look_for_other_mpis() {
  guard_at_ = ++guard_looks_ < kSamplesMax ? os::now_ns() + kSecondSampleNs : 0;
  std::vector<int> outside;
  for (uint32_t index = 0; index < rank_count(); ++index) {
    const auto phase = atomic::load_relaxed(segment_.rank(static_cast<int>(index)).phase);
    const bool attached = static_cast<shm::RankPhase>(phase) != shm::RankPhase::outside;
    if (!attached && !ranks_[index].ended) outside.push_back(ranks_[index].pid);
  }
  if (outside.empty()) return;
  const std::multimap<int, int> processes = processes_by_group();
  int affected = 0;
  MpiLibrary first;
  for (const int rank : outside) {
    const auto [begin, end] = processes.equal_range(rank);
    const auto has_other = [&](const auto& entry) {
      const std::string folder = "/proc/" + std::to_string(entry.second);
      const std::vector<MpiLibrary> found =
          other_mpis_mapped(os::read_text((folder + "/maps").c_str()), folder + "/root");
      if (!found.empty() && first.path.empty()) first = found[0];
      return !found.empty();
    };
    if (std::any_of(begin, end, has_other)) ++affected;
  }
  if (affected == 0) return;
  guard_at_ = 0;
  say("note: " + std::to_string(affected) + (affected == 1 ? " rank has" : " ranks have") + " loaded " +
      first.what.title + " (" + first.path +
      ") instead of Hearth: each is rank 0 of a job of its own. Remedy: " +
      remedy_for(first.what, library_folder()));
}

}  // namespace hearth::launch
