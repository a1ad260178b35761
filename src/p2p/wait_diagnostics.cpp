// Wait diagnostics of this rank: its waits, its queues, and the communicators that these name.
#include "p2p/wait_diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "base/contexts.h"
#include "mpi.h"
#include "p2p/failure_record.h"
#include "shm/node.h"

namespace hearth::p2p {
namespace {

// Request slots that are scanned at most: a program may have had millions.
constexpr size_t kSlotsReadMax = 65536;

const objects::Comm* show_comm(shm::WaitRecord& record, uint32_t context) {
  const objects::Comm* comm = comm_of(context);
  if (comm == nullptr) return nullptr;
  shm::ShownComm* place = nullptr;
  for (shm::ShownComm& shown : record.comms) {
    if (shown.size != 0 && shown.context == comm->context) place = &shown;
  }
  if (place == nullptr) place = &record.comms[record.next_comm++ % shm::kShownCommsMax];
  *place = {};
  place->context = comm->context;
  place->rank = comm->rank;
  place->size = comm->size;
  const shm::CommKind kind = comm->of_window    ? shm::CommKind::window
                             : comm->is_inter() ? shm::CommKind::inter
                                                : shm::CommKind::intra;
  place->kind = static_cast<uint32_t>(kind);
  std::snprintf(place->name, sizeof place->name, "%s", comm->name.c_str());
  for (int rank = 0; rank < comm->peer_count; ++rank) {
    const auto process = static_cast<size_t>(comm->peers[rank]);
    if (process / 64 < shm::kMemberWords) place->members[process / 64] |= uint64_t{1} << process % 64;
  }
  return comm;
}

// Names a process of another job in the record. Its rank there is its local rank: such a job is on one
// machine.
void show_peer(shm::WaitRecord& record, PeerIndex peer) {
  if (peer < 0 || shm::process_node == nullptr || shm::node().has(peer)) return;
  const shm::Node* const bridge = shm::node().foreign(peer).bridge;
  if (bridge == nullptr) return;
  shm::ShownPeer* place = std::find_if(std::begin(record.peers), std::end(record.peers),
                                       [peer](const shm::ShownPeer& shown) { return shown.peer == peer; });
  if (place == std::end(record.peers)) place = &record.peers[record.next_peer++ % shm::kShownPeersMax];
  const uint32_t home_rank = atomic::load_relaxed(bridge->block_of(peer).home_rank);
  *place = {peer, static_cast<int32_t>(home_rank) - 1, static_cast<uint32_t>(bridge->pid_of(peer)), 0};
}

void clear_operations(shm::WaitEntry& entry) {
  entry.any_suffices = 0;
  entry.operation_count = 0;
  entry.missing_count = 0;
}

}  // namespace

shm::QueuedMessage show_queued(shm::WaitRecord& record, const MatchKey& key, uint64_t bytes) {
  show_comm(record, key.context);
  show_peer(record, key.peer);
  return {key.peer, key.tag, key.context, 0, bytes};
}

WaitDiagnostics::WaitDiagnostics(const Pool<Request>& requests, shm::WaitRecord& record,
                                 shm::WaitEntry& entry)
    : WaitDiagnostics(requests, entry) {
  record_ = &record;
}

WaitDiagnostics::WaitDiagnostics(const Pool<Request>& requests, shm::WaitEntry& entry)
    : requests_(requests), entry_(entry) {
  clear_operations(entry_);
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::request));
}

// The first entry decides the kind; a second one changes it to `request`.
void WaitDiagnostics::kind(shm::WaitKind kind) {
  const bool first = entry_.operation_count == 0 && entry_.missing_count == 0;
  if (entry_.kind == static_cast<uint32_t>(shm::WaitKind::finalize)) return;
  if (entry_.kind == static_cast<uint32_t>(shm::WaitKind::polling)) return;
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(first ? kind : shm::WaitKind::request));
}

void WaitDiagnostics::operation(shm::WaitKind kind, const MatchKey& key, uint64_t bytes,
                                const datatype::Type* type) {
  const uint32_t index = entry_.operation_count++;
  const objects::Comm* comm = record_ == nullptr ? nullptr : show_comm(*record_, key.context);
  if (record_ != nullptr) show_peer(*record_, key.peer);
  if (index >= shm::kOperationsMax) return;
  entry_.operations[index] = {
      .kind = static_cast<uint32_t>(kind),
      .peer = key.peer,
      .peer_rank = comm == nullptr || key.peer < 0 ? MPI_UNDEFINED : comm->rank_of(key.peer),
      .tag = key.tag,
      .context = key.context,
      .type = type == nullptr ? 0 : type->predefined,
      .bytes = bytes,
      .collective = {}};
}

