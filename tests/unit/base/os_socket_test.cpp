#include "base/os_socket.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <thread>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"

namespace hearth::os {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

std::string some_name() {
  return "hearth-test-" + std::to_string(process_id());
}

// Cut off, two long names could be one.
TEST(Sockets, NamesThatAreTooLongAreRefused) {
  const std::string longest = some_name() + std::string(107 - some_name().size(), 'x');
  const Descriptor listener = listen_under_name(longest);
  ASSERT_TRUE(listener.open());
  errno = 0;
  EXPECT_FALSE(connect_to_name(longest + "y", kSecond).open());
  EXPECT_EQ(errno, ENAMETOOLONG);
  errno = 0;
  EXPECT_FALSE(listen_under_name(std::string(108, 'x')).open());
  EXPECT_EQ(errno, ENAMETOOLONG);
}

TEST(Sockets, PacketsStayWholeAndBringDescriptors) {
  const Descriptor listener = listen_under_name(some_name());
  ASSERT_TRUE(listener.open());
  EXPECT_FALSE(accept_next(listener.number()).open());
  EXPECT_FALSE(listen_under_name(some_name()).open()) << "a name has one owner";
  const Descriptor near = connect_to_name(some_name(), kSecond);
  const Descriptor far = accept_next(listener.number());
  ASSERT_TRUE(near.open() && far.open());
  EXPECT_EQ(user_behind(near.number()), own_user());
  EXPECT_EQ(user_behind(far.number()), own_user());

  const Descriptor memory(create_shared_memory("test", page_bytes()));
  const std::array<std::byte, 3> packet = {std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE(send_packet(near.number(), packet, std::array<int, 1>{memory.number()}));
  ASSERT_TRUE(send_packet(near.number(), packet, {}));
  std::array<std::byte, 8> room = {};
  std::vector<Descriptor> descriptors;
  EXPECT_EQ(receive_packet(far.number(), room, descriptors), 3);
  EXPECT_EQ(room[2], std::byte{3});
  ASSERT_EQ(descriptors.size(), 1u);
  EXPECT_EQ(identity_of(descriptors[0].number()), identity_of(memory.number()));
  EXPECT_NE(descriptors[0].number(), memory.number());
  // A packet that is longer than the buffer reports its full length.
  descriptors.clear();
  EXPECT_EQ(receive_packet(far.number(), std::span(room).first(1), descriptors), 3);
  EXPECT_TRUE(descriptors.empty());
  EXPECT_EQ(receive_packet(far.number(), room, descriptors), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// The kernel may report the end of a connection before the last packet, once in some 10,000 connections whose
// two sides run at the same time.
TEST(Sockets, TheLastPacketPrecedesTheEnd) {
  const uint64_t limit = now_ns() + kSecond;
  int next = -1;  // the socket that the thread takes; -2 ends it
  std::thread sender([&next] {
    constexpr std::array<std::byte, 4> kPacket = {};
    for (int delay = 0;; delay = (delay + 37) % 300) {
      int socket = atomic::exchange(next, -1);
      while (socket == -1) socket = atomic::exchange(next, -1);
      if (socket < 0) return;
      for (int i = 0; i < delay; ++i) atomic::cpu_relax();
      const Descriptor owner(socket);
      EXPECT_TRUE(send_packet(socket, kPacket, {}));
    }
  });
  size_t early_ends = 0;
  while (now_ns() < limit) {
    Descriptor near, far;
    ASSERT_TRUE(make_socket_pair(near, far));
    set_nonblocking(near.number(), true);
    atomic::store_release(next, far.release());
    std::array<std::byte, 4> packet;
    std::vector<Descriptor> none;
    intptr_t received;
    do {
      received = receive_packet(near.number(), packet, none);
    } while (received < 0 && errno == EAGAIN);
    early_ends += received == 0;
  }
  atomic::store_release(next, -2);
  sender.join();
  EXPECT_EQ(early_ends, 0U);
}

TEST(Sockets, NoListenerUnderTheName) {
  EXPECT_FALSE(connect_to_name(some_name() + "-none", kSecond).open());
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(Sockets, AReaderThatIsGoneIsAnErrorAndNoSignal) {
  const Descriptor listener = listen_under_name(some_name());
  const Descriptor near = connect_to_name(some_name(), kSecond);
  { const Descriptor far = accept_next(listener.number()); }
  EXPECT_FALSE(send_all(near.number(), "x", 1));
  EXPECT_EQ(errno, EPIPE);
}

TEST(Sockets, KnowsASocket) {
  const Descriptor listener = listen_under_name(some_name());
  EXPECT_TRUE(is_socket(listener.number()));
  const Descriptor file = open_to_read("/dev/null");
  EXPECT_FALSE(is_socket(file.number()));
  EXPECT_FALSE(is_socket(-1));
}

TEST(Sockets, APortWithoutAListener) {
  std::string problem;
  EXPECT_FALSE(connect_to_port("127.0.0.1", "1", problem).open());
  EXPECT_FALSE(problem.empty());
}

}  // namespace
}  // namespace hearth::os
