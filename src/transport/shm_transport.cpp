#include "transport/shm_transport.h"

#include <algorithm>
#include <bit>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "mpi.h"
#include "shm/corruption.h"

namespace hearth::transport {

static_assert(kPacketBytesMin == shm::kLinePayloadBytes, "packets of the engine fit a line");

ShmTransport::ShmTransport(const shm::Node& node)
    : node_(node),
      segment_(node.segment()),
      packet_bytes_max_(shm::payload_bytes_max(segment_.geometry().ring_lines)),
      writers_(static_cast<size_t>(segment_.rank_count())),
      notes_(writers_.size() * shm::RingWriter::note_words(segment_.geometry().ring_lines)),
      readers_(static_cast<size_t>(segment_.rank_count())),
      connect_bitmap_(segment_.connect_bitmap(node.local_rank()).data()),
      connect_words_(segment_.connect_bitmap(node.local_rank()).size()),
      bounce_buffers_(node),
      sleeper_(segment_, node.local_rank()) {
  open_.reserve(readers_.size());
  // Peers read this word to probe single copy, so it must be one that no other process has by chance.
  shm::RankBlock& block = node.block();
  probe_word_ = os::now_ns() ^ reinterpret_cast<uintptr_t>(this);
  block.pid = static_cast<uint32_t>(os::process_id());
  block.pid_numbering = os::process_numbering();
  block.probe_word = probe_word_;
  block.xpmem_segment = single_copy::published_segment();
  block.probe_address = reinterpret_cast<uintptr_t>(&probe_word_);
}

// Sending.

std::byte* ShmTransport::claim(PeerIndex to, size_t payload_bytes, Status& status) {
  shm::RingWriter& writer = this->writer(to);
  if (__builtin_expect(!writer.open(), 0)) {
    status = open_writer(to);
    if (!status.ok()) return nullptr;
  }
  std::byte* slot = writer.claim(payload_bytes);
  return slot != nullptr ? shm::payload_at(slot) : nullptr;
}

void ShmTransport::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                          uint64_t match) {
  writer(to).commit(kind, flags, payload_bytes, cookie, match);
}

shm::RingWriter* ShmTransport::direct_ring_to(PeerIndex to) {
  if (!node_.has(to)) return nullptr;
  shm::RingWriter& writer = this->writer(to);
  return writer.open() ? &writer : nullptr;
}

Status ShmTransport::open_writer(PeerIndex to) {
  const int local = node_.local_rank_of(to);
  const int own = node_.local_rank();
  const int64_t number = segment_.take_ring(local);
  if (number < 0) {
    return fail(MPI_ERR_NO_MEM,
                "no memory for the ring of %llu bytes from rank %d to rank %d. Remedy: raise the memory "
                "limit, or set "
                "HEARTH_SHM_RING_BYTES lower",
                static_cast<unsigned long long>(segment_.geometry().ring_bytes), node_.self(), to);
  }
  const uint32_t lines = segment_.geometry().ring_lines;
  const shm::WakeWord reader(segment_, local);
  writer(to) = shm::RingWriter(segment_.ring_memory(static_cast<uint32_t>(number)), lines, reader,
                               &notes_[static_cast<size_t>(local) * shm::RingWriter::note_words(lines)],
                               {node_.self(), to});
  // Pairs with the acquire load in answer_connects.
  atomic::store_release(segment_.ring_number(local, own), static_cast<uint32_t>(number) + 1);
  atomic::fetch_or(segment_.connect_bitmap(local)[static_cast<size_t>(own) / 64], uint64_t{1} << (own % 64));
  reader.wake();
  return {};
}

uint32_t ShmTransport::unexpected_kib_at(PeerIndex to) {
  return writer(to).unexpected_kib();
}

bool ShmTransport::prefetch_room(PeerIndex to, size_t payload_bytes) {
  if (!node_.has(to)) return false;
  shm::RingWriter& writer = this->writer(to);
  return writer.open() && writer.prefetch_for_write(payload_bytes);
}

// Receiving.

shm::RingReader* ShmTransport::direct_ring_from(PeerIndex from) {
  if (!node_.has(from)) return nullptr;
  shm::RingReader& reader = this->reader(from);
  return reader.open() ? &reader : nullptr;
}

