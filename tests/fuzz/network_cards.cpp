// The endpoint address that a rank publishes for ranks on other machines: its own and another one.
#include "transport/endpoint_address.h"

#include <algorithm>

#include "fuzz.h"
#include "mpi.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  transport::EndpointAddress own;
  own.format = static_cast<uint32_t>(input.below(4));
  own.provider = input.take_text(12);
  own.provider = own.provider.c_str();  // without zero bytes
  own.address.resize(input.below(40));
  const std::string rest = input.rest();
  const std::span<const std::byte> other(reinterpret_cast<const std::byte*>(rest.data()), rest.size());
  std::vector<std::byte> address;
  if (transport::read_address(other, own, 1, "beta", address).ok()) {
    fuzz::demand(address.size() == own.address.size(), "an address has the length of its kind");
    own.address = address;
    const std::vector<std::byte> again = transport::to_bytes(own);
    fuzz::demand(std::equal(again.begin(), again.end(), other.begin(), other.end()),
                 "a card that is written again says the same");
  } else {
    fuzz::demand(address.empty() && *last_failure_text() != '\0', "who refuses a card says why");
  }
  fuzz::demand(transport::read_address(transport::to_bytes(own), own, 1, "beta", address).ok(),
               "the own card can be read");
  return 0;
}