void WaitDiagnostics::request(const Request& request) {
  const bool is_message = request.kind == RequestKind::send || request.kind == RequestKind::receive;
  if (is_message && is_collective(request.key.context)) {
    collective(request.key.context);
    return missing(request.key.peer);
  }
  if (is_message) {
    const auto way = request.kind == RequestKind::send ? shm::WaitKind::send : shm::WaitKind::receive;
    const int64_t bytes = request.type == nullptr ? 0 : request.count * request.type->size;
    kind(way);
    return operation(way, request.key, static_cast<uint64_t>(bytes), request.type);
  }
  if (request.hooks != nullptr && request.hooks->describe != nullptr) {
    return request.hooks->describe(request, *this);
  }
  kind(shm::WaitKind::request);
  operation(shm::WaitKind::request, {request.key.context, MPI_PROC_NULL, request.key.tag}, 0, nullptr);
}

void WaitDiagnostics::probe(const MatchKey& key) {
  kind(shm::WaitKind::probe);
  operation(shm::WaitKind::probe, key, 0, nullptr);
}

void WaitDiagnostics::named(shm::WaitKind which, uint32_t context, PeerIndex peer, std::string_view name) {
  kind(which);
  operation(which, {context, peer, 0}, 0, nullptr);
  if (entry_.operation_count > shm::kOperationsMax) return;
  shm::AwaitedOperation& written = entry_.operations[entry_.operation_count - 1];
  name.copy(written.collective, sizeof written.collective - 1);
}

void WaitDiagnostics::collective(uint32_t context, std::string_view name) {
  named(shm::WaitKind::collective, context, MPI_PROC_NULL, name);
  root(shm::kNoRoot);
}

void WaitDiagnostics::root(int rank) {
  if (entry_.operation_count == 0 || entry_.operation_count > shm::kOperationsMax) return;
  entry_.operations[entry_.operation_count - 1].tag = rank;
}

void WaitDiagnostics::call(uint32_t context, PeerIndex peer, std::string_view name) {
  named(shm::WaitKind::call, context, peer, name);
}

void WaitDiagnostics::progress(uint32_t context, PeerIndex peer) {
  named(shm::WaitKind::progress, context, peer, {});
}

void WaitDiagnostics::lock(uint32_t context, PeerIndex target, uint64_t holders) {
  kind(shm::WaitKind::lock);
  operation(shm::WaitKind::lock, {context, target, 0}, holders, nullptr);
}

void WaitDiagnostics::file(uint32_t context, std::string_view name, uint64_t bytes) {
  named(shm::WaitKind::file, context, MPI_PROC_NULL, name);
  if (entry_.operation_count <= shm::kOperationsMax)
    entry_.operations[entry_.operation_count - 1].bytes = bytes;
}

void WaitDiagnostics::missing(PeerIndex process) {
  for (uint32_t i = 0; i < std::min<uint32_t>(entry_.missing_count, shm::kMissingMax); ++i) {
    if (entry_.missing[i] == process) return;
  }
  if (record_ != nullptr) show_peer(*record_, process);
  if (entry_.missing_count < shm::kMissingMax) entry_.missing[entry_.missing_count] = process;
  ++entry_.missing_count;
}

template <class Function>
void WaitDiagnostics::for_requests(const Function& function) const {
  const size_t slots = std::min(requests_.slots_used(), kSlotsReadMax);
  for (size_t slot = 0; slot < slots; ++slot) {
    const Request* request = requests_.at(slot);
    if (request != nullptr && request->active && !request->complete) function(*request);
  }
}

void WaitDiagnostics::missing_in_messages(uint32_t context, int tag) {
  for_requests([&](const Request& request) {
    if (request.key.context != context || request.key.tag != tag) return;
    if (request.kind == RequestKind::send || request.kind == RequestKind::receive) missing(request.key.peer);
  });
}

void WaitDiagnostics::left_requests(const objects::Comm& comm) {
  for_requests([&](const Request& left) {
    if (left.comm == &comm && left.handle_freed) request(left);
  });
}

void WaitDiagnostics::finalize() {
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::finalize));
  for_requests([&](const Request& left) {
    if (left.kind == RequestKind::send) request(left);
  });
}

void WaitDiagnostics::polling(const MatchKey* probed_for) {
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::polling));
  entry_.any_suffices = 1;
  if (probed_for != nullptr) return operation(shm::WaitKind::probe, *probed_for, 0, nullptr);
  for_requests([&](const Request& under_way) {
    if (under_way.group == nullptr) request(under_way);
  });
}

}  // namespace hearth::p2p
