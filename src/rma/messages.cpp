#include "rma/messages.h"

#include <algorithm>
#include <cstring>

#include "base/lock.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "datatype/reduce.h"
#include "datatype/unnamed.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"
#include "rma/part_lock.h"
#include "rma/window.h"

namespace hearth::rma {
namespace {

using datatype::Block;
using datatype::Type;
using p2p::Request;

constexpr size_t kBlocksMax = 500;  // of a request
constexpr size_t kRequestBytesMax = sizeof(RequestHeader) + kBlocksMax * sizeof(Block);
constexpr int64_t kDataBytesMax = int64_t{1} << 20;      // likewise; a multiple of every element without gaps
constexpr int64_t kPendingBytesMax = int64_t{32} << 20;  // of all pending requests of this process
// Data use the tag of their request, replies another one: two processes may send each other requests with the
// same tag.
constexpr int kTags = 1 << 20;
constexpr int reply_tag(int tag) {
  return tag + kTags;
}

Type& byte_type() {
  return datatype::predefined_type(MPI_BYTE);
}

/// Writes the ABI's constants of an element type into a request.
void name_element(const Type& element, uint32_t (&names)[2]) {
  if (element.predefined != 0) {
    names[0] = element.predefined;
  } else if (element.element == datatype::Element::value_index) {
    names[0] = element.types[0]->predefined;
    names[1] = element.types[1]->predefined;
  } else {
    // MPI_Type_create_f90_real and similar: any predefined type of the same representation serves.
    for (uint32_t constant = 1; constant < objects::kPredefinedLimit; ++constant) {
      const Type* type = datatype::predefined_type(constant);
      if (type == nullptr || type->element != element.element || type->extent != element.extent) continue;
      names[0] = constant;
      return;
    }
  }
}

const Type* element_named(const uint32_t (&names)[2]) {
  Type* const first = datatype::predefined_type(names[0]);
  if (first == nullptr || names[1] == 0) return first;
  Type* const second = datatype::predefined_type(names[1]);
  Type* pair = nullptr;
  if (second == nullptr || !datatype::value_index(*first, *second, pair).ok()) return nullptr;
  return pair;
}

const objects::Op* op_named(uint32_t constant) {
  constexpr uint32_t kFirst = 0x20, kCount = 0x20;  // of the ABI's operations
  if (constant - kFirst >= kCount) return nullptr;
  return static_cast<const objects::Op*>(objects::pools.predefined[constant]);
}

/// `element`: the element type of an accumulate operation; otherwise nullptr.
void gather(std::span<const Block> blocks, const Type* element, std::byte* packed) {
  for (const Block& block : blocks) {
    const auto* const from = reinterpret_cast<const void*>(block.offset);
    if (element != nullptr && datatype::has_gap(*element)) {
      datatype::pack(*element, from, 0, packed, static_cast<size_t>(block.bytes));
    } else {
      std::memcpy(packed, from, static_cast<size_t>(block.bytes));
    }
    packed += block.bytes;
  }
}

void scatter(std::span<const Block> blocks, const std::byte* packed) {
  for (const Block& block : blocks) {
    std::memcpy(reinterpret_cast<void*>(block.offset), packed, static_cast<size_t>(block.bytes));
    packed += block.bytes;
  }
}

int64_t bytes_in(std::span<const Block> blocks) {
  int64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.bytes;
  return bytes;
}

/// Splits blocks into portions that fit one request each.
class Portions {
 public:
  explicit Portions(std::span<const Block> blocks) : left_(blocks.begin(), blocks.end()) {}

  bool next(std::vector<Block>& portion) {
    portion.clear();
    int64_t room = kDataBytesMax;
    while (at_ < left_.size() && portion.size() < kBlocksMax) {
      Block& block = left_[at_];
      // Only a block longer than a request is split: elements with gaps are blocks of their own.
      if (block.bytes > room && (!portion.empty() || block.bytes <= kDataBytesMax)) break;
      const int64_t taken = std::min(block.bytes, room);
      portion.push_back({block.offset, taken});
      room -= taken;
      block.offset += taken;
      block.bytes -= taken;
      if (block.bytes > 0) break;
      ++at_;
    }
    return !portion.empty();
  }

