#include "p2p/partitioned.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/check.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::p2p {
namespace {

datatype::Type& byte_type() {
  return *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_BYTE)));
}

/// State of either side. Lives as long as its request, its offer or one of its messages.
struct Channel {
  Channel(Engine& its_engine, Request& its_request, int its_partitions)
      : engine(its_engine), request(&its_request), partitions(its_partitions) {}
  virtual ~Channel() {
    if (offer.context != 0) engine.failures().disown(offer.context);
  }

  Engine& engine;
  Request* request;  // nullptr once the user has freed it
  int users = 1;     // references: the request, the pending offer, pending messages
  const int partitions;
  int messages_left = 0;  // of this cycle
  Status outcome;         // the first error of this cycle
  PartitionOffer offer;

  int64_t partition_bytes() const { return request->count * request->type->size; }

  void let_go() {
    if (--users == 0) delete this;
  }
  void note(Status status) {
    if (outcome.ok()) outcome = status;
  }
  /// Pre: the caller holds a reference besides the request's, or does not use the channel afterwards.
  void finish_cycle() {
    if (request != nullptr) engine.finish(*request, outcome);
  }
};

/// The channel of a partitioned request, or of a message whose state hand_over() set to the channel.
Channel& channel_of(const Request& request) {
  return *static_cast<Channel*>(request.state);
}

void begin_cycle(Request& request) {
  request.active = true;
  request.complete = false;
  channel_of(request).outcome = {};
}

/// Release hook of the request, which the user has freed.
Status leave(Request& request) {
  Channel& channel = channel_of(request);
  channel.request = nullptr;
  channel.let_go();
  return {};
}

/// Has hooks->release called when a message completes: releases its request, which the engine destroys on
/// completion, or now if it is complete.
void hand_over(Engine& engine, Request* message, const RequestHooks& hooks, void* state) {
  message->hooks = &hooks;
  message->state = state;
  engine.requests().release(message);
}

// The sender.

struct SendChannel : Channel {
  using Channel::Channel;
  std::vector<bool> ready;
};

const RequestHooks sent_offer_hooks = {
    .release =
        [](Request& message) {
          channel_of(message).let_go();
          return Status();
        },
};

void end_message(Channel& channel, Status outcome) {
  channel.note(outcome);
  if (--channel.messages_left == 0) channel.finish_cycle();
}

const RequestHooks sent_partition_hooks = {
    .release =
        [](Request& message) {
          Channel& channel = channel_of(message);
          end_message(channel, message.outcome);
          channel.let_go();
          return Status();
        },
};

void send_partition(SendChannel& channel, int partition) {
  const Request& whole = *channel.request;
  channel.ready[static_cast<size_t>(partition)] = true;
  auto* start = static_cast<std::byte*>(whole.buffer) + partition * whole.count * whole.type->extent;
  Request* message = nullptr;
  const Status status = channel.engine.isend(start, whole.count, *whole.type, whole.key.peer, partition,
                                             channel.offer.context, message);
  if (!status.ok() || message == channel.engine.requests().completed_send())
    return end_message(channel, status);
  ++channel.users;
  hand_over(channel.engine, message, sent_partition_hooks, static_cast<Channel*>(&channel));
}

// Both sides process all partitions; if one side cancelled alone, the other would wait forever.
Status refuse_to_cancel(Request&) {
  return fail(MPI_ERR_REQUEST,
              "a partitioned operation cannot be cancelled. Remedy: complete it: MPI_Pready for all "
              "partitions at the sender, and MPI_Wait or MPI_Test at both sides");
}

const RequestHooks send_hooks = {
    .start =
        [](Request& request) {
          auto& channel = static_cast<SendChannel&>(channel_of(request));
          channel.ready.assign(static_cast<size_t>(channel.partitions), false);  // throws: still inactive
          begin_cycle(request);
          channel.messages_left = channel.partitions;
          if (channel.partitions == 0) channel.finish_cycle();
          return Status();
        },
    .cancel = refuse_to_cancel,
    .release = leave,
};

