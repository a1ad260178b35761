#include "transport/connection_monitor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <memory>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/os_socket.h"
#include "base/os_wait.h"

namespace hearth::transport {
namespace {

constexpr uint64_t kSilentNs = 3'000'000'000;
constexpr uint64_t kKey = 0x5ec4e7;

std::span<const std::byte> loopback() {
  static sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<const std::byte*>(&address), sizeof address};
}

std::vector<ConnectionMonitor::Gone> look_for_a_while(ConnectionMonitor& monitor) {
  std::vector<ConnectionMonitor::Gone> gone;
  for (int i = 0; i < 500 && gone.empty(); ++i) {
    gone = monitor.take_gone();
    os::sleep_ns(1'000'000);
  }
  return gone;
}

TEST(ConnectionMonitor, ReportsALostConnectionOnce) {
  ConnectionMonitor own;
  own.open(loopback(), kKey);
  auto first = std::make_unique<ConnectionMonitor>();
  ConnectionMonitor second;
  first->open(loopback(), kKey);
  second.open(loopback(), kKey);
  ASSERT_NE(first->port(), 0);
  ASSERT_NE(first->port(), second.port());
  own.watch(7, loopback(), first->port(), kSilentNs);
  own.watch(8, loopback(), second.port(), kSilentNs);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(own.take_gone().empty());
    EXPECT_TRUE(first->take_gone().empty());  // accepts the connection
    os::sleep_ns(1'000'000);
  }
  first.reset();
  const std::vector<ConnectionMonitor::Gone> gone = look_for_a_while(own);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].peer, 7);
  EXPECT_STREQ(gone[0].why, "its process has ended");
  EXPECT_TRUE(own.take_gone().empty());
}

// A process outside of MPI calls accepts no connection, but its kernel completes the handshake.
TEST(ConnectionMonitor, ReportsAPeerThatNeverAnswered) {
  ConnectionMonitor own;
  auto other = std::make_unique<ConnectionMonitor>();
  other->open(loopback(), kKey);
  const uint16_t port = other->port();
  own.watch(1, loopback(), port, kSilentNs);
  EXPECT_TRUE(own.take_gone().empty());
  other.reset();
  EXPECT_EQ(look_for_a_while(own).size(), 1u);
  own.watch(2, loopback(), port, kSilentNs);
  const std::vector<ConnectionMonitor::Gone> gone = look_for_a_while(own);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].peer, 2);
}

// A connection that sends wrong data, or nothing, does not disturb peers that know the secret.
TEST(ConnectionMonitor, StrangersAreRefused) {
  ConnectionMonitor own;
  auto other = std::make_unique<ConnectionMonitor>();
  other->open(loopback(), kKey);
  std::vector<os::Descriptor> silent;
  std::string problem;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(os::connect_to_port("127.0.0.1", std::to_string(other->port()), problem));
    ASSERT_TRUE(silent.back().open()) << problem;
    other->take_gone();
  }
  EXPECT_FALSE(other->refused());
  const char garbage[] = "GET / HTTP/1.1\r\n\r\n";
  os::send_all(silent[3].number(), garbage, sizeof garbage);
  own.watch(7, loopback(), other->port(), kSilentNs);
  for (int i = 0; i < 500 && !other->refused(); ++i) {
    other->take_gone();
    EXPECT_TRUE(own.take_gone().empty());
    os::sleep_ns(1'000'000);
  }
  EXPECT_TRUE(other->refused());
  for (int i = 0; i < 20; ++i) {
    other->take_gone();
    EXPECT_TRUE(own.take_gone().empty());
    os::sleep_ns(1'000'000);
  }
  char word;
  EXPECT_LE(os::read_some(silent[3].number(), &word, 1), 0) << "it is closed";
  other.reset();
  EXPECT_EQ(look_for_a_while(own).size(), 1u);
}

TEST(ConnectionMonitor, NeedsAnInternetAddress) {
  ConnectionMonitor monitor;
  const std::vector<std::byte> address(32);
  monitor.open(address, kKey);
  EXPECT_EQ(monitor.port(), 0);
  monitor.watch(1, address, 0, kSilentNs);
  monitor.watch(1, address, 1234, kSilentNs);
  EXPECT_TRUE(monitor.take_gone().empty());
}

}  // namespace
}  // namespace hearth::transport
