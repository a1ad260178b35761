#include "launch/bootstrap.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "base/os_io.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

// A whole decimal number and what stands behind it; false when there is none.
bool take_number(const char*& text, uint64_t& value) {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  text = end;
  return errno == 0;
}

// A file that the launcher hands over.
struct FileWords {
  int descriptor = -1;
  uint64_t inode = 0;
  int launcher = 0;
};

bool parse_file(const char* text, FileWords& words) {
  uint64_t descriptor = 0;
  uint64_t launcher = 0;
  if (!take_number(text, descriptor) || *text++ != ':') return false;
  if (!take_number(text, words.inode) || *text++ != ':') return false;
  if (!take_number(text, launcher) || *text != '\0') return false;
  if (descriptor > 1u << 30 || launcher > 1u << 30) return false;
  words.descriptor = static_cast<int>(descriptor);
  words.launcher = static_cast<int>(launcher);
  return true;
}

bool parse_small(const char* text, int& value) {
  uint64_t number = 0;
  if (text == nullptr || !take_number(text, number) || *text != '\0' || number > 1u << 30) return false;
  value = static_cast<int>(number);
  return true;
}

// A job of one, made by itself.
Status become_singleton(Bootstrap& result) {
  HEARTH_TRY(shm::Segment::create(shm::SegmentPlan::for_ranks(1), result.segment));
  const int usable = os::usable_processors();
  const int quota = os::quota_processors();
  result.segment.job().usable_processors =
      static_cast<uint32_t>(quota > 0 && quota < usable ? quota : usable);
  result.rank = 0;
  result.size = 1;
  result.app = 0;
  result.singleton = true;
  return {};
}

// Ranks that somebody else's launcher counts, 0 when there is no sign of one; `name` is the variable that
// says so.
int foreign_ranks(const char*& name) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    int count = 0;
    if (parse_small(std::getenv(variable), count)) return name = variable, count;
  }
  int count = 0;
  if (std::getenv("SLURM_STEP_ID") != nullptr && parse_small(std::getenv("SLURM_STEP_NUM_TASKS"), count)) {
    return name = "SLURM_STEP_NUM_TASKS", count;
  }
  if (std::getenv("PMIX_NAMESPACE") != nullptr) return name = "PMIX_NAMESPACE", -1;
  return 0;
}

Status start_alone(Bootstrap& result) {
  const char* name = nullptr;
  const int count = foreign_ranks(name);
  if (count == 0 || count == 1) return become_singleton(result);
  const std::string program = os::program_name();
  return fail(
      MPI_ERR_OTHER,
      "started by the launcher of another MPI library (%s=%s), which cannot tell Hearth's ranks of each "
      "other. Remedy: start it with Hearth's mpiexec: mpiexec -n %s %s",
      name, std::getenv(name), count > 0 ? std::to_string(count).c_str() : "N", program.c_str());
}

Status attach(int descriptor, int rank, Bootstrap& result) {
  HEARTH_TRY(shm::Segment::attach(descriptor, result.segment));
  result.size = result.segment.rank_count();
  if (rank >= result.size) {
    return fail(MPI_ERR_OTHER, "HEARTH_RANK is %d in a job of %d ranks. Remedy: do not change this variable",
                rank, result.size);
  }
  result.rank = rank;
  return {};
}

uint32_t phase_of(const Bootstrap& result) {
  // Pairs with the store of whichever process was this rank before us.
  return atomic::load_acquire(result.segment.rank(result.rank).phase);
}

// The launcher's own descriptor, where it lends us that.
os::Descriptor borrow(const FileWords& words) {
  const std::string path =
      "/proc/" + std::to_string(words.launcher) + "/fd/" + std::to_string(words.descriptor);
  os::Descriptor file = os::open_to_read_and_write(path.c_str());
  const bool right = file.open() && os::identity_of(file.number()).inode == words.inode;
  return right ? std::move(file) : os::Descriptor();
}

// The descriptor did not come with us. Either a rank's program started us: it keeps the descriptor to itself,
// and we run alone. Or something between mpiexec and us closed it (Python's subprocess does): then we are the
// rank, and the launcher lends us its own.
Status attach_without_descriptor(const FileWords& words, int rank, Bootstrap& result) {
  os::Descriptor file = borrow(words);
  if (file.open()) {
    HEARTH_TRY(attach(file.release(), rank, result));
    if (phase_of(result) == static_cast<uint32_t>(shm::RankPhase::outside)) return {};
    result.segment = shm::Segment();
    return become_singleton(result);
  }
  return fail(
      MPI_ERR_OTHER,
      "descriptor %d, by which mpiexec hands the job's memory to its ranks, is not open: a program between "
      "mpiexec and this one has closed it. Remedy: let it keep descriptors open, or, to run alone, unset "
      "HEARTH_SEGMENT",
      words.descriptor);
}

// A job works without its arena: what is wrong with it is remembered, not an error.
void attach_arena(Bootstrap& result) {
  const char* text = std::getenv("HEARTH_ARENA");
  FileWords words;
  if (text == nullptr || !parse_file(text, words)) {
    result.arena.set_reason("mpiexec could not make one");
    return;
  }
  const bool came = os::identity_of(words.descriptor).inode == words.inode;
  os::Descriptor file = came ? os::Descriptor(words.descriptor) : borrow(words);
  if (!file.open()) {
    result.arena.set_reason("a program between mpiexec and this one has closed its descriptor");
  } else if (!shm::Arena::attach(std::move(file), static_cast<uint32_t>(result.size), result.rank,
                                 result.arena)
                  .ok()) {
    result.arena.set_reason(last_failure_text());
  }
}

Status attach_to_job(const char* segment, Bootstrap& result) {
  FileWords words;
  int rank = 0;
  if (!parse_file(segment, words)) {
    return fail(MPI_ERR_OTHER,
                "HEARTH_SEGMENT='%s' is not what mpiexec wrote. Remedy: unset it, or start the "
                "program with mpiexec",
                segment);
  }
  const char* rank_text = std::getenv("HEARTH_RANK");
  if (!parse_small(rank_text, rank)) {
    return fail(MPI_ERR_OTHER,
                "HEARTH_RANK='%s' is not what mpiexec wrote. Remedy: start the program with mpiexec",
                rank_text == nullptr ? "" : rank_text);
  }
  if (!parse_small(std::getenv("HEARTH_APP"), result.app)) result.app = 0;
  if (os::identity_of(words.descriptor).inode != words.inode) {
    return attach_without_descriptor(words, rank, result);
  }
  HEARTH_TRY(attach(words.descriptor, rank, result));
  if (phase_of(result) == static_cast<uint32_t>(shm::RankPhase::outside)) return {};
  const uint32_t pid = result.segment.rank(rank).pid;
  return fail(
      MPI_ERR_OTHER,
      "process %u has been rank %d of this job already. Remedy: one MPI program per rank; start the next one "
      "with an mpiexec of its own",
      pid, rank);
}

}  // namespace

Status bootstrap(Bootstrap& result) {
  const char* segment = std::getenv("HEARTH_SEGMENT");
  if (segment == nullptr) return start_alone(result);
  HEARTH_TRY(attach_to_job(segment, result));
  if (!result.singleton) attach_arena(result);
  return {};
}

}  // namespace hearth::launch
