// Maps the parts of a profile from their separate files side by side, for the hearth tool.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/os_memory.h"
#include "mpi.h"
#include "profile/board.h"
#include "profile/report/summary.h"

namespace hearth::profile {
namespace {

std::vector<std::string> parts_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == kPartEnding) names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

unsigned long long number(uint64_t value) {
  return value;
}

}  // namespace

Status Board::gather(const std::string& folder, Board& board, std::vector<PartFacts>& facts) {
  Board made;
  std::string first;
  for (const std::string& name : parts_in(folder)) {
    const os::Descriptor file = os::open_to_read_and_write(name.c_str());
    FileHead head = {};
    if (!file.open() || !read_head(file.number(), head) || head.self < 0 ||
        static_cast<uint32_t>(head.self) >= head.rank_count ||
        head.file_bytes != head.parts_offset + head.part_bytes ||
        head.file_bytes != os::file_bytes(file.number())) {
      return fail(MPI_ERR_ARG, "'%s' is no part of a profile that this version of Hearth reads%s%s",
                  name.c_str(), file.open() ? "" : ": ", file.open() ? "" : std::strerror(errno));
    }
    if (!made.usable()) {
      // The result has the layout of a whole file; missing parts are zeros.
      made.head_ = head;
      made.head_.parts_offset = 0;
      made.head_.self = -1;
      made.bytes_ = head.rank_count * head.part_bytes;
      made.base_ = static_cast<std::byte*>(os::map_private(made.bytes_));
      if (!made.usable()) {
        return fail(MPI_ERR_NO_MEM, "no addresses for a profile of %u ranks, %llu bytes: %s", head.rank_count,
                    number(made.bytes_), std::strerror(errno));
      }
      facts.assign(head.rank_count, {});
      first = name;
    }
    if (head.rank_count != made.head_.rank_count || head.part_bytes != made.head_.part_bytes) {
      return fail(
          MPI_ERR_ARG,
          "'%s' is of a job of %u ranks, '%s' of one of %u. Likely cause: a part that an earlier job has "
          "left. Remedy: a folder for each run",
          name.c_str(), head.rank_count, first.c_str(), made.head_.rank_count);
    }
    std::byte* const at = made.base_ + static_cast<uint64_t>(head.self) * head.part_bytes;
    if (!os::map_sparse_over(at, file.number(), head.parts_offset, head.part_bytes)) {
      return fail(MPI_ERR_OTHER, "cannot map '%s': %s", name.c_str(), std::strerror(errno));
    }
    PartFacts& own = facts[static_cast<size_t>(head.self)];
    own = head.facts;
    // Terminate the texts, whatever the file contains.
    own.host[sizeof own.host - 1] = own.program[sizeof own.program - 1] = '\0';
  }
  if (!made.usable()) {
    return fail(
        MPI_ERR_ARG,
        "no parts of a profile (rank-*.profile) in '%s'. Likely cause: Hearth's mpiexec started the job; it "
        "ignores HEARTH_PROFILE_FOLDER. Remedy: mpiexec --profile FILE. Under another launcher: the ranks "
        "ran without HEARTH_PROFILE_FOLDER, or the parts are on other machines. Remedy: set it for all "
        "ranks, and gather the parts in one folder",
        folder.c_str());
  }
  board = std::move(made);
  return {};
}

JobFacts job_of(const std::vector<PartFacts>& parts) {
  JobFacts job;
  job.one_clock = false;
  std::set<std::string> programs;
  std::map<std::string, uint32_t> processors;  // by host
  for (const PartFacts& part : parts) {
    job.places.push_back(part.place);
    if (part.host[0] == '\0') continue;
    programs.insert(part.program);
    processors[part.host] = part.processors;
  }
  for (const std::string& program : programs) job.command += (job.command.empty() ? "" : ", ") + program;
  uint64_t all = 0;
  for (const auto& [host, count] : processors) all += count;
  job.processors = static_cast<int>(std::min<uint64_t>(all, INT_MAX));
  return job;
}

}  // namespace hearth::profile
