#include "launch/bootstrap_mpiexec.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/atomic.h"
#include "base/os_io.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

// Parsed value of HEARTH_SEGMENT, HEARTH_ARENA or HEARTH_BOARD.
struct FileWords {
  int descriptor = -1;
  uint64_t inode = 0;
  int launcher = 0;
};

bool parse_file(std::string_view text, FileWords& words) {
  uint64_t descriptor = 0;
  uint64_t launcher = 0;
  const auto take = [&text](uint64_t& value, bool last) {
    if (!take_number(text, value)) return false;
    if (last) return text.empty();
    if (!text.starts_with(":")) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!take(descriptor, false) || !take(words.inode, false) || !take(launcher, true)) return false;
  if (descriptor > 1u << 30 || launcher > 1u << 30) return false;
  words.descriptor = static_cast<int>(descriptor);
  words.launcher = static_cast<int>(launcher);
  return true;
}

Status attach(int descriptor, int rank, Bootstrap& result) {
  HEARTH_TRY(shm::Segment::attach(descriptor, result.segment));
  result.size = result.segment.rank_count();
  result.node_of.assign(static_cast<size_t>(result.size), 0);
  if (rank >= result.size) {
    return fail(MPI_ERR_OTHER, "HEARTH_RANK is %d in a job of %d ranks. Remedy: do not change this variable",
                rank, result.size);
  }
  result.rank = result.place = rank;
  return {};
}

uint32_t phase_of(const Bootstrap& result) {
  // Pairs with the phase's release store by an earlier process of this rank.
  return atomic::load_acquire(result.segment.rank(result.rank).phase);
}

// Opens the launcher's own descriptor through /proc; not open if that is not permitted or is another file.
os::Descriptor borrow(const FileWords& words) {
  const std::string path =
      "/proc/" + std::to_string(words.launcher) + "/fd/" + std::to_string(words.descriptor);
  os::Descriptor file = os::open_to_read_and_write(path.c_str());
  const bool right = file.open() && os::identity_of(file.number()).inode == words.inode;
  return right ? std::move(file) : os::Descriptor();
}

// The inherited descriptor is missing. If a rank started this process, the rank kept its descriptor to
// itself, and this process runs alone. If a program between mpiexec and this process closed it (Python's
// subprocess does), this process is the rank and opens the launcher's own descriptor.
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

// A job works without an arena, so failures are recorded as its reason and are no errors.
void attach_arena(Bootstrap& result) {
  FileWords words;
  if (!parse_file(variable("HEARTH_ARENA"), words)) {
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
  } else if (const int node = result.segment.rank(result.rank).memory.arena; node >= 0) {
    result.arena.prefer_node(node);
  }
}

// Without the descriptor, nothing is counted.
void take_board(Bootstrap& result) {
  FileWords words;
  if (!parse_file(variable("HEARTH_BOARD"), words)) return;
  const bool came = os::identity_of(words.descriptor).inode == words.inode;
  result.board = came ? os::Descriptor(words.descriptor) : borrow(words);
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
  if (!small_variable("HEARTH_RANK", rank)) {
    return fail(MPI_ERR_OTHER,
                "HEARTH_RANK='%s' is not what mpiexec wrote. Remedy: start the program with mpiexec",
                printable(variable("HEARTH_RANK")).c_str());
  }
  if (!small_variable("HEARTH_APP", result.app)) result.app = 0;
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

bool mpiexec_named() {
  return std::getenv("HEARTH_SEGMENT") != nullptr;
}

Status become_singleton(Bootstrap& result) {
  HEARTH_TRY(shm::Segment::create(shm::SegmentPlan::for_ranks(1), result.segment));
  const int usable = os::usable_processors();
  const int quota = os::quota_processors();
  result.segment.job().usable_processors =
      static_cast<uint32_t>(quota > 0 && quota < usable ? quota : usable);
  result.rank = 0;
  result.size = 1;
  result.node_of = {0};
  result.app = 0;
  result.singleton = true;
  return {};
}

Status attach_to_mpiexec(Bootstrap& result) {
  HEARTH_TRY(attach_to_job(std::getenv("HEARTH_SEGMENT"), result));
  if (result.singleton) return {};
  attach_arena(result);
  take_board(result);
  return {};
}

}  // namespace hearth::launch
