#include "p2p/packet_damage.h"

#include "mpi.h"
#include "shm/corruption.h"

namespace hearth::p2p {

void PacketDamage::report(PeerIndex from, const shm::PacketHeader& header, bool answers_expected) {
  if (!is_answer(header.kind())) {
    shm::report_corruption("invalid packet from rank %d to rank %d: kind %u, %u bytes", from, self_,
                           unsigned{header.kind()}, unsigned{header.bytes()});
  }
  if (reported_ || answers_expected) return;
  reported_ = true;
  static_cast<void>(
      fail(MPI_ERR_INTERN,
           "process %d found a damaged packet from process %d (commit word %#llx). Likely cause: a "
           "stray write by one of the two programs into the shared segment",
           self_, from, static_cast<unsigned long long>(header.commit)));
  warn_(last_failure_text());
}

}  // namespace hearth::p2p