// The receiver.

struct ReceiveChannel;

/// One message of the sender, at the receiver.
struct Part {
  ReceiveChannel* channel;
  std::byte* aside;  // from malloc: temporary buffer of a message that begins or ends inside an element;
                     // otherwise nullptr
};

struct ReceiveChannel : Channel {
  using Channel::Channel;
  bool offered = false;
  Status refused;           // the error of an offer that will not arrive
  bool waiting = false;     // started before the offer arrived
  std::vector<Part> parts;  // one per message
  // Length of a message of the sender, and of a partition of the receiver: in bytes, or for data without
  // bytes in fractions of the whole.
  int64_t message_length = 0;
  int64_t partition_length = 0;
  std::vector<int64_t> missing;  // of each partition of the receiver
};

/// Subtracts message `index` from the missing length of each partition that it covers.
void note_arrival(ReceiveChannel& channel, int64_t index) {
  const int64_t length = channel.partition_length;
  int64_t at = index * channel.message_length;
  const int64_t end = std::min(at + channel.message_length, length * channel.partitions);
  while (at < end) {
    const int64_t partition = at / length;
    const int64_t next = std::min(end, (partition + 1) * length);
    channel.missing[static_cast<size_t>(partition)] -= next - at;
    at = next;
  }
}

void end_cycle(ReceiveChannel& channel) {
  if (channel.request == nullptr) return;
  channel.request->from = channel.request->key.peer;
  channel.request->received_tag = channel.request->key.tag;
  channel.finish_cycle();
}

/// Reports the user's tag and sizes; the tag and length of the message itself are internal.
Status truncation(const ReceiveChannel& channel) {
  const Request& whole = *channel.request;
  const PartitionOffer& offer = channel.offer;
  return fail(
      MPI_ERR_TRUNCATE,
      "the partitioned message that process %d sent (tag %d; %d partitions of %lld bytes) is longer than "
      "the receive of process %d: %d partitions of %lld bytes; the rest is lost. Remedy: the same number of "
      "bytes in MPI_Psend_init and MPI_Precv_init",
      whole.key.peer, whole.key.tag, offer.partitions, static_cast<long long>(offer.partition_bytes),
      channel.engine.self(), channel.partitions, static_cast<long long>(channel.partition_bytes()));
}

void take_part(const Request& message) {
  Part& part = *static_cast<Part*>(message.state);
  ReceiveChannel& channel = *part.channel;
  const bool truncated = message.outcome.error_class() == MPI_ERR_TRUNCATE && channel.request != nullptr;
  channel.note(truncated ? truncation(channel) : message.outcome);
  if (Request* whole = channel.request; whole != nullptr) {
    const int64_t index = &part - channel.parts.data();
    if (part.aside != nullptr) {
      datatype::unpack(*whole->type, whole->buffer, index * channel.offer.partition_bytes, part.aside,
                       static_cast<size_t>(message.received_bytes));
    }
    whole->received_bytes += message.received_bytes;
    note_arrival(channel, index);
  }
  std::free(part.aside);
  part.aside = nullptr;
  if (--channel.messages_left == 0) end_cycle(channel);
}

const RequestHooks received_part_hooks = {
    .release =
        [](Request& message) {
          ReceiveChannel* channel = static_cast<Part*>(message.state)->channel;
          take_part(message);
          channel->let_go();
          return Status();
        },
};

