// Strangers on the port on which libfabric listens. libfabric has to refuse what they send; meanwhile the
// processes of the job go on exchanging packets, and the strangers' descriptors are closed.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/os_io.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "transport/fabric.h"

namespace hearth::transport {
namespace {

constexpr uint64_t kPatienceNs = 20'000'000'000;
constexpr size_t kStrangers = 40;
// Descriptors that two processes open for their first packet.
constexpr size_t kOwnMax = 16;

void count(void* receiver, PeerIndex, const PacketHeader& header, const std::byte*) {
  auto& seen = *static_cast<std::vector<uint32_t>*>(receiver);
  seen.push_back(header.cookie());
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// libfabric (1.17) never frees the memory of a stranger that has not completed its handshake.
class WhileStrangersAreThere {
#ifdef __SANITIZE_ADDRESS__
  __lsan::ScopedDisabler not_ours_;
#endif
};

class FabricPort : public testing::Test {
 protected:
  static constexpr int kSize = 2;

  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "libfabric's own threads are not watched";
#endif
    param::set_text(static_cast<size_t>(param::Id::fabric_interface), "lo");
    for (PeerIndex self = 0; self < kSize; ++self) {
      NetworkSetup setup;
      setup.self = self;
      setup.size = kSize;
      setup.key = 0x5eed;
      setup.lost = [](void* lost, PeerIndex, const char*) { ++*static_cast<int*>(lost); };
      setup.context = &lost_;
      if (!open_fabric(setup, network_[self]).ok()) GTEST_SKIP() << last_failure_text();
    }
    for (auto& network : network_) {
      for (PeerIndex peer = 0; peer < kSize; ++peer) network->introduce(peer, network_[peer]->address());
    }
    // The address begins with the port of the connection monitor; libfabric's own address follows.
    const auto address = network_[1]->address().subspan(sizeof(uint16_t));
    sockaddr_in known = {};
    if (address.size() < sizeof known) GTEST_SKIP() << "no address of the Internet";
    std::memcpy(&known, address.data(), sizeof known);
    if (known.sin_family != AF_INET) GTEST_SKIP() << "no address of the Internet";
    address_ = address;
    port_ = ntohs(known.sin_port);
  }

  /// Sends one packet from 0 to 1; both poll until it has arrived.
  void exchange() {
    Status status;
    const uint32_t number = next_++;
    std::byte* room = nullptr;
    const uint64_t end_ns = os::now_ns() + kPatienceNs;
    while (room == nullptr && os::now_ns() < end_ns) {
      room = network_[0]->claim(1, 0, status);
      poll();
    }
    ASSERT_NE(room, nullptr);
    network_[0]->commit(1, 1, 0, 0, number, 0);
    while (seen_.size() <= number && os::now_ns() < end_ns) poll();
    ASSERT_EQ(seen_.size(), size_t{number} + 1) << "packets stopped arriving";
    EXPECT_EQ(seen_.back(), number);
  }
  void poll() {
    std::vector<uint32_t> none;
    network_[0]->poll(count, &none);
    network_[1]->poll(count, &seen_);
  }
  os::Descriptor stranger() const {
    return os::watch_at(address_, port_, 3'000'000'000);
  }
  void settle() {
    for (int i = 0; i < 200; ++i) exchange();
  }

  std::unique_ptr<Network> network_[kSize];
  std::span<const std::byte> address_;
  uint16_t port_ = 0;
  int lost_ = 0;
  uint32_t next_ = 0;
  std::vector<uint32_t> seen_;
};

TEST_F(FabricPort, garbage_is_refused_and_the_job_goes_on) {
  settle();
  const size_t before = open_descriptors();
  [[maybe_unused]] const WhileStrangersAreThere strangers;
  std::mt19937 random(7);
  for (size_t i = 0; i < kStrangers; ++i) {
    os::Descriptor connection = stranger();
    exchange();
    // From no bytes to more than any handshake.
    std::vector<unsigned char> bytes(i % 4 == 0 ? 0 : random() % 5000);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<unsigned char>(random()); });
    // Some begin like a valid message: small numbers in the fields of version and kind.
    if (i % 3 == 0)
      std::fill_n(bytes.begin(), std::min<size_t>(bytes.size(), 8), static_cast<unsigned char>(i % 5));
    os::send_all(connection.number(), bytes.data(), bytes.size());
    exchange();
  }
  settle();
  EXPECT_LE(open_descriptors(), before + 2);
  EXPECT_EQ(lost_, 0);
}

TEST_F(FabricPort, a_silent_connection_does_not_block_others) {
  const size_t before = open_descriptors();
  [[maybe_unused]] const WhileStrangersAreThere strangers;
  std::vector<os::Descriptor> silent;
  for (size_t i = 0; i < kStrangers; ++i) silent.push_back(stranger());
  // The first packets open the connection of the two processes while strangers are connected.
  settle();
  EXPECT_EQ(lost_, 0);
  EXPECT_GE(open_descriptors(), before + kStrangers) << "nobody has connected";
  silent.clear();
  // Descriptors that the two processes have opened meanwhile stay open.
  const uint64_t end_ns = os::now_ns() + kPatienceNs;
  while (open_descriptors() > before + kOwnMax && os::now_ns() < end_ns) settle();
  EXPECT_LE(open_descriptors(), before + kOwnMax);
}

}  // namespace
}  // namespace hearth::transport
