// A file that a rank gets as the job's segment: the input is its header. If the rank accepts it, every part
// must lie in the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "shm/buffer_pool.h"
#include "shm/segment.h"

using namespace hearth;

namespace {

constexpr uint64_t kBytesMax = uint64_t{64} << 20;

void touch(const shm::Segment& segment, const void* place, uint64_t bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(&segment.job());
  const auto* at = static_cast<const std::byte*>(place);
  fuzz::demand(at >= begin && at + bytes <= begin + segment.geometry().segment_bytes,
               "every part lies in the segment");
}

void touch_all(const shm::Segment& segment) {
  const shm::JobGeometry& geometry = segment.geometry();
  const int last = segment.rank_count() - 1;
  touch(segment, &segment.rank(last), sizeof(shm::RankBlock));
  touch(segment, segment.connect_bitmap(last).data(), segment.connect_bitmap(last).size_bytes());
  touch(segment, &segment.ring_number(last, last), sizeof(uint32_t));
  touch(segment, segment.buffer_memory(last, geometry.buffer_count - 1), geometry.buffer_bytes);
  touch(segment, &segment.buffer_mark(last, geometry.buffer_count - 1), sizeof(uint32_t));
  touch(segment, segment.ring_memory(static_cast<uint32_t>(segment.ring_count_max() - 1)),
        geometry.ring_bytes);
  if (geometry.region_count == 0) return;
  const auto region = static_cast<int>(geometry.region_count - 1);
  touch(segment, &segment.rank_slots(region, last), sizeof(shm::RankSlots));
  touch(segment, segment.used_slots(region).data(), segment.used_slots(region).size_bytes());
  touch(segment, segment.pipeline_buffers(region, last).data(),
        segment.pipeline_buffers(region, last).size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  shm::JobGeometry geometry = {};
  if (bytes > 0) std::memcpy(&geometry, data, std::min(bytes, sizeof geometry));
  // The magic number is fixed and the length bounded: random values would be refused at once.
  geometry.magic = shm::kMagic;
  geometry.segment_bytes %= kBytesMax;
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  fuzz::demand(file >= 0 && ::ftruncate(file, static_cast<off_t>(geometry.segment_bytes)) == 0 &&
                   ::pwrite(file, &geometry, sizeof geometry, 0) == sizeof geometry,
               "there are memory files");
  shm::Segment segment;
  if (shm::Segment::attach(file, segment).ok()) {
    touch_all(segment);
  } else {
    ::close(file);
  }
  return 0;
}
