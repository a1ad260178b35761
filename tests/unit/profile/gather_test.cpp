#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "job.h"

namespace hearth::profile {
namespace {

namespace fs = std::filesystem;

class GatherTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder() const { return folder_.string(); }

  // A rank that starts, sends `bytes` to rank `to`, and ends.
  void run_rank(int rank, uint32_t ranks, int to, uint64_t bytes, const char* host, int machine) const {
    PartFacts facts = {};
    facts.processors = 4;
    std::strcpy(facts.host, host);
    std::strcpy(facts.program, "solve");
    Board part;
    ASSERT_TRUE(Board::create_part(folder(), ranks, rank, facts, part).ok()) << last_failure_text();
    Recorder recorder(part, rank, machine);
    recorder.begin();
    recorder.sent(to, 2, bytes, 0, false);
    recorder.end(0);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("hearth_gather_" + std::to_string(::getpid()));
};

TEST_F(GatherTest, PartsBecomeOneProfile) {
  run_rank(0, 3, 2, 1000, "h1", 0);
  run_rank(1, 3, 0, 50, "h1", 0);
  run_rank(2, 3, 0, 7000, "h2", 1);
  Board board;
  std::vector<PartFacts> facts;
  ASSERT_TRUE(Board::gather(folder(), board, facts).ok()) << last_failure_text();
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_STREQ(facts[2].host, "h2");
  JobFacts job;
  job.places.resize(3);
  job.call_name = test_call_name;
  const Summary summary = summarize(board, job);
  EXPECT_EQ(summary.machines(), 2u);
  EXPECT_EQ(summary.all().bytes, 8050u);
  EXPECT_EQ(summary.all_away().bytes, 8000u);
  EXPECT_EQ(summary.between(1, 0).bytes, 50u);
}

TEST_F(GatherTest, ARankThatHasLeftNoneIsMissed) {
  run_rank(1, 2, 0, 10, "h1", 0);
  Board board;
  std::vector<PartFacts> facts;
  ASSERT_TRUE(Board::gather(folder(), board, facts).ok());
  EXPECT_STREQ(facts[0].host, "");
  EXPECT_EQ(board.part(0).head->attached, 0u);
  EXPECT_EQ(board.part(1).head->attached, 1u);
}

TEST_F(GatherTest, TextsEndWhateverTheFileSays) {
  PartFacts facts;
  std::memset(&facts, 'x', sizeof facts);
  Board part;
  ASSERT_TRUE(Board::create_part(folder(), 1, 0, facts, part).ok());
  Board board;
  std::vector<PartFacts> read;
  ASSERT_TRUE(Board::gather(folder(), board, read).ok());
  EXPECT_EQ(std::strlen(read[0].host), sizeof read[0].host - 1);
  EXPECT_EQ(std::strlen(read[0].program), sizeof read[0].program - 1);
}

TEST_F(GatherTest, ProcessorsOfEachMachineCountOnce) {
  std::vector<PartFacts> parts(4);
  const char* hosts[] = {"h1", "h1", "h2", ""};
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    std::strcpy(parts[rank].host, hosts[rank]);
    parts[rank].processors = 8;
  }
  EXPECT_EQ(job_of(parts).processors, 16);
  EXPECT_EQ(job_of(parts).places.size(), 4u);
  parts[0].processors = parts[1].processors = parts[2].processors = INT_MAX;
  EXPECT_EQ(job_of(parts).processors, INT_MAX);
}

TEST_F(GatherTest, ANewRunTakesThePlaceOfTheOneBefore) {
  run_rank(0, 1, 0, 10, "h1", 0);
  run_rank(0, 1, 0, 30, "h1", 0);
  Board board;
  std::vector<PartFacts> facts;
  ASSERT_TRUE(Board::gather(folder(), board, facts).ok());
  EXPECT_EQ(board.part(0).peers[0].sent[2].bytes, 30u);
}

TEST_F(GatherTest, WhatIsOfNoUseIsRefusedWithItsName) {
  Board board;
  std::vector<PartFacts> facts;
  EXPECT_FALSE(Board::gather(folder(), board, facts).ok());
  EXPECT_NE(std::string(last_failure_text()).find("HEARTH_PROFILE_FOLDER"), std::string::npos);

  run_rank(0, 2, 1, 10, "h1", 0);
  run_rank(2, 3, 1, 10, "h1", 0);
  EXPECT_FALSE(Board::gather(folder(), board, facts).ok());
  EXPECT_NE(std::string(last_failure_text()).find("rank-000002.profile"), std::string::npos);

  fs::remove(folder_ / "rank-000002.profile");
  const fs::path whole = folder_ / "rank-000000.profile";
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{100}, fs::file_size(whole) - 1}) {
    fs::resize_file(whole, bytes);
    EXPECT_FALSE(Board::gather(folder(), board, facts).ok()) << bytes;
  }
  std::ofstream(folder_ / "other.profile") << std::string(20'000, 'x');
  EXPECT_FALSE(Board::gather(folder(), board, facts).ok());
  EXPECT_FALSE(board.usable());
}

TEST_F(GatherTest, AFolderThatIsNotThereIsTold) {
  Board part;
  EXPECT_FALSE(Board::create_part(folder() + "/nowhere", 2, 0, {}, part).ok());
  EXPECT_NE(std::string(last_failure_text()).find("HEARTH_PROFILE_FOLDER"), std::string::npos);
  EXPECT_FALSE(part.usable());
}

}  // namespace
}  // namespace hearth::profile
