#include "p2p/matching.h"

#include <cstdlib>

#include "base/copy.h"

namespace hearth::p2p {

Matching::~Matching() {
  while (!unexpected_.empty()) {
    auto* message = static_cast<UnexpectedMessage*>(static_cast<MatchMessage*>(unexpected_.first()));
    unexpected_.remove(*message);
    destroy(message);
  }
}

UnexpectedMessage* Matching::take(const MatchKey& pattern) {
  auto* message = static_cast<UnexpectedMessage*>(unexpected_.find(pattern));
  if (message != nullptr) unexpected_.remove(*message);
  return message;
}

UnexpectedMessage* Matching::make(const MatchKey& key, const shm::PacketHeader& header) {
  UnexpectedMessage* message = pool_.create();
  if (message == nullptr) return nullptr;
  message->key = key;
  message->flags = header.flags();
  message->cookie = header.cookie();
  message->payload = message->own;
  return message;
}

UnexpectedMessage* Matching::add(const MatchKey& key, const shm::PacketHeader& header,
                                 const std::byte* payload) {
  UnexpectedMessage* message = make(key, header);
  if (message == nullptr) return nullptr;
  const size_t bytes = header.bytes();
  if (bytes > sizeof message->own) {
    message->payload = static_cast<std::byte*>(std::malloc(bytes));
    if (message->payload == nullptr) {
      pool_.destroy(message);
      return nullptr;
    }
  }
  message->bytes = static_cast<int64_t>(bytes);
  copy_bytes(message->payload, payload, bytes);
  unexpected_.add(*message);
  return message;
}

UnexpectedMessage* Matching::add(const MatchKey& key, const shm::PacketHeader& header, int64_t bytes,
                                 ReceiveStream& stream) {
  UnexpectedMessage* message = make(key, header);
  if (message == nullptr) return nullptr;
  message->bytes = bytes;
  message->stream = &stream;
  unexpected_.add(*message);
  return message;
}

void Matching::destroy(UnexpectedMessage* message) {
  if (message->payload != message->own) std::free(message->payload);
  pool_.destroy(message);
}

}  // namespace hearth::p2p