 private:
  std::vector<Block> left_;
  size_t at_ = 0;
};

}  // namespace

/// A request of this process as the origin. It is not moved, because pending messages use its buffers.
struct Messages::RmaRequest {
  Operation operation;
  int64_t offset = 0;  // of its data in the packed result
  std::vector<std::byte> request;
  std::vector<std::byte> data;
  std::vector<std::byte> reply;  // sized for a successful operation
  Request* sent_request = nullptr;
  Request* sent_data = nullptr;
  Request* replied = nullptr;
  bool data_unsent = false;
  std::shared_ptr<Awaited> awaited;

  size_t fetched_bytes() const { return reply.size() - 1; }
  int64_t held_bytes() const { return static_cast<int64_t>(data.size() + reply.size()); }
  bool is_over() const {
    return replied->complete && sent_request->complete && !data_unsent &&
           (sent_data == nullptr || sent_data->complete);
  }
};

/// A request that this process serves as the target.
struct Messages::RmaService {
  int origin = 0;
  RequestHeader header = {};
  std::vector<std::byte> request;
  std::vector<Block> blocks;
  std::vector<std::byte> data;
  std::vector<std::byte> reply;
  bool is_read = false;        // the request has been parsed
  bool in_window = false;      // data are received into the window itself
  Outcome outcome = {};        // once it has been carried out
  int64_t expected_bytes = 0;  // of `coming`
  Request* coming = nullptr;   // receive of the request, then of the data
  Request* going = nullptr;    // send of the reply
  bool waits_for_lock = false;
};

Messages::Messages(Window& window)
    : window_(window),
      comm_(window.comm_),
      pending_(static_cast<size_t>(comm_.size)),
      services_(static_cast<size_t>(comm_.size)) {}

Messages::~Messages() = default;

// Pending messages use buffers of this object. After an error at an origin there may be requests whose data
// have not arrived, or are arriving.
void Messages::close() {
  const auto end_receive = [this](Request*& receive) {
    if (receive == nullptr) return;
    if (!receive->complete && !engine().cancel(*receive)) engine().await(*receive);
    engine().requests().destroy(std::exchange(receive, nullptr));
  };
  for (std::list<RmaService>& queue : services_) {
    for (RmaService& service : queue) end_receive(service.coming);
    queue.clear();
  }
  services_in_all_ = 0;
  for (const RmaService& service : answered_) {
    engine().await(*service.going);
    engine().requests().destroy(service.going);
  }
  answered_.clear();
  listening_ = false;
}

// The origin.

Status Messages::ask(const Operation& operation, std::span<const Block> blocks, Request** request) {
  if (request == nullptr) return ask_in_portions(operation, blocks, nullptr);
  // One more than the replies, so that it does not complete before all portions have been sent.
  const auto awaited = std::make_shared<Awaited>(Awaited{nullptr, 1, {}});
  Request* const made = engine().requests().create(p2p::RequestKind::one_sided);
  if (made == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  made->key = {comm_.context, comm_.peers[operation.target], kRequestTag};
  awaited->request = made;
  const Status status = ask_in_portions(operation, blocks, awaited);
  if (--awaited->replies == 0) engine().finish(*made, status);
  if (status.ok()) {
    *request = made;
  } else {
    engine().requests().release(made);  // portions may be pending
  }
  return status;
}

Status Messages::ask_in_portions(const Operation& operation, std::span<const Block> blocks,
                                 const std::shared_ptr<Awaited>& awaited) try {
  if (operation.wanted == Wanted::lock || operation.wanted == Wanted::unlock) {
    return ask_once(operation, {}, 0, awaited);
  }
  Portions portions(blocks);
  std::vector<Block> portion;
  for (int64_t offset = 0; portions.next(portion); offset += bytes_in(portion)) {
    HEARTH_TRY(ask_once(operation, portion, offset, awaited));
  }
  return {};
} catch (const std::bad_alloc&) {
  return fail(MPI_ERR_NO_MEM, "no memory for the messages of a one-sided operation on the part of rank %d",
              operation.target);
}

// All allocations precede the first message, because a sent message cannot be withdrawn.
Status Messages::ask_once(const Operation& operation, std::span<const Block> blocks, int64_t offset,
                          const std::shared_ptr<Awaited>& awaited) {
  HEARTH_TRY(await_room());
  const PeerIndex peer = comm_.peers[operation.target];
  std::list<RmaRequest> made(1);
  RmaRequest* const rma_request = &made.front();
  rma_request->operation = operation;
  rma_request->offset = offset;
  RequestHeader header = {};
  header.wanted = operation.wanted;
  header.tag = kFirstOperationTag + next_tag_;
  next_tag_ = (next_tag_ + 1) % kTags;
  header.op = operation.op != nullptr ? operation.op->predefined : uint32_t{operation.exclusive};
  if (operation.element != nullptr) name_element(*operation.element, header.elements);
  header.blocks = static_cast<uint32_t>(blocks.size());
  header.fetches = operation.result != nullptr;
  header.bytes = bytes_in(blocks);
  rma_request->request.resize(sizeof header + blocks.size_bytes());
  std::memcpy(rma_request->request.data(), &header, sizeof header);
  if (!blocks.empty())
    std::memcpy(rma_request->request.data() + sizeof header, blocks.data(), blocks.size_bytes());
  if (operation.data != nullptr) {
    const int64_t bytes = operation.wanted == Wanted::compare_and_swap ? 2 * header.bytes : header.bytes;
    rma_request->data.assign(operation.data + offset, operation.data + offset + bytes);
  }
  rma_request->reply.resize((header.fetches ? static_cast<size_t>(header.bytes) : 0) + sizeof(Outcome));

  HEARTH_TRY(engine().ireceive(rma_request->reply.data(), static_cast<Count>(rma_request->reply.size()),
                               byte_type(), peer, reply_tag(header.tag), comm_.context,
                               rma_request->replied));
  const Status status =
      engine().isend(rma_request->request.data(), static_cast<Count>(rma_request->request.size()),
                     byte_type(), peer, kRequestTag, comm_.context, rma_request->sent_request);
  if (!status.ok()) {
    if (!rma_request->replied->complete) engine().cancel(*rma_request->replied);
    engine().requests().destroy(rma_request->replied);
    return status;
  }
  rma_request->data_unsent = !rma_request->data.empty();
  if (rma_request->data_unsent) send_data(*rma_request);
  if (operation.result_type != nullptr) datatype::retain(*operation.result_type);
  rma_request->awaited = awaited;
  if (awaited != nullptr) ++awaited->replies;
  ++pending_[static_cast<size_t>(operation.target)];
  ++pending_in_all_;
  pending_bytes_ += rma_request->held_bytes();
  rma_requests_.splice(rma_requests_.end(), made);
  return {};
}

// The target waits for the data of a request that it has received. If there is no memory for the send,
// advance() tries again.
void Messages::send_data(RmaRequest& rma_request) {
  RequestHeader header;
  std::memcpy(&header, rma_request.request.data(), sizeof header);
  const Status status = engine().isend(rma_request.data.data(), static_cast<Count>(rma_request.data.size()),
                                       byte_type(), comm_.peers[rma_request.operation.target], header.tag,
                                       comm_.context, rma_request.sent_data);
  // Any other error is the target's death, which ends the receive of the reply too.
  rma_request.data_unsent = status.error_class() == MPI_ERR_NO_MEM;
  if (!status.ok()) rma_request.sent_data = nullptr;
}

// Limits the memory of pending requests: until their data have arrived they exist twice, packed and in the
// user's buffer.
Status Messages::await_room() {
  if (pending_bytes_ <= kPendingBytesMax) return {};
  engine().wait_until([this] { return pending_bytes_ <= kPendingBytesMax; },
                      [this](p2p::WaitDiagnostics& note) {
                        if (!rma_requests_.empty())
                          note.progress(comm_.context, rma_requests_.front().replied->key.peer);
                      });
  return {};
}

const Request* Messages::awaited(int rank) const {
  for (const RmaRequest& rma_request : rma_requests_) {
    if ((rank < 0 || rma_request.operation.target == rank) && !rma_request.replied->complete)
      return rma_request.replied;
  }
  return nullptr;
}

Status Messages::outcome_of(const RmaRequest& rma_request) const {
  const Operation& operation = rma_request.operation;
  HEARTH_TRY(rma_request.sent_request->outcome);
  if (rma_request.sent_data != nullptr) HEARTH_TRY(rma_request.sent_data->outcome);
  HEARTH_TRY(rma_request.replied->outcome);
  const int64_t received = rma_request.replied->received_bytes;
  if (received == static_cast<int64_t>(rma_request.reply.size()) &&
      rma_request.reply.back() == static_cast<std::byte>(Outcome::done)) {
    return {};
  }
  if (received == 1 && rma_request.reply.front() == static_cast<std::byte>(Outcome::no_memory)) {
    return fail(MPI_ERR_NO_MEM, "rank %d has no memory for a one-sided operation", operation.target);
  }
  if (operation.wanted == Wanted::lock) return Status::error(MPIX_ERR_PROC_FAILED);
  return fail(MPI_ERR_RMA_RANGE,
              "rank %d has no such memory in the window. Likely cause: it is not attached, or was detached "
              "before",
              operation.target);
}

void Messages::finish(RmaRequest& rma_request) {
  const Operation& operation = rma_request.operation;
  const Status outcome = outcome_of(rma_request);
  if (outcome.ok() && operation.result != nullptr) {
    datatype::unpack(*operation.result_type, operation.result, rma_request.offset, rma_request.reply.data(),
                     rma_request.fetched_bytes());
  }
  if (!outcome.ok() && deferred_error_class_ == 0) {
    deferred_error_class_ = outcome.error_class();
    deferred_error_rank_ = operation.target;
  }
  engine().requests().destroy(rma_request.sent_request);
  if (rma_request.sent_data != nullptr) engine().requests().destroy(rma_request.sent_data);
  engine().requests().destroy(rma_request.replied);
  if (operation.result_type != nullptr) datatype::release(*operation.result_type);
  --pending_[static_cast<size_t>(operation.target)];
  --pending_in_all_;
  pending_bytes_ -= rma_request.held_bytes();
  if (Awaited* const awaited = rma_request.awaited.get()) {
    if (awaited->outcome.ok()) awaited->outcome = outcome;
    if (--awaited->replies == 0) engine().requests().complete(*awaited->request, awaited->outcome);
  }
}

Status Messages::take_deferred_error() {
  if (deferred_error_class_ == 0) return {};
  const int error_class = std::exchange(deferred_error_class_, 0);
  const PeerIndex peer = comm_.peers[deferred_error_rank_];
  if (engine().failures().is_dead(peer)) return engine().failures().death_of(peer, error_class);
  return fail(error_class, "an operation on the part of rank %d failed%s", deferred_error_rank_,
              error_class == MPI_ERR_RMA_RANGE ? ": it has no such memory in the window. Likely cause: it is "
                                                 "not attached, or was detached before"
              : error_class == MPI_ERR_NO_MEM  ? ": it had no memory for the operation's data. Remedy: free "
                                                 "memory there, or use memory of MPI_Win_allocate, which "
                                                 "needs no buffers"
                                               : "");
}

// The target.

// Receives from each origin separately: a receive from any source ends when a member dies, but the other
// members still have to be served.
void Messages::poll_requests() {
  p2p::Received received;
  while (listening_ && engine().probes().has_come(MPI_ANY_SOURCE, kRequestTag, comm_.context, received)) {
    if (!take_request(received.from, received.bytes)) return;
  }
}

/// Receives one request. False: no memory, or its origin has died; the message stays in the unexpected queue.
bool Messages::take_request(PeerIndex from, int64_t bytes) try {
  std::list<RmaService> made(1);
  RmaService& service = made.front();
  service.origin = comm_.rank_of(from);
  service.request.resize(std::min(static_cast<size_t>(bytes), kRequestBytesMax));
  service.expected_bytes = static_cast<int64_t>(service.request.size());
  const Status posted = engine().ireceive(service.request.data(), service.expected_bytes, byte_type(), from,
                                          kRequestTag, comm_.context, service.coming);
  if (!posted.ok()) return false;
  std::list<RmaService>& queue = services_[static_cast<size_t>(service.origin)];
  queue.splice(queue.end(), made);
  ++services_in_all_;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// Whether all blocks of a request lie in this process's part, with as many bytes as its header says.
bool Messages::lies_in_own(const RmaService& service) const {
  int64_t bytes = 0;
  for (const Block& block : service.blocks) {
    if (block.bytes <= 0 || block.bytes > kDataBytesMax ||
        !window_.is_own(static_cast<uint64_t>(block.offset), block.bytes)) {
      return false;
    }
    bytes += block.bytes;
  }
  return bytes == service.header.bytes;
}

/// Parses a complete request, and posts the receive of its data. False if it is invalid.
bool Messages::read(RmaService& service) {
  RequestHeader& header = service.header;
  const size_t bytes = service.request.size();
  if (bytes < sizeof header) return false;
  std::memcpy(&header, service.request.data(), sizeof header);
  if (header.wanted > Wanted::unlock || (header.wanted == Wanted::get && header.fetches == 0) ||
      header.blocks > kBlocksMax || bytes != sizeof header + header.blocks * sizeof(Block) ||
      header.bytes < 0 || header.bytes > kDataBytesMax)
    return false;
  service.is_read = true;
  const bool compares = header.wanted == Wanted::compare_and_swap;
  const bool has_data = compares || header.wanted == Wanted::put || header.wanted == Wanted::accumulate;
  service.expected_bytes = compares ? 2 * header.bytes : header.bytes;
  std::byte* place = nullptr;
  try {
    service.blocks.resize(header.blocks);
    if (header.blocks > 0)
      std::memcpy(service.blocks.data(), service.request.data() + sizeof header,
                  header.blocks * sizeof(Block));
    service.in_window = header.wanted == Wanted::put && header.blocks == 1 && lies_in_own(service);
    if (service.in_window) {
      place = reinterpret_cast<std::byte*>(service.blocks.front().offset);
    } else if (has_data) {
      service.data.resize(static_cast<size_t>(service.expected_bytes));
      place = service.data.data();
    }
  } catch (const std::bad_alloc&) {
    service.outcome = Outcome::no_memory;
    service.expected_bytes = 0;  // the data are dropped
  }
  if (!has_data) return true;
  return engine()
      .ireceive(place, service.expected_bytes, byte_type(), comm_.peers[service.origin], header.tag,
                comm_.context, service.coming)
      .ok();
}

/// Returns true once the request is finished.
bool Messages::carry_out(RmaService& service) {
  while (service.coming != nullptr) {
    if (!service.coming->complete) return false;
    const bool is_dropped = service.outcome == Outcome::no_memory;
    const bool has_come =
        is_dropped ? service.coming->outcome.error_class() == MPI_ERR_TRUNCATE
                   : service.coming->outcome.ok() && service.coming->received_bytes == service.expected_bytes;
    engine().requests().destroy(std::exchange(service.coming, nullptr));
    // The origin has died, or the request is invalid: no reply is awaited.
    if (!has_come || (!service.is_read && !read(service))) return true;
  }
  if (service.outcome == Outcome{}) {
    const bool about_lock = service.header.wanted == Wanted::lock || service.header.wanted == Wanted::unlock;
    if (!about_lock) {
      try {
        service.outcome = perform(service);
      } catch (const std::bad_alloc&) {
        service.outcome = Outcome::no_memory;
      }
    } else if (perform_lock(service)) {
      service.outcome = Outcome::done;
    } else {
      // A dead member may hold the lock: see Window::await_lock().
      if (!engine().failures().has_dead({comm_.peers, static_cast<size_t>(comm_.size)})) return false;
      PartLock(*window_.own_.board).end_wait();
      service.outcome = Outcome::refused;
    }
  }
  return reply(service);
}

/// False if there is no memory for the send: to be tried again.
bool Messages::reply(RmaService& service) {
  const bool fetches = service.outcome == Outcome::done && service.header.fetches != 0;
  if (fetches) service.reply.back() = static_cast<std::byte>(Outcome::done);
  const void* const bytes = fetches ? static_cast<const void*>(service.reply.data()) : &service.outcome;
  const Count count = fetches ? static_cast<Count>(service.reply.size()) : Count{sizeof service.outcome};
  const Status sent = engine().isend(bytes, count, byte_type(), comm_.peers[service.origin],
                                     reply_tag(service.header.tag), comm_.context, service.going);
  if (!sent.ok()) service.going = nullptr;
  return sent.error_class() != MPI_ERR_NO_MEM;
}

Outcome Messages::perform(RmaService& service) {
  const RequestHeader& header = service.header;
  const std::span<const Block> blocks = service.blocks;
  if (!service.in_window && !lies_in_own(service)) return Outcome::refused;
  if (header.fetches != 0) service.reply.resize(static_cast<size_t>(header.bytes) + sizeof(Outcome));
  if (header.wanted == Wanted::put) {
    if (!service.in_window) scatter(blocks, service.data.data());
    return Outcome::done;
  }
  if (header.wanted == Wanted::get) {
    gather(blocks, nullptr, service.reply.data());
    return Outcome::done;
  }
  const Type* const element = element_named(header.elements);
  const objects::Op* const op = op_named(header.op);
  const bool compares = header.wanted == Wanted::compare_and_swap;
  if (element == nullptr || (!compares && op == nullptr)) return Outcome::refused;
  for (const Block& block : blocks) {
    if (block.bytes % element->size != 0) return Outcome::refused;
    if (!datatype::has_gap(*element)) continue;
    if (block.bytes != element->size ||
        !window_.is_own(static_cast<uint64_t>(block.offset), element->true_extent))
      return Outcome::refused;
  }
  const Window::AccumulateLock accumulate_lock(window_, comm_.rank);
  if (header.fetches != 0) gather(blocks, element, service.reply.data());
  if (!compares) {
    const Status combined = Window::combine(*op, *element, service.data.data(), nullptr, blocks);
    return combined.ok() ? Outcome::done : Outcome::refused;
  }
  const auto bytes = static_cast<size_t>(header.bytes);
  if (header.fetches != 0 && std::memcmp(service.reply.data(), service.data.data(), bytes) == 0) {
    scatter(blocks, service.data.data() + bytes);
  }
  return Outcome::done;
}

/// False if the lock is not free.
bool Messages::perform_lock(RmaService& service) {
  PartLock lock(*window_.own_.board);
  const bool exclusive = service.header.op != 0;
  const PeerIndex origin = comm_.peers[service.origin];
  if (service.header.wanted == Wanted::unlock) {
    if (lock.unlock(exclusive)) window_.wake_all();
    return true;
  }
  if (!lock.try_lock(exclusive, origin)) {
    if (service.waits_for_lock) return false;
    service.waits_for_lock = true;
    lock.begin_wait();
    if (!lock.try_lock(exclusive, origin)) return false;
  }
  if (service.waits_for_lock) lock.end_wait();
  return true;
}

void Messages::advance() {
  poll_requests();
  for (size_t origin = 0; services_in_all_ > 0 && origin < services_.size(); ++origin) {
    std::list<RmaService>& queue = services_[origin];
    while (!queue.empty() && carry_out(queue.front())) {
      if (queue.front().going != nullptr) {
        answered_.splice(answered_.end(), queue, queue.begin());
      } else {
        queue.pop_front();
      }
      --services_in_all_;
    }
  }
  std::erase_if(answered_, [this](const RmaService& service) {
    if (!service.going->complete) return false;
    engine().requests().destroy(service.going);
    return true;
  });
  bool finished = false;
  for (auto rma_request = rma_requests_.begin(); rma_request != rma_requests_.end();) {
    if (rma_request->data_unsent) send_data(*rma_request);
    if (!rma_request->is_over()) {
      ++rma_request;
      continue;
    }
    finish(*rma_request);
    rma_request = rma_requests_.erase(rma_request);
    finished = true;
  }
  // A request's last message may have completed before this call. progress() then reports nothing, and does
  // not wake sleeping threads.
  if (finished && LibraryLock::enabled) engine().wake_threads();
}

}  // namespace hearth::rma
