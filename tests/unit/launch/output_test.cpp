#include "launch/output.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace hearth::launch {
namespace {

class Output : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::make_pipe(rank_) && os::make_pipe(out_));
    os::set_nonblocking(out_.read_end.number(), true);
    sink_ = std::make_unique<Sink>(out_.write_end.number());
  }
  RankStream stream(const std::string& prefix) { return {std::move(rank_.read_end), sink_.get(), prefix}; }
  void rank_writes(const std::string& text) {
    ASSERT_EQ(os::write_some(rank_.write_end.number(), text.data(), text.size()),
              static_cast<intptr_t>(text.size()));
  }
  // The output of mpiexec so far.
  std::string arrived() {
    sink_->flush();
    std::string text(1 << 17, '\0');
    const intptr_t bytes = os::read_some(out_.read_end.number(), text.data(), text.size());
    text.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
    return text;
  }

  os::Pipe rank_;
  os::Pipe out_;
  std::unique_ptr<Sink> sink_;
};

TEST_F(Output, HoldsALineUntilItIsWhole) {
  RankStream rank = stream("");
  rank_writes("one\ntw");
  EXPECT_TRUE(rank.read());
  EXPECT_EQ(arrived(), "one\n");
  EXPECT_TRUE(rank.unfinished());
  rank_writes("o\nthree");
  EXPECT_TRUE(rank.read());
  EXPECT_EQ(arrived(), "two\n");
  rank_.write_end.reset();
  EXPECT_FALSE(rank.read());
  rank.flush_unfinished();
  EXPECT_EQ(arrived(), "three");
  rank.flush_unfinished();
  EXPECT_EQ(arrived(), "");
}

TEST_F(Output, PrefixesEveryLineAndEndsTheLast) {
  RankStream rank = stream("[3] ");
  rank_writes("a");
  rank.read();
  rank_writes("b\n\nc\nd");
  rank.read();
  EXPECT_EQ(arrived(), "[3] ab\n[3] \n[3] c\n");
  rank.flush_unfinished();
  EXPECT_EQ(arrived(), "[3] d\n");
}

TEST_F(Output, NothingToReadIsNotTheEnd) {
  RankStream rank = stream("");
  EXPECT_TRUE(rank.read());
  rank.drain();
  EXPECT_TRUE(rank.open());
  rank_.write_end.reset();
  rank.drain();
  EXPECT_FALSE(rank.open());
}

TEST_F(Output, SinkNeverBlocksAndLosesNothing) {
  const std::string line = std::string(999, 'x') + "\n";
  for (int i = 0; i < 3000; ++i) sink_->write(line);
  EXPECT_FALSE(sink_->flush()) << "a pipe does not take 3 MB at once";
  EXPECT_TRUE(sink_->congested());
  size_t total = 0;
  for (std::string piece = arrived(); !piece.empty(); piece = arrived()) total += piece.size();
  EXPECT_EQ(total, 3'000'000u);
  EXPECT_TRUE(sink_->empty());
  EXPECT_FALSE(sink_->congested());
}

TEST_F(Output, SinkSaysWhenItsReaderIsGone) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  out_.read_end.reset();
  sink_->write("x\n");
  EXPECT_TRUE(sink_->flush());
  EXPECT_TRUE(sink_->broken());
  EXPECT_EQ(sink_->broken_by(), EPIPE);
  sink_->write("more\n");
  EXPECT_TRUE(sink_->empty());
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace hearth::launch
