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
#include "p2p/wait_note.h"
#include "rma/part_lock.h"
#include "rma/window.h"

namespace hearth::rma {
namespace {

using datatype::Block;
using datatype::Type;
using p2p::Request;

constexpr size_t kBlocksMax = 500;  // of a request
constexpr size_t kRequestBytesMax = sizeof(RequestHeader) + kBlocksMax * sizeof(Block);
constexpr int64_t kDataBytesMax = int64_t{1} << 20;  // likewise; a multiple of every element that can be cut
constexpr int64_t kPendingBytesMax = int64_t{32} << 20;  // of all requests of this process under way
// Data go under the tag of their request, replies under one of their own: two processes may ask each other
// under the same tag.
constexpr int kTags = 1 << 20;
constexpr int reply_tag(int tag) {
  return tag + kTags;
}

Type& byte_type() {
  return datatype::predefined_type(MPI_BYTE);
}

/// How a request names the type of what is combined.
void name_element(const Type& element, uint32_t (&names)[2]) {
  if (element.predefined != 0) {
    names[0] = element.predefined;
  } else if (element.element == datatype::Element::value_index) {
    names[0] = element.types[0]->predefined;
    names[1] = element.types[1]->predefined;
  } else {
    // MPI_Type_create_f90_real and its like: any type of the same representation will do.
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

/// `element`: of what is combined; else nullptr.
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

/// Cuts blocks into what fits one request each.
class Portions {
 public:
  explicit Portions(std::span<const Block> blocks) : left_(blocks.begin(), blocks.end()) {}

  bool next(std::vector<Block>& portion) {
    portion.clear();
    int64_t room = kDataBytesMax;
    while (at_ < left_.size() && portion.size() < kBlocksMax) {
      Block& block = left_[at_];
      // Only what is longer than a request is cut: elements with gaps are blocks of their own.
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

/// Of this process as the origin. Stays where it is: its buffers are lent to messages.
struct Messages::Asked {
  Operation operation;
  int64_t offset = 0;  // of its data in the packed result
  std::vector<std::byte> request;
  std::vector<std::byte> data;
  std::vector<std::byte> reply;
  Request* sent_request = nullptr;
  Request* sent_data = nullptr;
  Request* replied = nullptr;
  std::shared_ptr<Awaited> awaited;

  bool is_over() const {
    return replied->complete && sent_request->complete && (sent_data == nullptr || sent_data->complete);
  }
};

/// Of this process as the target.
struct Messages::Heard {
  int origin;
  RequestHeader header;
  std::vector<std::byte> request;
  std::vector<Block> blocks;
  std::vector<std::byte> data;
  std::vector<std::byte> reply;
  bool is_read = false;       // the request
  Request* coming = nullptr;  // the request, then the data
  Request* going = nullptr;   // the reply
  bool waits_for_lock = false;
};

Messages::Messages(Window& window)
    : window_(window),
      comm_(window.comm_),
      pending_(static_cast<size_t>(comm_.size)),
      heard_(static_cast<size_t>(comm_.size)) {}

Messages::~Messages() = default;

// What is under way has its buffers here. After an error of others there may be requests whose data have not
// come, or come just now.
void Messages::close() {
  const auto end_receive = [this](Request*& receive) {
    if (receive == nullptr) return;
    if (!receive->complete && !engine().cancel(*receive)) engine().await(*receive);
    engine().destroy(std::exchange(receive, nullptr));
  };
  for (std::deque<std::unique_ptr<Heard>>& queue : heard_) {
    for (const std::unique_ptr<Heard>& heard : queue) end_receive(heard->coming);
    queue.clear();
  }
  heard_in_all_ = 0;
  for (const std::unique_ptr<Heard>& heard : answered_) {
    engine().await(*heard->going);
    engine().destroy(heard->going);
  }
  answered_.clear();
  listening_ = false;
}

// Asking.

Status Messages::ask(const Operation& operation, std::span<const Block> blocks, Request** request) {
  std::shared_ptr<Awaited> awaited;
  if (request != nullptr) {
    Request* const made = engine().make_request(p2p::RequestKind::one_sided);
    if (made == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
    made->key = {comm_.context, comm_.peers[operation.target], kRequestTag};
    // One more than replies, so that it does not end before all are under way.
    awaited = std::make_shared<Awaited>(Awaited{made, 1, {}});
    *request = made;
  }
  Status status;
  if (operation.wanted == Wanted::lock || operation.wanted == Wanted::unlock) {
    status = ask_once(operation, {}, 0, awaited);
  } else {
    Portions portions(blocks);
    std::vector<Block> portion;
    for (int64_t offset = 0; status.ok() && portions.next(portion); offset += bytes_in(portion)) {
      status = ask_once(operation, portion, offset, awaited);
    }
  }
  if (awaited != nullptr && --awaited->replies == 0) engine().finish(*awaited->request, status);
  return status;
}

Status Messages::ask_once(const Operation& operation, std::span<const Block> blocks, int64_t offset,
                          const std::shared_ptr<Awaited>& awaited) {
  HEARTH_TRY(await_room());
  const PeerIndex peer = comm_.peers[operation.target];
  auto asked = std::make_unique<Asked>();
  asked->operation = operation;
  asked->offset = offset;
  RequestHeader header = {};
  header.wanted = operation.wanted;
  header.tag = kFirstOperationTag + next_tag_;
  next_tag_ = (next_tag_ + 1) % kTags;
  header.op = operation.op != nullptr ? operation.op->predefined : uint32_t{operation.exclusive};
  if (operation.element != nullptr) name_element(*operation.element, header.elements);
  header.blocks = static_cast<uint32_t>(blocks.size());
  header.fetches = operation.result != nullptr;
  header.bytes = bytes_in(blocks);
  asked->request.resize(sizeof header + blocks.size_bytes());
  std::memcpy(asked->request.data(), &header, sizeof header);
  if (!blocks.empty()) std::memcpy(asked->request.data() + sizeof header, blocks.data(), blocks.size_bytes());
  if (operation.data != nullptr) {
    const int64_t bytes = operation.wanted == Wanted::compare_and_swap ? 2 * header.bytes : header.bytes;
    asked->data.assign(operation.data + offset, operation.data + offset + bytes);
  }
  asked->reply.resize(header.fetches ? static_cast<size_t>(header.bytes) : 1);

  HEARTH_TRY(engine().ireceive(asked->reply.data(), static_cast<Count>(asked->reply.size()), byte_type(),
                               peer, reply_tag(header.tag), comm_.context, asked->replied));
  const Status status = engine().isend(asked->request.data(), static_cast<Count>(asked->request.size()),
                                       byte_type(), peer, kRequestTag, comm_.context, asked->sent_request);
  if (status.ok() && !asked->data.empty()) {
    // An error is one of the target's death, which the reply's receive has as well.
    static_cast<void>(engine().isend(asked->data.data(), static_cast<Count>(asked->data.size()), byte_type(),
                                     peer, header.tag, comm_.context, asked->sent_data));
  }
  if (!status.ok()) {
    // The target has died: nothing of it comes, and nothing goes there.
    if (!asked->replied->complete) engine().cancel(*asked->replied);
    engine().destroy(asked->replied);
    return status;
  }
  if (operation.result_type != nullptr) datatype::retain(*operation.result_type);
  asked->awaited = awaited;
  if (awaited != nullptr) ++awaited->replies;
  ++pending_[static_cast<size_t>(operation.target)];
  ++pending_in_all_;
  pending_bytes_ += static_cast<int64_t>(asked->data.size() + asked->reply.size());
  asked_.push_back(std::move(asked));
  return {};
}

// The data of requests lie here twice until they have come: packed, and with the user.
Status Messages::await_room() {
  if (pending_bytes_ <= kPendingBytesMax) return {};
  engine().wait_until([this] { return pending_bytes_ <= kPendingBytesMax; },
                      [this](p2p::WaitNote& note) {
                        if (!asked_.empty()) note.request(*asked_.front()->replied);
                      });
  return {};
}

const Request* Messages::awaited(int rank) const {
  for (const std::unique_ptr<Asked>& asked : asked_) {
    if ((rank < 0 || asked->operation.target == rank) && !asked->replied->complete) return asked->replied;
  }
  return nullptr;
}

void Messages::finish(Asked& asked) {
  const Operation& operation = asked.operation;
  Status outcome = asked.sent_request->outcome;
  if (outcome.ok() && asked.sent_data != nullptr) outcome = asked.sent_data->outcome;
  if (outcome.ok()) outcome = asked.replied->outcome;
  const bool refused =
      outcome.ok() && asked.replied->received_bytes != static_cast<int64_t>(asked.reply.size());
  if (refused && operation.wanted == Wanted::lock) {
    outcome = Status::error(MPIX_ERR_PROC_FAILED);
  } else if (refused) {
    outcome = fail(MPI_ERR_RMA_RANGE,
                   "rank %d has no such memory in the window. Likely cause: it is not attached, or was "
                   "detached before",
                   operation.target);
  }
  if (outcome.ok() && operation.result != nullptr) {
    datatype::unpack(*operation.result_type, operation.result, asked.offset, asked.reply.data(),
                     asked.reply.size());
  }
  if (!outcome.ok() && trouble_class_ == 0) {
    trouble_class_ = outcome.error_class();
    trouble_rank_ = operation.target;
  }
  engine().destroy(asked.sent_request);
  if (asked.sent_data != nullptr) engine().destroy(asked.sent_data);
  engine().destroy(asked.replied);
  if (operation.result_type != nullptr) datatype::release(*operation.result_type);
  --pending_[static_cast<size_t>(operation.target)];
  --pending_in_all_;
  pending_bytes_ -= static_cast<int64_t>(asked.data.size() + asked.reply.size());
  if (Awaited* const awaited = asked.awaited.get()) {
    if (awaited->outcome.ok()) awaited->outcome = outcome;
    if (--awaited->replies == 0) engine().complete(*awaited->request, awaited->outcome);
  }
}

Status Messages::take_trouble() {
  if (trouble_class_ == 0) return {};
  const int error_class = std::exchange(trouble_class_, 0);
  const PeerIndex peer = comm_.peers[trouble_rank_];
  if (engine().is_dead(peer)) return engine().death_of(peer, error_class);
  return fail(error_class, "an operation on the part of rank %d failed%s", trouble_rank_,
              error_class == MPI_ERR_RMA_RANGE ? ": it has no such memory in the window. Likely cause: it is "
                                                 "not attached, or was detached before"
                                               : "");
}

// Answering.

// Not by a receive from anybody, which ends when a member dies: the others are answered still.
void Messages::hear() {
  p2p::Received received;
  while (listening_ && engine().has_come(MPI_ANY_SOURCE, kRequestTag, comm_.context, received)) {
    auto heard = std::make_unique<Heard>();
    heard->origin = comm_.rank_of(received.from);
    heard->request.resize(std::min(static_cast<size_t>(received.bytes), kRequestBytesMax));
    const Status posted =
        engine().ireceive(heard->request.data(), static_cast<Count>(heard->request.size()), byte_type(),
                          received.from, kRequestTag, comm_.context, heard->coming);
    if (!posted.ok()) return;
    heard_[static_cast<size_t>(heard->origin)].push_back(std::move(heard));
    ++heard_in_all_;
  }
}

/// Reads a request that has come whole, and sees to its data. False where it is none.
bool Messages::read(Heard& heard) {
  RequestHeader& header = heard.header;
  const size_t bytes = heard.request.size();
  if (bytes < sizeof header) return false;
  std::memcpy(&header, heard.request.data(), sizeof header);
  if (header.wanted > Wanted::unlock || (header.wanted == Wanted::get && header.fetches == 0) ||
      header.blocks > kBlocksMax || bytes != sizeof header + header.blocks * sizeof(Block) ||
      header.bytes < 0 || header.bytes > kDataBytesMax)
    return false;
  heard.blocks.resize(header.blocks);
  if (header.blocks > 0)
    std::memcpy(heard.blocks.data(), heard.request.data() + sizeof header, header.blocks * sizeof(Block));
  heard.is_read = true;
  const bool compares = header.wanted == Wanted::compare_and_swap;
  if (!compares && header.wanted != Wanted::put && header.wanted != Wanted::accumulate) return true;
  heard.data.resize(static_cast<size_t>(compares ? 2 * header.bytes : header.bytes));
  return engine()
      .ireceive(heard.data.data(), static_cast<Count>(heard.data.size()), byte_type(),
                comm_.peers[heard.origin], header.tag, comm_.context, heard.coming)
      .ok();
}

/// True once it is done with.
bool Messages::carry_out(Heard& heard) {
  while (heard.coming != nullptr) {
    if (!heard.coming->complete) return false;
    const std::vector<std::byte>& expected = heard.is_read ? heard.data : heard.request;
    const bool has_come =
        heard.coming->outcome.ok() && heard.coming->received_bytes == static_cast<int64_t>(expected.size());
    engine().destroy(std::exchange(heard.coming, nullptr));
    // The origin has died, or never meant it: nobody waits for an answer.
    if (!has_come || (!heard.is_read && !read(heard))) return true;
  }
  const bool about_lock = heard.header.wanted == Wanted::lock || heard.header.wanted == Wanted::unlock;
  bool done = true;
  if (about_lock && !perform_lock(heard)) {
    // Who holds it may have died: see Window::acquire().
    if (!engine().has_dead({comm_.peers, static_cast<size_t>(comm_.size)})) return false;
    PartLock(*window_.own_.board).end_wait();
    done = false;
  } else if (!about_lock) {
    done = perform(heard);
  }
  if (!done) {
    heard.reply.clear();
  } else if (!heard.header.fetches) {
    heard.reply.assign(1, std::byte{1});
  }
  static_cast<void>(engine().isend(heard.reply.data(), static_cast<Count>(heard.reply.size()), byte_type(),
                                   comm_.peers[heard.origin], reply_tag(heard.header.tag), comm_.context,
                                   heard.going));
  return true;
}

/// False where it is not to be done.
bool Messages::perform(Heard& heard) {
  const RequestHeader& header = heard.header;
  const std::span<const Block> blocks = heard.blocks;
  int64_t bytes = 0;
  for (const Block& block : blocks) {
    if (block.bytes <= 0 || block.bytes > kDataBytesMax ||
        !window_.is_own(static_cast<uint64_t>(block.offset), block.bytes))
      return false;
    bytes += block.bytes;
  }
  if (bytes != header.bytes) return false;
  if (header.fetches) heard.reply.resize(static_cast<size_t>(bytes));
  if (header.wanted == Wanted::put) {
    scatter(blocks, heard.data.data());
    return true;
  }
  if (header.wanted == Wanted::get) {
    gather(blocks, nullptr, heard.reply.data());
    return true;
  }
  const Type* const element = element_named(header.elements);
  const objects::Op* const op = op_named(header.op);
  const bool compares = header.wanted == Wanted::compare_and_swap;
  if (element == nullptr || (!compares && op == nullptr)) return false;
  for (const Block& block : blocks) {
    if (block.bytes % element->size != 0) return false;
    if (!datatype::has_gap(*element)) continue;
    if (block.bytes != element->size ||
        !window_.is_own(static_cast<uint64_t>(block.offset), element->true_extent))
      return false;
  }
  window_.begin_combining(comm_.rank);
  if (header.fetches) gather(blocks, element, heard.reply.data());
  bool done = true;
  if (!compares) {
    done = Window::combine(*op, *element, heard.data.data(), nullptr, blocks).ok();
  } else if (header.fetches && std::memcmp(heard.reply.data(), heard.data.data(), heard.reply.size()) == 0) {
    scatter(blocks, heard.data.data() + bytes);
  }
  window_.end_combining(comm_.rank);
  return done;
}

/// False where it waits for a lock.
bool Messages::perform_lock(Heard& heard) {
  PartLock lock(*window_.own_.board);
  const bool exclusive = heard.header.op != 0;
  if (heard.header.wanted == Wanted::unlock) {
    if (lock.unlock(exclusive)) window_.ring_all();
    return true;
  }
  if (!lock.try_lock(exclusive)) {
    if (heard.waits_for_lock) return false;
    heard.waits_for_lock = true;
    lock.begin_wait();
    if (!lock.try_lock(exclusive)) return false;
  }
  if (heard.waits_for_lock) lock.end_wait();
  return true;
}

void Messages::advance() {
  hear();
  for (size_t origin = 0; heard_in_all_ > 0 && origin < heard_.size(); ++origin) {
    std::deque<std::unique_ptr<Heard>>& queue = heard_[origin];
    while (!queue.empty() && carry_out(*queue.front())) {
      if (queue.front()->going != nullptr) answered_.push_back(std::move(queue.front()));
      queue.pop_front();
      --heard_in_all_;
    }
  }
  std::erase_if(answered_, [this](const std::unique_ptr<Heard>& heard) {
    if (!heard->going->complete) return false;
    engine().destroy(heard->going);
    return true;
  });
  const size_t finished = std::erase_if(asked_, [this](const std::unique_ptr<Asked>& asked) {
    if (!asked->is_over()) return false;
    finish(*asked);
    return true;
  });
  // Its last message may have ended elsewhere, so that nothing has moved just now for who asks only then.
  if (finished > 0 && LibraryLock::enabled) engine().wake_threads();
}

}  // namespace hearth::rma
