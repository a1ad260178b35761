#include "transport/endpoint_address.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth::transport {
namespace {

EndpointAddress address_of(const char* provider) {
  EndpointAddress published;
  published.provider = provider;
  for (int i = 0; i < 18; ++i) published.address.push_back(static_cast<std::byte>(i));
  return published;
}

TEST(EndpointAddress, FindsTheAddressForASender) {
  const EndpointAddress own = address_of("tcp;ofi_rxm");
  std::vector<std::byte> address;
  ASSERT_TRUE(read_address(to_bytes(own), own, 3, "beta", address).ok());
  EXPECT_EQ(address, own.address);
}

TEST(EndpointAddress, AnotherFormatIsToldWithHostAndNumbers) {
  const EndpointAddress own = address_of("net");
  EndpointAddress other = own;
  other.format = own.format + 6;
  std::vector<std::byte> address;
  ASSERT_FALSE(read_address(to_bytes(other), own, 3, "beta", address).ok());
  const std::string words = last_failure_text();
  const std::string theirs = "format " + std::to_string(other.format) + " ";
  const std::string ours = "format " + std::to_string(own.format) + ".";
  for (const std::string& part : {std::string("rank 3, on beta"), theirs, ours, std::string("Remedy: ")}) {
    EXPECT_NE(words.find(part), std::string::npos) << part << " in: " << words;
  }
  EXPECT_TRUE(address.empty());
}

TEST(EndpointAddress, AnotherProviderIsTold) {
  const EndpointAddress own = address_of("net");
  std::vector<std::byte> address;
  for (const char* const name : {"tcp;ofi_rxm", "ne", "nets", ""}) {
    ASSERT_FALSE(read_address(to_bytes(address_of(name)), own, 3, "beta", address).ok()) << name;
    EXPECT_NE(std::string(last_failure_text()).find("another network than net"), std::string::npos);
  }
}

TEST(EndpointAddress, AnAddressOfAnotherLengthIsTold) {
  const EndpointAddress own = address_of("net");
  EndpointAddress other = own;
  std::vector<std::byte> address;
  for (const size_t bytes : {size_t{0}, size_t{17}, size_t{30}}) {
    other.address.resize(bytes);
    ASSERT_FALSE(read_address(to_bytes(other), own, 3, "beta", address).ok()) << bytes;
    const std::string words = "an address of " + std::to_string(bytes) + " bytes";
    EXPECT_NE(std::string(last_failure_text()).find(words), std::string::npos);
  }
}

TEST(EndpointAddress, NothingElseIsAnAddress) {
  const EndpointAddress own = address_of("net");
  const std::vector<std::byte> good = to_bytes(own);
  const size_t head = good.size() - own.address.size();
  std::vector<std::byte> address;
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(read_address(std::span(good).first(bytes), own, 3, "beta", address).ok()) << bytes;
  }
  std::mt19937 chance(4711);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::byte> bytes = good;
    for (int i = 0; i < 2; ++i) bytes[chance() % head] = static_cast<std::byte>(chance());
    if (read_address(bytes, own, 3, "beta", address).ok()) EXPECT_EQ(bytes, good);
  }
}

}  // namespace
}  // namespace hearth::transport
