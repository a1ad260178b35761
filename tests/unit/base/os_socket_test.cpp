#include "base/os_socket.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "base/os_memory.h"
#include "base/os_process.h"

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

TEST(Sockets, NobodyUnderTheName) {
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

TEST(Sockets, APortWhereNobodyListens) {
  std::string problem;
  EXPECT_FALSE(connect_to_port("127.0.0.1", "1", problem).open());
  EXPECT_FALSE(problem.empty());
}

}  // namespace
}  // namespace hearth::os
