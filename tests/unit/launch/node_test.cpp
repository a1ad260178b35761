#include "launch/bootstrap_node.h"

#include <gtest/gtest.h>

#include <random>

#include "base/os_machine.h"

namespace hearth::launch {
namespace {

NodeCard card_of(const char* host, const char* surroundings) {
  NodeCard card;
  card.host = host;
  card.surroundings = surroundings;
  card.socket = "hearth-x";
  card.question.fill(std::byte{7});
  card.answer.fill(std::byte{9});
  return card;
}

TEST(NodeCard, ThereAndBack) {
  const NodeCard card = card_of("alpha.example", "boot/1");
  NodeCard read;
  ASSERT_TRUE(parse_card(to_bytes(card), read));
  EXPECT_EQ(read, card);
}

TEST(NodeCard, NothingElseIsACard) {
  const std::vector<std::byte> good = to_bytes(card_of("alpha", "boot/1"));
  NodeCard read;
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(parse_card(std::span(good).first(bytes), read)) << "cut after " << bytes;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_card(longer, read));
  std::vector<std::byte> newer = good;
  newer[0] = std::byte{2};
  EXPECT_FALSE(parse_card(newer, read));
  std::mt19937 chance(4711);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = good;
    for (int i = 0; i < 3; ++i) bytes[chance() % bytes.size()] = static_cast<std::byte>(chance());
    if (parse_card(bytes, read)) EXPECT_EQ(to_bytes(read), bytes);
  }
}

TEST(NodeMap, RanksWithTheSameSurroundingsAreTogether) {
  const std::vector<NodeCard> cards = {card_of("alpha", "1"),     card_of("beta", "2"),
                                       card_of("alpha", "1"),     card_of("alpha", "1"),
                                       card_of("al\x1bpha", "3"), card_of("alpha", "1")};
  const NodeMap nodes = map_nodes(cards);
  EXPECT_EQ(nodes.node_of, (std::vector<int>{0, 1, 0, 0, 2, 0}));
  EXPECT_EQ(nodes.ranks[0], (std::vector<int>{0, 2, 3, 5}));
  EXPECT_EQ(nodes.hosts, (std::vector<std::string>{"alpha", "beta", "al?pha"}));
}

TEST(NodeCard, IsMadeOfThisMachine) {
  NodeCard card;
  NodeCard other;
  os::Descriptor listener;
  os::Descriptor second;
  ASSERT_TRUE(make_card(card, listener).ok());
  ASSERT_TRUE(make_card(other, second).ok());
  EXPECT_EQ(card.surroundings, other.surroundings);
  EXPECT_EQ(card.host, os::host_name());
  EXPECT_NE(card.socket, other.socket);
  EXPECT_NE(card.question, other.question);
  EXPECT_NE(card.answer, other.answer);
  EXPECT_NE(card.question, card.answer);
}

}  // namespace
}  // namespace hearth::launch
