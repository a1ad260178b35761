#include "transport/shm_transport.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "mpi.h"
#include "shm/corruption.h"

namespace hearth::transport {

static_assert(kPacketBytesMin == shm::kLinePayloadBytes, "packets of the engine fit a line");

ShmTransport::ShmTransport(const shm::Segment& segment, PeerIndex self)
    : segment_(segment),
      self_(self),
      writers_(static_cast<size_t>(segment.rank_count())),
      notes_(writers_.size() * shm::RingWriter::note_words(segment.geometry().ring_lines)),
      readers_(static_cast<size_t>(segment.rank_count())),
      connect_bitmap_(segment.connect_bitmap(self).data()),
      connect_words_(segment.connect_bitmap(self).size()),
      bounce_buffers_(segment, self),
      sleeper_(segment, self) {
  open_.reserve(readers_.size());
  // Peers read this word to probe single copy, so it must be one that no other process has by chance.
  shm::RankBlock& block = segment.rank(self);
  probe_word_ = os::now_ns() ^ reinterpret_cast<uintptr_t>(this);
  block.pid = static_cast<uint32_t>(os::process_id());
  block.pid_numbering = os::process_numbering();
  block.probe_word = probe_word_;
  block.xpmem_segment = single_copy::published_segment();
  block.probe_address = reinterpret_cast<uintptr_t>(&probe_word_);
}

// Sending.

std::byte* ShmTransport::claim(PeerIndex to, size_t payload_bytes, Status& status) {
  shm::RingWriter& writer = writers_[static_cast<size_t>(to)];
  if (__builtin_expect(!writer.open(), 0)) {
    status = open_writer(to);
    if (!status.ok()) return nullptr;
  }
  std::byte* slot = writer.claim(payload_bytes);
  return slot != nullptr ? shm::payload_at(slot) : nullptr;
}

void ShmTransport::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                          uint64_t match) {
  writers_[static_cast<size_t>(to)].commit(kind, flags, payload_bytes, cookie, match);
}

shm::RingWriter* ShmTransport::direct_ring_to(PeerIndex to) {
  shm::RingWriter& writer = writers_[static_cast<size_t>(to)];
  return writer.open() ? &writer : nullptr;
}

Status ShmTransport::open_writer(PeerIndex to) {
  const int64_t number = segment_.take_ring(to);
  if (number < 0) {
    return fail(MPI_ERR_NO_MEM,
                "no memory for the ring of %llu bytes from rank %d to rank %d. Remedy: raise the memory "
                "limit, or set "
                "HEARTH_SHM_RING_BYTES lower",
                static_cast<unsigned long long>(segment_.geometry().ring_bytes), self_, to);
  }
  const uint32_t lines = segment_.geometry().ring_lines;
  writers_[static_cast<size_t>(to)] =
      shm::RingWriter(segment_.ring_memory(static_cast<uint32_t>(number)), lines, shm::WakeWord(segment_, to),
                      &notes_[static_cast<size_t>(to) * shm::RingWriter::note_words(lines)], {self_, to});
  // Pairs with the acquire load in answer_connects.
  atomic::store_release(segment_.ring_number(to, self_), static_cast<uint32_t>(number) + 1);
  atomic::fetch_or(segment_.connect_bitmap(to)[static_cast<size_t>(self_) / 64], uint64_t{1} << (self_ % 64));
  shm::WakeWord(segment_, to).wake();
  return {};
}

uint32_t ShmTransport::unexpected_kib_at(PeerIndex to) {
  return writers_[static_cast<size_t>(to)].unexpected_kib();
}

bool ShmTransport::prefetch_room(PeerIndex to, size_t payload_bytes) {
  shm::RingWriter& writer = writers_[static_cast<size_t>(to)];
  return writer.open() && writer.prefetch_for_write(payload_bytes);
}

// Receiving.

