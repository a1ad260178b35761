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
  EXPECT_TRUE(check_hosts({"localhost", "127.0.0.1", "::1", "box", "box.example.org"}, "box", slots).ok());
  EXPECT_EQ(slots, 0);
  EXPECT_TRUE(check_hosts({"box"}, "box.example.org", slots).ok());
  EXPECT_TRUE(check_hosts({"localhost:2", "box:3"}, "box", slots).ok());
  EXPECT_EQ(slots, 5);
}

TEST(Hosts, OthersAreNamed) {
  int slots = 0;
  EXPECT_FALSE(check_hosts({"localhost", "other:2"}, "box", slots).ok());
  EXPECT_NE(std::string(last_failure_text()).find("'other' is not this machine ('box')"), std::string::npos);
  // Two full names with the same first word are two machines.
  EXPECT_FALSE(check_hosts({"box.example.com"}, "box.example.org", slots).ok());
}

}  // namespace
}  // namespace hearth::launch