void ShmTransport::answer_connects() {
  for (size_t w = 0; w < connect_words_; ++w) {
    if (__builtin_expect(atomic::load_relaxed(connect_bitmap_[w]) == 0, 1)) continue;
    uint64_t bits = atomic::exchange(connect_bitmap_[w], uint64_t{0});
    for (; bits != 0; bits &= bits - 1) {
      const auto from = static_cast<int>(w * 64 + static_cast<size_t>(std::countr_zero(bits)));
      if (from >= segment_.rank_count() || readers_[static_cast<size_t>(from)].open()) continue;
      // Pairs with the release store in open_writer.
      const uint32_t number = atomic::load_acquire(segment_.ring_number(node_.local_rank(), from));
      if (number == 0) continue;
      if (number > segment_.ring_count_max()) {
        shm::report_corruption("rank %d's ring to rank %d has the number %u, and there are %llu",
                               node_.peer_at(from), node_.self(), number,
                               static_cast<unsigned long long>(segment_.ring_count_max()));
      }
      readers_[static_cast<size_t>(from)] =
          shm::RingReader(segment_.ring_memory(number - 1), segment_.geometry().ring_lines,
                          shm::WakeWord(segment_, from), {node_.peer_at(from), node_.self()});
      open_.insert(open_.begin(), from);
    }
  }
}

int ShmTransport::drain(int from, PacketHandler handler, void* receiver) {
  shm::RingReader& reader = readers_[static_cast<size_t>(from)];
  const PeerIndex peer = node_.peer_at(from);
  int packets = 0;
  while (packets < kBatch) {
    std::byte* line = reader.peek();
    if (line == nullptr) break;
    // A second packet in a row is a stream: prefetch the next lines while this packet is handled.
    if (packets > 0) reader.fetch_ahead();
    const PacketHeader header = shm::header_at(line);
    // The limit of the layer above is that of the network if there is one, so it does not detect this damage.
    if (__builtin_expect(!reader.holds(header.bytes()) || header.bytes() > packet_bytes_max_, 0)) {
      reader.refuse(header);
    }
    handler(receiver, peer, header, shm::payload_at(line));
    reader.consume(header.bytes());
    ++packets;
  }
  return packets;
}

int ShmTransport::poll(PacketHandler handler, void* receiver) {
  answer_connects();
  int packets = 0;
  const size_t open = open_.size();
  const size_t hot = std::min(open, kHot);
  for (size_t i = 0; i < hot; ++i) packets += drain(open_[i], handler, receiver);
  for (size_t n = 0; n < kHot && hot < open; ++n) {
    if (turn_ < hot || turn_ >= open_.size()) turn_ = hot;
    const size_t at = turn_++;
    const int from = open_[at];
    const int taken = drain(from, handler, receiver);
    packets += taken;
    if (taken > 0) std::swap(open_[at], open_[static_cast<size_t>(from) % hot]);
    if (open <= kHot + n + 1) break;
  }
  return packets;
}

void ShmTransport::shuffle() {
  for (size_t i = 1; i < open_.size(); ++i) std::swap(open_[i], open_[chaos::draw(i + 1)]);
}

void ShmTransport::add_unexpected_bytes(PeerIndex from, int64_t bytes) {
  shm::RingReader& reader = this->reader(from);
  const uint64_t before = reader.unexpected_bytes;
  reader.unexpected_bytes = before + static_cast<uint64_t>(bytes);
  // A flow-blocked sender waits for this to fall: publish it when it falls below a multiple of 1 MiB.
  if (bytes < 0 && reader.open() && (before ^ reader.unexpected_bytes) >> 20 != 0) {
    reader.publish_credit();
  }
}

// Single copy.

bool ShmTransport::target_of(PeerIndex peer, single_copy::Target& target) {
  if (!node_.has(peer)) return false;
  const shm::RankBlock& block = node_.block_of(peer);
  target = {node_.pid_of(peer), block.probe_address, block.probe_word, block.xpmem_segment};
  return true;
}

}  // namespace hearth::transport