shm::RingReader* ShmTransport::direct_ring_from(PeerIndex from) {
  shm::RingReader& reader = readers_[static_cast<size_t>(from)];
  return reader.open() ? &reader : nullptr;
}

void ShmTransport::answer_connects() {
  for (size_t w = 0; w < connect_words_; ++w) {
    if (__builtin_expect(atomic::load_relaxed(connect_bitmap_[w]) == 0, 1)) continue;
    uint64_t bits = atomic::exchange(connect_bitmap_[w], uint64_t{0});
    for (; bits != 0; bits &= bits - 1) {
      const auto from = static_cast<PeerIndex>(w * 64 + static_cast<size_t>(std::countr_zero(bits)));
      if (from >= segment_.rank_count() || readers_[static_cast<size_t>(from)].open()) continue;
      // Pairs with the release store in open_writer.
      const uint32_t number = atomic::load_acquire(segment_.ring_number(self_, from));
      if (number == 0) continue;
      if (number > segment_.ring_count_max()) {
        shm::report_corruption("rank %d's ring to rank %d has the number %u, and there are %llu", from, self_,
                               number, static_cast<unsigned long long>(segment_.ring_count_max()));
      }
      readers_[static_cast<size_t>(from)] =
          shm::RingReader(segment_.ring_memory(number - 1), segment_.geometry().ring_lines,
                          shm::WakeWord(segment_, from), {from, self_});
      open_.insert(open_.begin(), from);
    }
  }
}

int ShmTransport::drain(PeerIndex from, PacketHandler handler, void* receiver) {
  shm::RingReader& reader = readers_[static_cast<size_t>(from)];
  int packets = 0;
  while (packets < kBatch) {
    std::byte* line = reader.peek();
    if (line == nullptr) break;
    // A second packet in a row is a stream: prefetch the next lines while this packet is handled.
    if (packets > 0) reader.fetch_ahead();
    const PacketHeader header = shm::header_at(line);
    if (__builtin_expect(!reader.holds(header.bytes()), 0)) reader.refuse(header);
    handler(receiver, from, header, shm::payload_at(line));
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
    const PeerIndex from = open_[at];
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
  shm::RingReader& reader = readers_[static_cast<size_t>(from)];
  const uint64_t before = reader.unexpected_bytes;
  reader.unexpected_bytes = before + static_cast<uint64_t>(bytes);
  // A flow-blocked sender waits for this to fall: publish it when it falls below a multiple of 1 MiB.
  if (bytes < 0 && reader.open() && (before ^ reader.unexpected_bytes) >> 20 != 0) {
    reader.publish_credit();
  }
}

// Single copy and liveness.

bool ShmTransport::target_of(PeerIndex peer, single_copy::Target& target) {
  const shm::RankBlock& block = segment_.rank(peer);
  target = {process_of(peer), block.probe_address, block.probe_word, block.xpmem_segment};
  return true;
}

// The PID of a peer; 0 if it denotes another process in this PID namespace, or may.
int ShmTransport::process_of(PeerIndex peer) const {
  const shm::RankBlock& block = segment_.rank(peer);
  const bool same = os::same_numbering(block.pid_numbering, segment_.rank(self_).pid_numbering);
  return same ? static_cast<int>(block.pid) : 0;
}

// The launcher marks dead processes. If another library launched the job, or the launcher is slow, a pidfd
// shows the end. The pidfd stays open, because the system may reuse the PID of an ended process.
bool ShmTransport::is_gone(PeerIndex peer) {
  // Pairs with the release stores of shm::Liveness::tell() and mark().
  if (atomic::load_acquire(segment_.rank(peer).dead) != 0) return true;
  const int pid = process_of(peer);
  if (pid <= 0) return false;
  if (processes_.empty()) processes_.resize(readers_.size());
  os::Descriptor& process = processes_[static_cast<size_t>(peer)];
  if (!process.open()) process = os::open_process(pid);
  return process.open() ? os::is_gone(process) : errno == ESRCH;
}

}  // namespace hearth::transport
