#include "transport/endpoint_address.h"

#include <algorithm>
#include <cstring>

#include "mpi.h"

namespace hearth::transport {

std::vector<std::byte> to_bytes(const EndpointAddress& published) {
  std::vector<std::byte> bytes(sizeof published.format + published.provider.size() + 1);
  std::memcpy(bytes.data(), &published.format, sizeof published.format);
  std::memcpy(bytes.data() + sizeof published.format, published.provider.c_str(),
              published.provider.size() + 1);
  bytes.insert(bytes.end(), published.address.begin(), published.address.end());
  return bytes;
}

Status read_address(std::span<const std::byte> bytes, const EndpointAddress& own, int rank,
                    const std::string& host, std::vector<std::byte>& address) {
  uint32_t format = 0;
  const bool whole = bytes.size() >= sizeof format;
  if (whole) std::memcpy(&format, bytes.data(), sizeof format);
  if (!whole || format != own.format) {
    return fail(MPI_ERR_OTHER,
                "rank %d, on %s, sends packets of format %u over the network, this one of format %u. Likely "
                "cause: another version of Hearth there. Remedy: the same libmpi_abi.so.1 on all machines",
                rank, host.c_str(), format, own.format);
  }
  bytes = bytes.subspan(sizeof format);
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const auto letters = static_cast<size_t>(end - bytes.begin());
  const bool same =
      letters == own.provider.size() && std::memcmp(bytes.data(), own.provider.data(), letters) == 0;
  if (!same || end == bytes.end()) {
    return fail(MPI_ERR_OTHER,
                "rank %d, on %s, has another network than %s here. Remedy: the same HEARTH_FABRIC_PROVIDER "
                "on all machines",
                rank, host.c_str(), own.provider.c_str());
  }
  // libfabric reads as many bytes as its kind of address has, without a check of the length.
  const auto there = static_cast<size_t>(bytes.end() - end) - 1;
  if (there != own.address.size()) {
    return fail(
        MPI_ERR_OTHER,
        "rank %d, on %s, has an address of %zu bytes on the network, this one of %zu. Likely cause: IPv6 "
        "there and IPv4 here, or the other way round. Remedy: the same HEARTH_FABRIC_INTERFACE on all "
        "machines",
        rank, host.c_str(), there, own.address.size());
  }
  address.assign(end + 1, bytes.end());
  return {};
}

}  // namespace hearth::transport
