// The endpoint address that a process publishes through the launcher's server for processes on other
// machines, before the first packet: its packet format, its provider and its address.
//
//   | format 4 | provider, ended by a zero byte | address ... |
//
// Numbers are in the machine's own byte order, as in packets, so another byte order reads as another format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::transport {

/// The format of all data between machines. Incremented with each change after which an older and a newer
/// library could misread each other: docs/design/fabric.md lists such changes.
constexpr uint32_t kWireFormat = 3;

struct EndpointAddress {
  uint32_t format = kWireFormat;
  std::string provider;  // without zero bytes
  std::vector<std::byte> address;
};
std::vector<std::byte> to_bytes(const EndpointAddress& published);

/// Reads the address that `rank` on `host` has published; an error, with a remedy, unless its packet format,
/// provider and length of address equal those of `own`.
Status read_address(std::span<const std::byte> bytes, const EndpointAddress& own, int rank,
                    const std::string& host, std::vector<std::byte>& address);

}  // namespace hearth::transport