/// Posts the receive of the sender's partition `index`.
Status post_part(ReceiveChannel& channel, int index) {
  const Request& whole = *channel.request;
  const datatype::Type& type = *whole.type;
  const int64_t room = channel.partition_bytes() * channel.partitions;
  const int64_t bytes = channel.offer.partition_bytes;
  const int64_t offset = std::min(index * bytes, room);
  const int64_t fitting = std::min(bytes, room - offset);
  Part& part = channel.parts[static_cast<size_t>(index)];
  const bool whole_elements = type.size == 0 || (offset % type.size == 0 && fitting % type.size == 0);
  std::byte* start = nullptr;
  if (whole_elements) {
    start = static_cast<std::byte*>(whole.buffer) + (type.size == 0 ? 0 : offset / type.size * type.extent);
  } else {
    start = part.aside = static_cast<std::byte*>(std::malloc(static_cast<size_t>(fitting)));
    if (start == nullptr)
      return fail(MPI_ERR_NO_MEM, "no memory for a partition of %lld bytes", static_cast<long long>(fitting));
  }
  Request* message = nullptr;
  const Status status =
      channel.engine.ireceive(start, whole_elements && type.size != 0 ? fitting / type.size : fitting,
                              whole_elements && type.size != 0 ? *whole.type : byte_type(), whole.key.peer,
                              index, channel.offer.context, message);
  if (!status.ok()) {
    std::free(part.aside);
    part.aside = nullptr;
    return status;
  }
  ++channel.users;
  hand_over(channel.engine, message, received_part_hooks, &part);
  return {};
}

void post_all(ReceiveChannel& channel) {
  const int messages = channel.offer.partitions;
  const bool has_bytes = channel.partition_bytes() > 0 && channel.offer.partition_bytes > 0;
  channel.message_length = has_bytes ? channel.offer.partition_bytes : channel.partitions;
  channel.partition_length = has_bytes ? channel.partition_bytes() : messages;
  channel.missing.assign(static_cast<size_t>(channel.partitions), channel.partition_length);
  channel.messages_left = messages;
  if (messages == 0) return end_cycle(channel);
  ++channel.users;  // the last message may end the cycle, and the user may free the request
  for (int index = 0; index < messages && channel.request != nullptr; ++index) {
    if (const Status status = post_part(channel, index); !status.ok()) {
      channel.note(status);
      if (--channel.messages_left == 0) end_cycle(channel);
    }
  }
  channel.let_go();
}

/// Ends a cycle with the error of the offer, which will not arrive.
void end_in_vain(ReceiveChannel& channel) {
  channel.note(channel.refused);
  end_cycle(channel);
}

const RequestHooks received_offer_hooks = {
    .release =
        [](Request& message) {
          auto& channel = static_cast<ReceiveChannel&>(channel_of(message));
          channel.refused = message.outcome;
          channel.offered = message.outcome.ok();
          if (channel.offered) channel.engine.failures().adopt(channel.offer.context, message.key.context);
          if (channel.request != nullptr) {
            channel.parts.assign(static_cast<size_t>(channel.offer.partitions), {&channel, nullptr});
            if (channel.waiting) channel.offered ? post_all(channel) : end_in_vain(channel);
          }
          channel.let_go();
          return Status();
        },
};

const RequestHooks receive_hooks = {
    .start =
        [](Request& request) {
          auto& channel = static_cast<ReceiveChannel&>(channel_of(request));
          channel.missing.assign(static_cast<size_t>(channel.partitions), 1);  // throws: still inactive
          begin_cycle(request);
          request.received_bytes = 0;
          channel.waiting = !channel.offered && channel.refused.ok();
          if (channel.offered) {
            post_all(channel);
          } else if (!channel.waiting) {
            end_in_vain(channel);
          }
          return Status();
        },
    .cancel = refuse_to_cancel,
    .release = leave,
};

template <class Kind>
Status make(Engine& engine, RequestKind kind, const PartitionedBuffer& buffer, const MatchKey& key,
            const RequestHooks& hooks, Request*& request) {
  request = engine.requests().create(kind);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->persistent = true;
  request->active = false;
  request->buffer = buffer.address;
  request->count = buffer.count;
  request->type = buffer.type;
  datatype::retain(*buffer.type);
  request->key = key;
  request->from = key.peer;
  request->received_tag = MPI_ANY_TAG;
  Channel* channel = new (std::nothrow) Kind(engine, *request, buffer.partitions);
  if (channel == nullptr) {
    engine.requests().destroy(request);
    request = nullptr;
    return fail(MPI_ERR_NO_MEM, "no memory for a partitioned message");
  }
  request->state = channel;
  request->hooks = &hooks;
  return {};
}

