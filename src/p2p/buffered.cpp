#include "p2p/buffered.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "mpi.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::p2p {
namespace {

// The type of packed data: plain bytes.
datatype::Type& packed_type() {
  static datatype::Type type = [] {
    datatype::Type bytes;
    bytes.size = bytes.extent = bytes.true_extent = 1;
    bytes.committed = true;
    return bytes;
  }();
  return type;
}

constexpr int64_t kAlignment = 16;
// Room in the list of pending messages, at first.
constexpr size_t kBlocksMin = 16;

}  // namespace

Status SendBuffer::attach(void* memory, int64_t bytes) {
  if (attached_) {
    return fail(MPI_ERR_BUFFER, "a buffer of %lld bytes is attached already. Remedy: detach it first",
                static_cast<long long>(bytes_));
  }
  automatic_ = memory == MPI_BUFFER_AUTOMATIC;
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  attached_ = true;
  return {};
}

Status SendBuffer::detach(Engine& engine, void*& memory, int64_t& bytes) {
  if (!attached_) {
    return fail(MPI_ERR_BUFFER,
                "no buffer is attached. Remedy: call MPI_Buffer_attach (or the form of the "
                "communicator or session) first");
  }
  flush(engine);
  memory = memory_;
  bytes = automatic_ ? 0 : bytes_;
  attached_ = automatic_ = false;
  memory_ = nullptr;
  bytes_ = 0;
  return {};
}

void SendBuffer::reclaim(Engine& engine) {
  std::erase_if(blocks_, [&engine](Block& block) {
    if (!block.request->complete) return false;
    std::free(block.own);
    engine.requests().destroy(block.request);
    return true;
  });
}

bool SendBuffer::idle(Engine& engine) {
  reclaim(engine);
  return blocks_.empty();
}

void SendBuffer::flush(Engine& engine) {
  if (idle(engine)) return;
  engine.wait_until([this, &engine] { return idle(engine); },
                    [this](WaitDiagnostics& note) {
                      for (const Block& block : blocks_) note.request(*block.request);
                    });
}

// Returns the offset of the first gap that is long enough; -1 if there is none.
int64_t SendBuffer::find_room(int64_t bytes) const {
  int64_t at = 0;
  for (const Block& block : blocks_) {
    if (block.offset - at >= bytes) return at;
    at = block.offset + block.bytes;
  }
  return bytes_ - at >= bytes ? at : -1;
}

Status SendBuffer::send(Engine& engine, const void* buffer, Count count, const datatype::Type& type,
                        PeerIndex to, int tag, uint32_t context) {
  const int64_t bytes = count * type.size;
  if (!attached_) {
    return fail(MPI_ERR_BUFFER,
                "no buffer is attached for this message of %lld bytes. Remedy: call MPI_Buffer_attach before "
                "buffered sends",
                static_cast<long long>(bytes));
  }
  reclaim(engine);
  // The user adds MPI_BSEND_OVERHEAD per message; only the alignment padding uses it.
  const int64_t needed = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Block block = {0, needed, nullptr, nullptr};
  std::byte* place = nullptr;
  if (automatic_) {
    block.own = static_cast<std::byte*>(std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1))));
    if (block.own == nullptr) {
      return fail(MPI_ERR_NO_MEM, "no memory to buffer a message of %lld bytes",
                  static_cast<long long>(bytes));
    }
    place = block.own;
  } else {
    block.offset = find_room(needed);
    if (block.offset < 0) {
      // Progress may complete pending messages and so free their blocks.
      engine.progress();
      reclaim(engine);
      block.offset = find_room(needed);
    }
    if (block.offset < 0) {
      return fail(
          MPI_ERR_BUFFER,
          "the attached buffer of %lld bytes has no room for %lld more: %zu messages have not left yet. "
          "Remedy: attach a larger buffer (MPI_Pack_size plus MPI_BSEND_OVERHEAD for each message under "
          "way), or receive earlier",
          static_cast<long long>(bytes_), static_cast<long long>(needed), blocks_.size());
    }
    place = memory_ + block.offset;
  }
  // Before the send is started, which could not be taken back: without a place the block would count as free.
  if (blocks_.size() == blocks_.capacity()) {
    try {
      blocks_.reserve(std::max(kBlocksMin, 2 * blocks_.size()));
    } catch (const std::bad_alloc&) {
      std::free(block.own);
      return fail(MPI_ERR_NO_MEM, "no memory for the list of buffered messages");
    }
  }
  datatype::pack(type, buffer, 0, place, static_cast<size_t>(bytes));
  const Status started = engine.isend(place, bytes, packed_type(), to, tag, context, block.request);
  if (!started.ok()) {
    std::free(block.own);
    return started;
  }
  if (block.request->complete) {
    const Status outcome = block.request->outcome;
    engine.requests().destroy(block.request);
    std::free(block.own);
    return outcome;
  }
  blocks_.insert(std::upper_bound(blocks_.begin(), blocks_.end(), block,
                                  [](const Block& a, const Block& b) { return a.offset < b.offset; }),
                 block);
  return {};
}

}  // namespace hearth::p2p
