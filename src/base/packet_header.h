// The header of a packet, which the sender's p2p layer fills in, every transport carries unchanged, and the
// receiver's p2p layer reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

/// commit = kind 6 | reserved for the transport 2 | flags 7 | bytes 17 | cookie 32
struct PacketHeader {
  uint64_t commit;
  uint64_t match;  // of the layer above: context id and tag

  /// A commit word whose reserved bits are 0. Pre: kind < 64, flags < 128, bytes < 128 KiB.
  static constexpr uint64_t make_commit(uint8_t kind, uint8_t flags, uint32_t bytes, uint32_t cookie) {
    return uint64_t{kind} | uint64_t{flags} << 8 | uint64_t{bytes} << 15 | uint64_t{cookie} << 32;
  }
  uint8_t kind() const { return commit & 0x3f; }
  uint8_t flags() const { return commit >> 8 & 0x7f; }
  /// Length of the payload.
  uint32_t bytes() const { return static_cast<uint32_t>(commit) >> 15; }
  uint32_t cookie() const { return static_cast<uint32_t>(commit >> 32); }
};

constexpr size_t kPacketHeaderBytes = 16;
static_assert(sizeof(PacketHeader) == kPacketHeaderBytes);

/// Kinds that the layer above does not use: 0 and the last two belong to the transport.
constexpr uint8_t kPacketKindMin = 1;
constexpr uint8_t kPacketKindMax = 0x3d;

}  // namespace hearth
