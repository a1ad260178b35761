// Tables by PeerIndex: elements keep their addresses while a set grows.
#include "base/peer_table.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth {
namespace {

TEST(PeerTable, ElementsKeepTheirAddresses) {
  PeerSet peers(3, 5000);
  PeerTable<std::string> texts(peers);
  PeerTable<bool> flags(peers);
  texts[2] = "two";
  const std::string* const place = &texts[2];
  while (peers.count() < 5000) ASSERT_TRUE(peers.grow());
  EXPECT_FALSE(peers.grow());
  EXPECT_EQ(texts.size(), 5000u);
  EXPECT_EQ(flags.size(), 5000u);
  EXPECT_EQ(&texts[2], place);
  EXPECT_EQ(texts[2], "two");
  EXPECT_TRUE(texts[4999].empty());
  EXPECT_FALSE(flags[4999]);
}

// The elements of one process in different tables do not have the same offset in their pages.
TEST(PeerTable, TablesBeginAtDifferentLines) {
  PeerSet peers(2, 4);
  PeerTable<int> first(peers);
  PeerTable<int> second(peers);
  const auto line_in_page = [](const int& element) {
    return reinterpret_cast<uintptr_t>(&element) % os::page_bytes() / 64;
  };
  EXPECT_NE(line_in_page(first[0]), line_in_page(second[0]));
  second[1] = 5;
  while (peers.grow()) continue;
  EXPECT_EQ(second[1], 5);
  EXPECT_EQ(second[3], 0);
}

TEST(PeerTable, RenewReturnsAllTablesToTheInitialState) {
  PeerSet peers(2, 4);
  PeerTable<std::string> texts(peers);
  PeerTable<int> numbers(peers);
  texts[1] = "old";
  numbers[1] = numbers[0] = 7;
  peers.renew(1);
  EXPECT_TRUE(texts[1].empty());
  EXPECT_EQ(numbers[1], 0);
  EXPECT_EQ(numbers[0], 7);
}

TEST(PeerTable, AFixedTableDoesNotGrow) {
  PeerTable<int> numbers(3);
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_FALSE(numbers.grow(4));
  PeerSet fixed(3);
  EXPECT_FALSE(fixed.grow());
}

}  // namespace
}  // namespace hearth
