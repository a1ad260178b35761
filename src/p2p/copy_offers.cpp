#include "p2p/copy_offers.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/copy.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "datatype/type.h"
#include "p2p/cma_access.h"
#include "profile/recorder.h"
#include "single_copy/cooperative.h"

namespace hearth::p2p {
namespace {

// One in this many messages that are eligible for the arena, beginning with the first, goes through new
// bounce buffers, so that the store policy samples whether the receiver still shares a cache: either process
// may have moved. Without a shared cache the arena is not used: writing again to a buffer that the receiver
// has read costs more than bounce buffers.
constexpr uint32_t kOffersPerSample = 64;
// The same if the receiver shares no cache, or nothing is known yet. Recycled buffers are fast to write in
// both cases and so give no sample.
constexpr uint32_t kRefusalsPerSample = 16;
// Shorter messages, for which bounce buffers are nearly as good.
constexpr uint32_t kMeasuredRefusalsPerSample = 256;

class SendingInArena final : public single_copy::Copier {
 public:
  SendingInArena(std::byte* to, const std::byte* data, uint64_t bytes)
      : to_(to), data_(data), bytes_(bytes) {}
  bool copy(const single_copy::Piece& piece) override {
    copy_shared_bytes(to_ + piece.at, data_ + piece.at, piece.bytes, bytes_);
    return true;
  }

 private:
  std::byte* const to_;
  const std::byte* const data_;
  const uint64_t bytes_;
};

class SendingByMethod final : public single_copy::Copier {
 public:
  SendingByMethod(single_copy::Method& method, const single_copy::Target& target, uint64_t to,
                  const std::byte* data)
      : method_(method), target_(target), to_(to), data_(data) {}
  bool copy(const single_copy::Piece& piece) override {
    return method_.write(target_, to_ + piece.at, data_ + piece.at, piece.bytes);
  }

