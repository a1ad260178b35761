#include "profile/report/summary.h"

#include <numeric>

#include "job.h"
#include "profile/report/json.h"
#include "profile/report/page.h"
#include "profile/report/words.h"

namespace hearth::profile {
namespace {

constexpr int kBuffers = 2, kSingleCopy = 4;

TEST(Summary, AddsUpWhatWasSent) {
  Job job;
  for (int i = 0; i < 5; ++i) job.recorder(0).sent(1, 0, 8, 1, false);
  job.recorder(0).sent(1, kSingleCopy, 1 << 20, 1, false);
  job.recorder(1).sent(0, kBuffers, 5000, 1, false);
  const Summary summary = job.summary();
  EXPECT_EQ(summary.between(0, 1).messages, 6u);
  EXPECT_EQ(summary.between(0, 1).bytes, 40u + (1 << 20));
  EXPECT_EQ(summary.between(1, 0).bytes, 5000u);
  EXPECT_EQ(summary.ranks[1].received.messages, 6u);
  EXPECT_EQ(summary.ways[0].traffic.messages, 5u);
  EXPECT_EQ(summary.ways[kSingleCopy].traffic.bytes, uint64_t{1} << 20);
}

TEST(Summary, TellsWhatGoesBetweenMachines) {
  for (const bool apart : {false, true}) {
    Job job(0, apart);
    for (int i = 0; i < 3; ++i) job.recorder(0).sent(0, 0, 8, 1, false);
    job.recorder(0).sent(1, kBuffers, 5000, 1, false);
    job.recorder(1).sent(0, 0, 16, 1, false);
    const Summary summary = job.summary();
    EXPECT_EQ(summary.machines(), apart ? 2u : 1u);
    EXPECT_EQ(summary.all().messages, 5u);
    EXPECT_EQ(summary.all_away().messages, apart ? 2u : 0u);
    EXPECT_EQ(summary.all_away().bytes, apart ? 5016u : 0u);
    EXPECT_EQ(summary.ranks[0].sent_away.bytes, apart ? 5000u : 0u);
    EXPECT_EQ(summary.ranks[1].sent_away.bytes, apart ? 16u : 0u);
    EXPECT_DOUBLE_EQ(summary.even_share_away(), apart ? 1.0 : 0.0);
    const std::string page = to_page(summary);
    EXPECT_EQ(page.find("Within and between machines") != std::string::npos, apart);
    EXPECT_EQ(page.find("nothing goes through a network") == std::string::npos, apart);
    const std::string words = apart ? "40 % of the messages and 100 % of the bytes go between the 2 machines"
                                    : "0 % of the messages and 0 % of the bytes";
    EXPECT_EQ(machines_words(summary).substr(0, words.size()), words);
  }
}

TEST(Summary, MovesWhatFellBack) {
  Job job;
  job.recorder(0).sent(1, kSingleCopy, 1 << 20, 1, false);
  job.recorder(0).fell_back(1, kSingleCopy, 1 << 20);
  const Summary summary = job.summary();
  EXPECT_EQ(summary.ways[kSingleCopy].traffic.messages, 0u);
  EXPECT_EQ(summary.ways[kBuffers].traffic.messages, 1u);
  EXPECT_EQ(summary.ways[kBuffers].traffic.bytes, uint64_t{1} << 20);
  EXPECT_EQ(summary.ranks[0].fallbacks, 1u);
}

TEST(Summary, SharesUnseenMessagesByTheirSamples) {
  Job job;
  const Part part = job.part(0);
  PeerCounts& peer = part.peers[1];
  peer.line_messages[8] = 30;
  peer.line_samples[8] = 30;
  peer.line_messages[40] = 10;
  peer.line_samples[40] = 10;
  peer.sent_unseen = 1000;
  part.calls[0].calls[class_of(8)] = part.calls[0].samples[class_of(8)] = 30;
  part.calls[1].calls[class_of(40)] = part.calls[1].samples[class_of(40)] = 10;
  const Summary summary = job.summary();
  EXPECT_EQ(summary.between(0, 1).messages, 1040u);
  EXPECT_EQ(summary.between(0, 1).bytes, 780u * 8 + 260u * 40);
  ASSERT_EQ(summary.calls.size(), 2u);
  EXPECT_EQ(summary.calls[0].name, "MPI_Send");
  EXPECT_EQ(summary.calls[0].calls, 780u);
  EXPECT_EQ(summary.calls[1].name, "MPI_Isend");
  EXPECT_EQ(summary.calls[1].calls, 260u);
  EXPECT_TRUE(summary.calls[0].estimated);
}

TEST(Summary, KnowsTheNumberWithoutAnySample) {
  Job job;
  job.part(0).peers[1].sent_unseen = 77;
  EXPECT_EQ(job.summary().between(0, 1).messages, 77u);
}

TEST(Summary, FindsTheLastRank) {
  Job job;
  for (uint32_t i = 0; i < 10; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      Moment* moment = job.recorder(rank).collective({0, 0, 2, "MPI_COMM_WORLD"}, {4, 0});
      ASSERT_NE(moment, nullptr);
      moment->begun_ns = 1'000'000 + 1000 * i + (rank == (i < 8 ? 1 : 0) ? 500 : 0);
      moment->ended_ns = moment->begun_ns + 100;
    }
  }
  const Summary summary = job.summary();
  ASSERT_EQ(summary.comms.size(), 1u);
  EXPECT_EQ(summary.comms[0].last_rank, 1);
  EXPECT_DOUBLE_EQ(summary.comms[0].last_share, 0.8);
  EXPECT_NEAR(summary.comms[0].spread_mean_s, 500e-9, 1e-12);
  EXPECT_NEAR(summary.comms[0].inside_s, 2000e-9, 1e-12);
}

TEST(Summary, EvenDistributionIsThatOfThePairs) {
  Job job;
  const Summary summary = job.summary();
  const double sum =
      std::accumulate(summary.channels.begin(), summary.channels.end(), 0.0,
                      [](double all, const Channel& channel) { return all + channel.even_share; });
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(Verdict, NamesTheWaitingAndTheAwaitedRank) {
  Job job;
  job.part(0).head->begun_ns = job.part(1).head->begun_ns = os::now_ns() - 1'000'000'000;
  job.recorder(1).waited(Wait::late_sender, 0, 600'000'000, true, -1);
  const Summary summary = job.summary();
  EXPECT_TRUE(summary.verdict.starts_with("Rank 1 waits ")) << summary.verdict;
  EXPECT_NE(summary.verdict.find("of its time for rank 0, which computes"), std::string::npos)
      << summary.verdict;
}

TEST(Verdict, EndsAChainWhereItComesRound) {
  Job job;
  job.part(0).head->begun_ns = job.part(1).head->begun_ns = os::now_ns() - 1'000'000'000;
  job.recorder(1).waited(Wait::late_sender, 0, 900'000'000, true, -1);
  job.recorder(0).waited(Wait::late_receiver, 1, 800'000'000, true, -1);
  const Summary summary = job.summary();
  EXPECT_TRUE(summary.verdict.starts_with("Rank 1 waits ")) << summary.verdict;
  EXPECT_NE(summary.verdict.find("for rank 0, which waits itself (80 %"), std::string::npos)
      << summary.verdict;
}

TEST(Verdict, SaysThatRanksCompute) {
  Job job;
  job.part(0).head->begun_ns = job.part(1).head->begun_ns = os::now_ns() - 1'000'000'000;
  EXPECT_TRUE(job.summary().verdict.starts_with("The ranks compute")) << job.summary().verdict;
}

TEST(Page, EscapesWordsOfUsers) {
  Job job;
  job.recorder(0).collective({0, 0, 2, "<script>\x01\"&"}, {4, 0});
  const std::string page = to_page(job.summary());
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt; &quot;&amp;"), std::string::npos);
}

TEST(Words, OfNumbers) {
  EXPECT_EQ(bytes_words(48), "48 B");
  EXPECT_EQ(bytes_words(1024), "1 KiB");
  EXPECT_EQ(bytes_words(1536), "1.5 KiB");
  EXPECT_EQ(time_words(0.00123), "1.23 ms");
  EXPECT_EQ(count_words(1234), "1234");
  EXPECT_EQ(count_words(1234567), "1.23 M");
  EXPECT_EQ(percent_words(0.412), "41 %");
  EXPECT_EQ(class_words(4), "8 to 15 B");
}

}  // namespace
}  // namespace hearth::profile
