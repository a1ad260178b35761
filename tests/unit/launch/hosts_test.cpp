#include "launch/hosts.h"

#include <gtest/gtest.h>

namespace hearth::launch {
namespace {

TEST(HostFile, FirstWordsWithSlots) {
  EXPECT_EQ(hosts_in_text("# cluster\nnode1 slots=4 max_slots=8\n\n  node2:3 # spare\nnode3\n"),
            (std::vector<std::string>{"node1:4", "node2:3", "node3"}));
  EXPECT_TRUE(hosts_in_text("").empty());
}

TEST(Hosts, NamesOfThisMachine) {
  int slots = -1;
  EXPECT_EQ(first_other_host({"localhost", "127.0.0.1", "::1", "box", "box.example.org"}, "box", slots), "");
  EXPECT_EQ(slots, 0);
  EXPECT_EQ(first_other_host({"box"}, "box.example.org", slots), "");
  EXPECT_EQ(first_other_host({"localhost:2", "box:3"}, "box", slots), "");
  EXPECT_EQ(slots, 5);
}

TEST(Hosts, OthersAreNamed) {
  int slots = 0;
  EXPECT_EQ(first_other_host({"localhost", "other:2", "third"}, "box", slots), "other");
  EXPECT_EQ(slots, 2);
  // Two full names with the same first label are two machines.
  EXPECT_EQ(first_other_host({"box.example.com"}, "box.example.org", slots), "box.example.com");
}

TEST(Hosts, NamesAndSlots) {
  EXPECT_EQ(name_of_host("node1:4"), "node1");
  EXPECT_EQ(slots_of_host("node1:4"), 4);
  EXPECT_EQ(name_of_host("::1"), "::1");
  EXPECT_EQ(slots_of_host("::1"), 0);
  EXPECT_EQ(slots_of_host("node1:many"), 0);
}

}  // namespace
}  // namespace hearth::launch
