#include "abi/job_files.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/os_socket.h"

namespace hearth::abi {
namespace {

/// A job in a packet; its descriptors follow those of the jobs before it: the segment, then the arena.
struct Entry {
  uint64_t job;
  uint64_t has_arena;
};

}  // namespace

bool send_job_files(int socket, std::span<const int> first, std::span<const JobFileNumbers> jobs) {
  std::vector<int> descriptors(first.begin(), first.end());
  std::vector<Entry> entries = {{0, 0}};  // a packet is never empty: that would be the end of the socket
  for (const JobFileNumbers& job : jobs) {
    if (descriptors.size() + 2 > os::kPacketDescriptorsMax) break;
    descriptors.push_back(job.segment);
    if (job.arena >= 0) descriptors.push_back(job.arena);
    entries.push_back({job.job, job.arena >= 0});
  }
  return os::send_packet(socket, std::as_bytes(std::span(entries)), descriptors);
}

std::vector<JobFiles> received_job_files(std::span<const std::byte> packet,
                                         std::span<os::Descriptor> descriptors) {
  static_assert((os::kPacketDescriptorsMax + 1) * sizeof(Entry) <= kJobFilesBytesMax);
  std::vector<JobFiles> jobs;
  size_t next = 0;
  // If the process runs out of descriptors, the system drops the last ones of a packet.
  for (size_t at = sizeof(Entry); at + sizeof(Entry) <= packet.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, packet.data() + at, sizeof entry);
    JobFiles& files = jobs.emplace_back();
    files.job = entry.job;
    if (next < descriptors.size()) files.segment = std::move(descriptors[next++]);
    if (entry.has_arena != 0 && next < descriptors.size()) files.arena = std::move(descriptors[next++]);
  }
  return jobs;
}

JobMemory* JobMemories::find(uint64_t job) {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [job](const JobMemory& one) { return one.job == job; });
  return found == jobs_.end() ? nullptr : &*found;
}

void JobMemories::map(JobFiles files) {
  if (!files.segment.open() || find(files.job) != nullptr) return;
  JobMemory made;
  made.job = files.job;
  // The segment owns the descriptor only if it could be attached.
  if (!shm::Segment::attach(files.segment.number(), made.segment).ok()) return;
  static_cast<void>(files.segment.release());
  made.has_arena =
      files.arena.open() &&
      shm::ArenaSlices::open(std::move(files.arena), made.segment.geometry().rank_count, made.arena).ok();
  jobs_.push_back(std::move(made));
}

void JobMemories::unmap(uint64_t job) {
  jobs_.remove_if([job](const JobMemory& one) { return one.job == job; });
}

}  // namespace hearth::abi