/// Takes over the offer in `message` if it was started; otherwise destroys the request.
Status follow_offer(Engine& engine, Status status, Request* message, const RequestHooks& hooks,
                    Request*& request) {
  if (!status.ok()) {
    engine.requests().destroy(request);
    request = nullptr;
    return status;
  }
  if (message == engine.requests().completed_send()) return {};
  Channel& channel = channel_of(*request);
  ++channel.users;
  hand_over(engine, message, hooks, &channel);
  return {};
}

}  // namespace

Status make_partitioned_send(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                             Request*& request) {
  HEARTH_TRY(make<SendChannel>(engine, RequestKind::send, buffer, key, send_hooks, request));
  if (key.peer == MPI_PROC_NULL) return {};
  Channel& channel = channel_of(*request);
  channel.offer = {engine.processes().new_context(std::span(&key.peer, 1)), buffer.partitions,
                   channel.partition_bytes()};
  engine.failures().adopt(channel.offer.context, key.context);
  Request* message = nullptr;
  const Status status = engine.isend(&channel.offer, sizeof(PartitionOffer), byte_type(), key.peer, key.tag,
                                     key.context | kOfferContext, message);
  return follow_offer(engine, status, message, sent_offer_hooks, request);
}

Status make_partitioned_receive(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                                Request*& request) {
  HEARTH_TRY(make<ReceiveChannel>(engine, RequestKind::receive, buffer, key, receive_hooks, request));
  if (key.peer == MPI_PROC_NULL) return {};
  Request* message = nullptr;
  const Status status = engine.ireceive(&channel_of(*request).offer, sizeof(PartitionOffer), byte_type(),
                                        key.peer, key.tag, key.context | kOfferContext, message);
  return follow_offer(engine, status, message, received_offer_hooks, request);
}

Status send_partitions(Request& request, int first, int last) {
  if (request.hooks != &send_hooks) {
    return fail(MPI_ERR_REQUEST, "the request is not of a partitioned send (MPI_Psend_init)");
  }
  auto& channel = static_cast<SendChannel&>(channel_of(request));
  if (first < 0 || last >= channel.partitions) {
    return fail(MPI_ERR_ARG, "partition %d does not exist: the message has %d, counted from 0",
                first < 0 ? first : last, channel.partitions);
  }
  if (request.key.peer == MPI_PROC_NULL) return {};
  if (!request.active) {
    return fail(MPI_ERR_REQUEST,
                "the request is not active. Remedy: call MPI_Start before a partition is ready");
  }
  for (int partition = first; partition <= last; ++partition) {
    if (channel.ready[static_cast<size_t>(partition)]) {
      return fail(MPI_ERR_ARG, "partition %d is ready already: once in each cycle is enough", partition);
    }
  }
  // The last message may end the cycle and, if its handle was freed, destroy the request.
  ++channel.users;
  for (int partition = first; partition <= last; ++partition) send_partition(channel, partition);
  channel.let_go();
  return {};
}

Status find_arrived(const Request& request, int partition, bool& arrived) {
  if (request.hooks != &receive_hooks) {
    return fail(MPI_ERR_REQUEST, "the request is not of a partitioned receive (MPI_Precv_init)");
  }
  const auto& channel = static_cast<const ReceiveChannel&>(channel_of(request));
  if (partition < 0 || partition >= channel.partitions) {
    return fail(MPI_ERR_ARG, "partition %d does not exist: the receive has %d, counted from 0", partition,
                channel.partitions);
  }
  arrived = !request.active || request.complete || channel.missing[static_cast<size_t>(partition)] == 0;
  return {};
}

}  // namespace hearth::p2p
