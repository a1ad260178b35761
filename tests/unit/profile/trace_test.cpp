#include "profile/report/trace.h"

#include <nlohmann/json.hpp>

#include "job.h"

namespace hearth::profile {
namespace {

TEST(Trace, HasSlicesAndArrows) {
  Job job(100);
  const uint64_t now = os::now_ns();
  job.recorder(0).sent(1, 0, 8, 7, false);
  job.recorder(0).called(0, now, now + 500);
  job.recorder(1).arrived(0, 8, 7);
  job.recorder(1).called(2, now, now + 900);
  job.recorder(1).wait_is_over(Wait::late_sender, 0, now, now + 5000);
  std::string text;
  const TraceCounts told = write_trace(job.board, job.facts(), [&](const std::string& piece) {
    text += piece;
    return true;
  });
  EXPECT_EQ(told.events, 5u);
  EXPECT_EQ(told.dropped, 0u);
  const nlohmann::json trace = nlohmann::json::parse(text);
  std::string begins;
  std::string ends;
  int slices = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++slices;
    if (event["ph"] == "s") begins = event["id"];
    if (event["ph"] == "f") ends = event["id"];
  }
  EXPECT_EQ(slices, 3);
  EXPECT_EQ(begins, "0-1-1");
  EXPECT_EQ(begins, ends);
}

TEST(Trace, KeepsLongTimes) {
  Job job(10);
  job.recorder(0).called(4, job.board.begun_ns(), job.board.begun_ns() + 10'000'000'000);
  std::string text;
  write_trace(job.board, job.facts(), [&](const std::string& piece) {
    text += piece;
    return true;
  });
  EXPECT_NE(text.find("\"dur\":10000000.000"), std::string::npos) << text;
}

}  // namespace
}  // namespace hearth::profile
