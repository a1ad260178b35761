#include "launch/bootstrap_node.h"

#include <gtest/gtest.h>

#include <random>

#include "base/os_machine.h"

namespace hearth::launch {
namespace {

NodeAddress address_of(const char* host, const char* surroundings) {
  NodeAddress published;
  published.host = host;
  published.surroundings = surroundings;
  published.socket = "hearth-x";
  published.question.fill(std::byte{7});
  published.answer.fill(std::byte{9});
  return published;
}

TEST(NodeAddress, ThereAndBack) {
  const NodeAddress published = address_of("alpha.example", "boot/1");
  NodeAddress read;
  ASSERT_TRUE(parse_address(to_bytes(published), read));
  EXPECT_EQ(read, published);
}

TEST(NodeAddress, NothingElseIsAnAddress) {
  const std::vector<std::byte> good = to_bytes(address_of("alpha", "boot/1"));
  NodeAddress read;
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(parse_address(std::span(good).first(bytes), read)) << "cut after " << bytes;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_address(longer, read));
  std::vector<std::byte> newer = good;
  newer[0] = std::byte{2};
  EXPECT_FALSE(parse_address(newer, read));
  std::mt19937 chance(4711);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = good;
    for (int i = 0; i < 3; ++i) bytes[chance() % bytes.size()] = static_cast<std::byte>(chance());
    if (parse_address(bytes, read)) EXPECT_EQ(to_bytes(read), bytes);
  }
}

TEST(NodeMap, RanksWithTheSameSurroundingsAreTogether) {
  const std::vector<NodeAddress> published_by = {address_of("alpha", "1"),     address_of("beta", "2"),
                                                 address_of("alpha", "1"),     address_of("alpha", "1"),
                                                 address_of("al\x1bpha", "3"), address_of("alpha", "1")};
  const NodeMap nodes = map_nodes(published_by);
  EXPECT_EQ(nodes.node_of, (std::vector<int>{0, 1, 0, 0, 2, 0}));
  EXPECT_EQ(nodes.ranks[0], (std::vector<int>{0, 2, 3, 5}));
  EXPECT_EQ(nodes.hosts, (std::vector<std::string>{"alpha", "beta", "al?pha"}));
}

TEST(NodeAddress, IsMadeOfThisMachine) {
  NodeAddress published;
  NodeAddress other;
  os::Descriptor listener;
  os::Descriptor second;
  ASSERT_TRUE(make_address(published, listener).ok());
  ASSERT_TRUE(make_address(other, second).ok());
  EXPECT_EQ(published.surroundings, other.surroundings);
  EXPECT_EQ(published.host, os::host_name());
  EXPECT_NE(published.socket, other.socket);
  EXPECT_NE(published.question, other.question);
  EXPECT_NE(published.answer, other.answer);
  EXPECT_NE(published.question, published.answer);
}

}  // namespace
}  // namespace hearth::launch
