// The memory of jobs that are connected: when two groups connect (abi/connecting.h), their processes exchange
// the files of their jobs' segments and arenas, and map those of the other jobs. Bounce buffers and arena
// slices of a process of another job are then used like those of the own job. A process that cannot map
// them, or gets no file, communicates by the rings of the bridge and by single copy.
//
// Under the library's lock. The mappings are private to the process, their memory is shared.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/os_io.h"
#include "shm/arena_slices.h"
#include "shm/segment.h"

namespace hearth::abi {

/// The received files of a job. A file that was not received is not open.
struct JobFiles {
  uint64_t job;
  os::Descriptor segment;
  os::Descriptor arena;
};

/// Sends the files of jobs over a local socket, after the descriptors of `first`; false if that fails. Files
/// that do not fit one packet are left out.
struct JobFileNumbers {
  uint64_t job;
  int segment;
  int arena;  // negative: none
};
bool send_job_files(int socket, std::span<const int> first, std::span<const JobFileNumbers> jobs);
/// Reads a received packet of send_job_files(). `descriptors`: those after `first`, which the result owns.
std::vector<JobFiles> received_job_files(std::span<const std::byte> packet,
                                         std::span<os::Descriptor> descriptors);
/// Room for any packet of send_job_files().
constexpr size_t kJobFilesBytesMax = 1024;

/// The segment and the arena of another job, mapped here.
struct JobMemory {
  uint64_t job = 0;
  shm::Segment segment;
  shm::ArenaSlices arena;
  bool has_arena = false;
};

/// The memories of all jobs that this process has mapped, at stable addresses.
class JobMemories {
 public:
  /// nullptr: not mapped.
  JobMemory* find(uint64_t job);
  /// Maps the files of a job that is not mapped yet. Ignores failures: find() then returns nullptr.
  void map(JobFiles files);
  void unmap(uint64_t job);

 private:
  std::list<JobMemory> jobs_;
};

}  // namespace hearth::abi