 private:
  single_copy::Method& method_;
  const single_copy::Target& target_;
  const uint64_t to_;
  const std::byte* const data_;
};

/// `helper`: the local rank of this process.
single_copy::Message message_of(int helper, const CooperativeRequest& cooperative_request,
                                const single_copy::PieceSizes& sizes) {
  return {single_copy::copy_mark(static_cast<uint16_t>(helper),
                                 static_cast<uint16_t>(cooperative_request.number)),
          static_cast<size_t>(cooperative_request.bytes), sizes};
}

uint64_t single_copy_bytes_min(const PairProtocol& limits) {
  return std::min(limits.single_copy_bytes_min, limits.single_copy_measured_bytes_min);
}

bool bounce_buffers_hold(const PairProtocol& limits, uint64_t bytes) {
  return bytes <= limits.fragment_bytes_max * static_cast<uint64_t>(limits.fragments_in_flight_max);
}

}  // namespace

CopyOffers::CopyOffers(PairTable& pairs, MemoryAccess& access, shm::Arena* arena, profile::Recorder* recorder,
                       EngineCounters& counters)
    : pairs_(pairs),
      access_(access),
      arena_(arena),
      recorder_(recorder),
      counters_(counters),
      peers_(pairs.room()) {
  reload();
}

void CopyOffers::reload() {
  skew_aware_ = param::get_flag(param::Id::p2p_skew);
}

// Only messages that bounce buffers can hold have a choice, so longer ones neither end a trial nor show a
// lag.
void CopyOffers::ended(const MatchKey& key, uint64_t bytes) {
  Peer& peer = of(key.peer);
  --peer.offered;
  if (bounce_buffers_hold(pairs_.limits_for(key), bytes)) peer.skew.zero_copy_ended();
}

void CopyOffers::began(const MatchKey& key, uint64_t bytes, uint8_t flags) {
  Peer& peer = of(key.peer);
  const PairProtocol& limits = pairs_.limits_for(key);
  if (flags != 0) {
    ++peer.offered;
    if (key.peer != access_.self() && bounce_buffers_hold(limits, bytes)) peer.skew.zero_copy_began();
  }
  if (peer.arena_policies != nullptr && limits.measures_arena(bytes)) policy_of(peer, bytes).sent(bytes);
}

void CopyOffers::waited(const MatchKey& key, uint64_t bytes, uint64_t waited_ns) {
  if (bounce_buffers_hold(pairs_.limits_for(key), bytes)) of(key.peer).skew.update(bytes, waited_ns);
}

void CopyOffers::declined(PeerIndex peer, uint8_t flags) {
  if (flags & kNoSingleCopy) of(peer).single_copy_declined = true;
  if (flags & kNoArena) of(peer).arena_declined = true;
}

// Whether to offer this message in the arena: the receiver shares a cache with this process, the arena is
// faster than bounce buffers, and no sample is due.
bool CopyOffers::offers_arena(PeerIndex to, uint64_t bytes, bool measured, bool idle) {
  Peer& peer = of(to);
  const StorePolicy& stores = pairs_.at(to).store_policy;
  const bool near = stores.near();
  if (near && measured && !chooses_arena(peer, bytes, idle)) return false;
  const uint32_t refusals = measured && stores.streams() ? kMeasuredRefusalsPerSample : kRefusalsPerSample;
  peer.sample_due = peer.arena_questions++ % (near ? kOffersPerSample : refusals) == 0;
  return near && !peer.sample_due;
}

ArenaPolicy& CopyOffers::policy_of(Peer& peer, uint64_t bytes) {
  constexpr int kShortestShift = 16;
  const int length = std::min(static_cast<int>(std::bit_width(bytes >> kShortestShift)), kLengths - 1);
  return (*peer.arena_policies)[static_cast<size_t>(length)];
}

bool CopyOffers::chooses_arena(Peer& peer, uint64_t bytes, bool idle) {
  if (peer.arena_policies == nullptr) {
    peer.arena_policies.reset(new (std::nothrow) std::array<ArenaPolicy, kLengths>);
    if (peer.arena_policies == nullptr) return false;
    for (ArenaPolicy& policy : *peer.arena_policies) policy.begin_part(os::now_ns());
  }
  ArenaPolicy& policy = policy_of(peer, bytes);
  if (policy.part_ends(idle && peer.offered == 0)) {
    const bool arena = policy.chooses_arena();
    policy.begin_part(os::now_ns());
    if (policy.chooses_arena() != arena) peer.way_changed = true;
  }
  return policy.chooses_arena();
}

CopyOffers::Offer CopyOffers::offer(const Request& request, uint64_t bytes, bool idle) {
  const PeerIndex to = request.key.peer;
  Peer& peer = of(to);
  const PairProtocol& limits = pairs_.limits_for(request.key);
  if (bytes < std::min(limits.arena_measured_bytes_min, single_copy_bytes_min(limits)) ||
      !datatype::is_one_run(*request.type, request.count)) {
    return {};
  }
  const bool may_skew = skew_aware_ && to != access_.self() && bounce_buffers_hold(limits, bytes);
  if (may_skew && peer.skew.prefers_bounce_buffers()) return {};
  return offer_zero_copy(request, bytes, limits, idle);
}

CopyOffers::Offer CopyOffers::offer_zero_copy(const Request& request, uint64_t bytes,
                                              const PairProtocol& limits, bool idle) {
  const PeerIndex to = request.key.peer;
  Peer& peer = of(to);
  const std::byte* data = first_byte(request);
  Offer offer;
  if (bytes >= limits.arena_measured_bytes_min && !peer.arena_declined) {
    const bool measured = limits.measures_arena(bytes);
    if (!arena_->holds(data, bytes)) {
      if (!measured) arena_->note_private_message();
    } else if (to == access_.self() || offers_arena(to, bytes, measured, idle)) {
      offer.exposure = arena_->expose(data, bytes);
    }
    if (offer.exposure) {
      offer.address = offer.exposure.offset();
      offer.flags = kInArena;
      return offer;
    }
  }
  // A due sample needs bounce buffers (offers_arena).
  if (bytes < single_copy_bytes_min(limits) || peer.single_copy_declined || peer.sample_due) return {};
  offer.address = reinterpret_cast<uint64_t>(data);
  offer.flags = kSingleCopy;
  return offer;
}

// On request of the receiver.

CopyOffers::Answer CopyOffers::serve(const Request& request, uint8_t flags,
                                     const CooperativeRequest& cooperative_request) {
  const uint64_t copied_before = counters_.bytes_copied_by_sender;
  const uint64_t begun_ns = recorder_ != nullptr ? os::now_ns() : 0;
  const Answer answer = copy_share(request, flags, cooperative_request);
  if (recorder_ != nullptr && counters_.bytes_copied_by_sender > copied_before) {
    recorder_->copied(request.key.peer, counters_.bytes_copied_by_sender - copied_before, begun_ns,
                      os::now_ns());
  }
  return answer;
}

CopyOffers::Answer CopyOffers::copy_share(const Request& request, uint8_t flags,
                                          const CooperativeRequest& cooperative_request) {
  switch (flags) {
    case 0:
      return {copy_share_in_arena(request, cooperative_request) ? Served::together : Served::invalid, 0};
    case kByMethod:
      copy_share_by_method(request, cooperative_request);
      return {Served::together, 0};
    case kByMethod | kAlone:
      return {Served::answer_written, write_alone(request, cooperative_request)};
    default:
      return {Served::invalid, 0};
  }
}

// Returns false if the buffer is not inside the receiver's arena slice, or if there is no arena. The slices
// of another job may have another length.
bool CopyOffers::copy_share_in_arena(const Request& request, const CooperativeRequest& cooperative_request) {
  if (arena_ == nullptr) return false;
  const PeerIndex receiver = request.key.peer;
  const size_t slice_bytes = pairs_.is_home(receiver) ? arena_->slice_bytes() : SIZE_MAX;
  if (cooperative_request.to > slice_bytes ||
      cooperative_request.bytes > slice_bytes - cooperative_request.to) {
    return false;
  }
  std::byte* to = access_.arena_memory_of(receiver, cooperative_request.to,
                                          static_cast<size_t>(cooperative_request.bytes));
  if (to == nullptr) return true;  // this process has no address space left for the slice
  SendingInArena copier(to, first_byte(request), cooperative_request.bytes);
  const single_copy::Message message =
      message_of(access_.own_local_rank(receiver), cooperative_request, single_copy::kPlainPieces);
  counters_.bytes_copied_by_sender +=
      single_copy::send_pieces(access_.control_block(receiver), message, copier).bytes;
  return true;
}

void CopyOffers::copy_share_by_method(const Request& request, const CooperativeRequest& cooperative_request) {
  const PeerIndex receiver = request.key.peer;
  single_copy::Method* method = access_.writer_of(receiver);
  if (method == nullptr || !access_.has_control_blocks(receiver)) return;
  const CmaAccess access(access_.counted_block(receiver, *method),
                         pairs_.know(receiver).protocol.cma_accesses_max, access_.own_local_rank(receiver));
  if (!access.allowed()) return;
  SendingByMethod copier(*method, access_.target_of(receiver), cooperative_request.to, first_byte(request));
  const single_copy::Message message =
      message_of(access_.own_local_rank(receiver), cooperative_request, single_copy::kSystemPieces);
  const single_copy::SenderPart sender_part =
      single_copy::send_pieces(access_.control_block(receiver), message, copier);
  if (sender_part.refused) access_.refuse_writing(receiver);
  counters_.bytes_copied_by_sender += sender_part.bytes;
}

// Returns the flags of the answer.
uint8_t CopyOffers::write_alone(const Request& request, const CooperativeRequest& cooperative_request) {
  const PeerIndex receiver = request.key.peer;
  single_copy::Method* method = access_.writer_of(receiver);
  if (method != nullptr) {
    const CmaAccess access(access_.counted_block(receiver, *method),
                           pairs_.know(receiver).protocol.cma_accesses_max, access_.own_local_rank(receiver));
    if (!access.allowed()) return kNotWritten;
    if (method->write(access_.target_of(receiver), cooperative_request.to, first_byte(request),
                      static_cast<size_t>(cooperative_request.bytes))) {
      counters_.bytes_copied_by_sender += cooperative_request.bytes;
      return 0;
    }
    access_.refuse_writing(receiver);
  }
  return kNotWritten | kNeverWritten;
}

}  // namespace hearth::p2p
