// What a process leaves with the launcher's server for those of other machines, before the first packet: in
// which format its packets are, by which provider they go, and where it is reached.
//
//   | format 4 | provider, ended by a zero byte | address ... |
//
// Numbers are in the machine's own byte order, as in packets: another order is another format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::transport {

/// The format of all that goes between machines. One higher with each change after which a library from
/// before it and one from after it could misread each other: docs/design/fabric.md lists what counts.
constexpr uint32_t kWireFormat = 2;

struct NetworkCard {
  uint32_t format = kWireFormat;
  std::string provider;  // no zero byte in it
  std::vector<std::byte> address;
};
std::vector<std::byte> to_bytes(const NetworkCard& card);

/// Takes the address from the card of `rank` on `host`; an error, with a remedy, unless it sends and reads
/// packets as `own` does.
Status read_card(std::span<const std::byte> bytes, const NetworkCard& own, int rank, const std::string& host,
                 std::vector<std::byte>& address);

}  // namespace hearth::transport
