#include "launch/placement_words.h"

#include <gtest/gtest.h>

namespace hearth::launch {
namespace {

using Sets = std::vector<std::vector<int>>;

PlacementRequest bound(const std::string& text) {
  PlacementRequest request;
  EXPECT_TRUE(read_bind("--bind-to", text, request).ok()) << last_failure_text();
  return request;
}

PlacementRequest mapped(const std::string& text) {
  PlacementRequest request;
  EXPECT_TRUE(read_map("--map-by", text, request).ok()) << last_failure_text();
  return request;
}

std::string refused_bind(const std::string& text) {
  PlacementRequest request;
  EXPECT_FALSE(read_bind("--bind-to", text, request).ok()) << text;
  return last_failure_text();
}

std::string refused_map(const std::string& text) {
  PlacementRequest request;
  EXPECT_FALSE(read_map("--map-by", text, request).ok()) << text;
  return last_failure_text();
}

TEST(PlacementWords, LevelsOfBothDialects) {
  const std::pair<const char*, Level> levels[] = {
      {"none", Level::none},      {"hwthread", Level::hwthread}, {"core", Level::core},
      {"l1cache", Level::core},   {"L2cache", Level::l2},        {"l3cache", Level::l3},
      {"l3", Level::l3},          {"numa", Level::numa},         {"package", Level::package},
      {"socket", Level::package}, {"board", Level::machine},     {"node", Level::machine}};
  for (const auto& [word, level] : levels) {
    EXPECT_EQ(bound(word).bind, level) << word;
    if (level != Level::none) EXPECT_EQ(mapped(word).map, level) << word;
  }
  EXPECT_EQ(mapped("slot").map, Level::core);
}

TEST(PlacementWords, Modifiers) {
  EXPECT_EQ(bound("core:4").cores_per_rank, 4);
  EXPECT_TRUE(bound("core:overload-allowed").oversubscribe);
  const PlacementRequest request = mapped("package:SPAN:PE=2:OVERSUBSCRIBE");
  EXPECT_EQ(request.map, Level::package);
  EXPECT_EQ(request.cores_per_rank, 2);
  EXPECT_TRUE(request.oversubscribe);
  EXPECT_TRUE(mapped(":NOOVERSUBSCRIBE").forbid_oversubscribe);
  EXPECT_EQ(mapped("slot:HWTCPUS").bind, Level::hwthread);
}

TEST(PlacementWords, WhatOnlyOneDialectHas) {
  EXPECT_TRUE(bound("rr").by_number);
  EXPECT_EQ(bound("user:0+2,1+4,3").processor_sets, (Sets{{0, 2}, {1, 4}, {3}}));
  EXPECT_TRUE(mapped("spread").spread);
  EXPECT_TRUE(mapped("scatter:PE=2").spread);
  EXPECT_EQ(mapped("pe-list=0,2-3").only_processors, (std::vector<int>{0, 2, 3}));
  const PlacementRequest request = mapped("ppr:2:l3cache:PE=3");
  EXPECT_EQ(request.ranks_per_object, 2);
  EXPECT_EQ(request.map, Level::l3);
  EXPECT_EQ(request.cores_per_rank, 3);
}

TEST(PlacementWords, UnknownOnesAreAnsweredByWhatThereIs) {
  EXPECT_EQ(
      refused_bind("chair"),
      "--bind-to: 'chair' is no part of a machine; there are none, hwthread, core, l2, l3, numa, package, "
      "socket, node, board, rr and user:LIST");
  EXPECT_NE(refused_map("chair").find("'chair' is not known; there are slot, hwthread"), std::string::npos);
  EXPECT_NE(refused_map("none").find("'none' is not known"), std::string::npos);
  EXPECT_NE(refused_bind("slot").find("'slot' is no part of a machine"), std::string::npos);
  EXPECT_NE(refused_map("core:fast").find("'fast' is not known behind ':'"), std::string::npos);
  EXPECT_NE(refused_map("ppr:core").find("needs the form ppr:N:LEVEL"), std::string::npos);
  EXPECT_NE(refused_map("ppr:x:core").find("needs the form ppr:N:LEVEL"), std::string::npos);
  EXPECT_NE(refused_map("ppr:1:chair").find("'chair' is not known"), std::string::npos);
  EXPECT_NE(refused_map("core:PE=0").find("PE= needs a number"), std::string::npos);
  for (const char* list : {"user:0-", "user:a", "user:", "user:3-1", "user:-1", "user:0++1"}) {
    EXPECT_NE(refused_bind(list).find("is no list of processors"), std::string::npos) << list;
  }
  EXPECT_NE(refused_bind("user").find("needs the form user:"), std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
