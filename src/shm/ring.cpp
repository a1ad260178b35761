#include "shm/ring.h"

#include <algorithm>

#include "shm/corruption.h"

namespace hearth::shm {

void RingWriter::refuse(const Credit& credit) const {
  report_corruption("rank %d's ring to rank %d: %u slots were written, and rank %d has read %u of them",
                    ends_.from, ends_.to, head(), ends_.to, credit.consumed);
}

void RingReader::refuse(const PacketHeader& header) const {
  report_corruption(
      "rank %d's ring to rank %d holds a packet of %u bytes where at most %zu can lie", ends_.from, ends_.to,
      unsigned{header.bytes()},
      std::min(size_t{count_ - place_} * kSlotBytes - kHeaderBytes, payload_bytes_max(count_ / 2)));
}

}  // namespace hearth::shm
