// Made-up states of jobs, and the diagnosis of each.
#include "launch/why.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/contexts.h"
#include "base/os_inspect.h"
#include "base/os_process.h"
#include "base/os_stack.h"
#include "base/os_wait.h"
#include "launch/stack_guess.h"
#include "launch/symbols.h"
#include "launch/thread_states.h"
#include "launch/why_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

using shm::RankPhase;
using shm::WaitKind;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 100 * kSecond;
constexpr uint64_t kSince = kNow - 5 * kSecond;
constexpr uint32_t kOther = kFirstFreeContext;

class Why : public testing::Test {
 protected:
  void have(int ranks) {
    snapshot_.now_ns = kNow;
    snapshot_.ranks.resize(static_cast<size_t>(ranks));
    for (SeenRank& rank : snapshot_.ranks) {
      rank.phase = RankPhase::initialized;
      rank.process = {
          .pid = 1, .state = 'S', .threads = 1, .processors = 0, .blocked_in = "", .called_from = ""};
    }
  }
  SeenRank& rank(int index) { return snapshot_.ranks[static_cast<size_t>(index)]; }

  static SeenOperation message(WaitKind kind, int peer, int tag = 7, uint32_t context = kWorldContext) {
    return {.kind = kind, .peer = peer, .peer_rank = peer, .tag = tag, .context = context, .bytes = 4};
  }
  SeenWait& add(int index, const char* function, WaitKind kind, std::vector<SeenOperation> operations) {
    SeenWait wait;
    wait.kind = kind;
    wait.function = function;
    wait.thread = 10 + static_cast<int>(rank(index).waits.size());
    wait.since_ns = kSince;
    wait.beat_ns = kNow;
    wait.operation_count = operations.size();
    wait.operations = std::move(operations);
    rank(index).waits.push_back(wait);
    return rank(index).waits.back();
  }
  SeenWait& receives(int index, int from, int tag = 7, uint32_t context = kWorldContext) {
    return add(index, "MPI_Recv", WaitKind::receive, {message(WaitKind::receive, from, tag, context)});
  }
  SeenWait& sends(int index, int to) {
    return add(index, "MPI_Send", WaitKind::send, {message(WaitKind::send, to)});
  }
  SeenWait& meets(int index, const char* function, std::vector<int> missing) {
    SeenWait& wait = add(index, function, WaitKind::collective,
                         {message(WaitKind::collective, MPI_PROC_NULL, shm::kNoRoot, kCollectiveContext)});
    wait.missing_count = missing.size();
    wait.missing = std::move(missing);
    return wait;
  }
  SeenWait& locks(int index, int target, uint64_t holders, std::vector<int> known) {
    SeenOperation operation = message(WaitKind::lock, target, 0, kOther);
    operation.bytes = holders;
    SeenWait& wait = add(index, "MPI_Win_lock", WaitKind::lock, {operation});
    wait.missing_count = known.size();
    wait.missing = std::move(known);
    return wait;
  }
  void computes(int index) { rank(index).process.processors = 1; }
  void polls_for(int index, int from) {
    SeenWait wait;
    wait.kind = WaitKind::polling;
    wait.function = "MPI_Test";
    wait.since_ns = kSince;
    wait.beat_ns = kNow - 1000;
    wait.any_suffices = true;
    wait.operations = {message(WaitKind::receive, from)};
    wait.operation_count = 1;
    rank(index).polling = wait;
  }

  Explanation explained() { return explain(snapshot_); }
  static bool says(const Explanation& why, const std::string& text) {
    return std::any_of(why.lines.begin(), why.lines.end(),
                       [&text](const std::string& line) { return line.find(text) != std::string::npos; });
  }
  static std::string all_of(const Explanation& why) {
    std::string text;
    for (const std::string& line : why.lines) text += line + '\n';
    return text;
  }

  Snapshot snapshot_;
};

#define EXPECT_SAYS(why, text) EXPECT_TRUE(says(why, text)) << all_of(why)
#define EXPECT_SILENT(why, text) EXPECT_FALSE(says(why, text)) << all_of(why)

TEST_F(Why, StoppedInItsWaitHasNotPolled) {
  have(2);
  snapshot_.before_ns = kNow - kSecond;
  receives(0, 1).beat_ns = kNow;
  receives(1, 0).beat_ns = kSince;
  rank(1).process.state = 'T';
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::waiting);
  EXPECT_SAYS(why, "no deadlock: ranks 0 and 1 wait, and rank 1 is stopped");
  EXPECT_SAYS(why, "; it is stopped (SIGCONT lets it go on)");
}

TEST_F(Why, HeadToHeadSends) {
  have(3);
  sends(0, 1);
  sends(1, 0);
  computes(2);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 1}));
  EXPECT_EQ(why.cycles, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(why.lines[0], "deadlock: ranks 0 and 1 wait for each other, and nothing can end it");
  EXPECT_SAYS(why, "the cycle: rank 0 -> 1 -> 0");
  EXPECT_SAYS(why,
              "rank 0 waits in MPI_Send for rank 1 to receive 4 bytes, tag 7, on MPI_COMM_WORLD, for 5.0 s");
  EXPECT_SAYS(why, "send before they receive");
}

TEST_F(Why, ALockIsWaitedForFromItsHolder) {
  have(3);
  locks(1, 1, 1, {0});
  locks(2, 1, 1, {0});
  computes(0);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::waiting);
  EXPECT_EQ(why.lines[0], "no deadlock: ranks 1 and 2 wait for rank 0");
  EXPECT_SAYS(why, "in MPI_Win_lock for the lock on the memory of rank 1, on a communicator");
  EXPECT_SAYS(why, "held by rank 0");
}

TEST_F(Why, LocksInACycle) {
  have(4);
  locks(0, 2, 1, {1});
  locks(1, 2, 1, {0});
  receives(2, 3);
  computes(3);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 1}));
  EXPECT_EQ(why.cycles, (std::vector<std::vector<int>>{{0, 1}}));
}

TEST_F(Why, AnUnknownHolderMayReleaseALock) {
  have(2);
  locks(0, 1, 0, {});
  receives(1, 0);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::waiting);
  EXPECT_EQ(why.lines[0], "no deadlock: ranks 0 and 1 wait for a lock whose holder is not known");
  EXPECT_SAYS(why, "whose holder is not known, for 5.0 s");
}

TEST_F(Why, AllSharedHoldersHaveToReleaseALock) {
  have(3);
  locks(0, 1, 3, {1, 2});
  receives(1, 0);
  computes(2);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock) << "rank 1 never releases it, whatever the unknown holder does";
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 1}));
  EXPECT_SAYS(why, "held by ranks 1 and 2 and 1 that are not known");
}

TEST_F(Why, RootsThatDiffer) {
  have(3);
  meets(0, "MPI_Gather", {1, 2}).operations[0].tag = 0;
  meets(1, "MPI_Gather", {0, 2}).operations[0].tag = 1;
  receives(2, 0);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "different roots of MPI_Gather on MPI_COMM_WORLD: rank 0 with root 0, rank 1 with root 1");
  EXPECT_SAYS(why, "rank 1 waits in MPI_Gather with root 1 on MPI_COMM_WORLD for ranks 0 and 2");
}

TEST_F(Why, WrongTag) {
  have(2);
  receives(0, 1, 9);
  receives(1, 0, 7);
  rank(1).unexpected = {{0, 8, kWorldContext, 40}};
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(
      why,
      "rank 1 has a message from rank 0, tag 8, 40 bytes, on MPI_COMM_WORLD: it would match the receive "
      "from rank 0, tag 7, on MPI_COMM_WORLD but for its tag");
}

TEST_F(Why, WrongCommunicatorOrSender) {
  have(3);
  receives(0, 1, 9);
  receives(1, 0, 7);
  sends(2, 1);
  rank(1).comms = {
      {.context = kOther, .size = 2, .kind = shm::CommKind::intra, .name = "rows", .members = {0, 1}}};
  rank(1).unexpected = {{0, 7, kOther, 40}, {2, 7, kWorldContext, 4}};
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "on communicator 'rows' of 2 ranks: it would match");
  EXPECT_SAYS(why, "but for its communicator");
  EXPECT_SAYS(why, "rank 1 has a message from rank 2, tag 7, 4 bytes, on MPI_COMM_WORLD: it would match");
  EXPECT_SAYS(why, "but for its sender");
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 1, 2})) << "rank 2 waits behind the cycle";
}

TEST_F(Why, MissingMemberOfACollective) {
  have(3);
  meets(0, "MPI_Barrier", {2});
  meets(1, "MPI_Barrier", {2});
  receives(2, 0, 5);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "ranks 0 and 1, each: waits in MPI_Barrier on MPI_COMM_WORLD for rank 2");
  EXPECT_SAYS(why, "MPI_Barrier on MPI_COMM_WORLD: ranks 0 and 1 have come, rank 2 has not");
}

TEST_F(Why, ProcessesOfAnotherJob) {
  have(2);
  receives(0, 3, 5, kOther).operations[0].peer_rank = 0;
  meets(1, "MPI_Barrier", {0, 3});
  for (int index = 0; index < 2; ++index) rank(index).foreign = {{.peer = 3, .rank = 1, .pid = 4711}};
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::waiting);
  EXPECT_SAYS(why, "ranks 0 and 1 wait for processes of another job");
  EXPECT_SAYS(why, "a message from rank 1 of another job (process 4711) (rank 0 there), tag 5");
  EXPECT_SAYS(why, "on MPI_COMM_WORLD for rank 0 and rank 1 of another job (process 4711)");
  EXPECT_SAYS(why, "the other job: hearth why 4711");
  rank(0).foreign[0].pid = 0;
  rank(1).foreign[0].pid = 0;
  EXPECT_SAYS(explained(), "a message from rank 1 of another job (rank 0 there), tag 5");
  EXPECT_SILENT(explained(), "the other job");
}

TEST_F(Why, DifferentCollectives) {
  have(2);
  meets(0, "MPI_Barrier", {1});
  meets(1, "MPI_Bcast", {0});
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "different collectives on MPI_COMM_WORLD: rank 0 in MPI_Barrier, rank 1 in MPI_Bcast");
}

// A receive from any source can complete as long as one of the possible senders can act: an OR among the AND
// dependencies.
TEST_F(Why, AnySource) {
  have(3);
  receives(0, MPI_ANY_SOURCE);
  meets(1, "MPI_Barrier", {0});
  computes(2);
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "rank 2 may send";
  rank(0).comms = {
      {.context = kWorldContext, .size = 2, .kind = shm::CommKind::intra, .name = "", .members = {0, 1}}};
  EXPECT_EQ(explained().verdict, Verdict::deadlock) << "rank 2 is not in the communicator";
  rank(0).comms.clear();
  meets(2, "MPI_Barrier", {0});
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 1, 2}));
  EXPECT_SAYS(why, "for a message from any rank, tag 7");
}

TEST_F(Why, OneOfSeveralSuffices) {
  have(3);
  add(0, "MPI_Waitany", WaitKind::request, {message(WaitKind::receive, 1), message(WaitKind::receive, 2)})
      .any_suffices = true;
  receives(1, 0);
  computes(2);
  EXPECT_EQ(explained().verdict, Verdict::waiting);
  rank(0).waits[0].any_suffices = false;
  EXPECT_EQ(explained().verdict, Verdict::deadlock) << "MPI_Waitall needs rank 1 too";
  rank(0).waits[0].any_suffices = true;
  rank(0).waits[0].operation_count = 20;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "what is not listed may come";
}

TEST_F(Why, ThreadsOfARank) {
  have(2);
  receives(0, 1, 1);
  receives(0, 1, 2);
  receives(1, 0, 1);
  for (int index : {0, 1}) {
    rank(index).threads_multiple = true;
    rank(index).process.threads = 2;
  }
  rank(1).process.threads = 2;
  EXPECT_EQ(explained().verdict, Verdict::deadlock) << "the other thread of rank 1 sleeps in a futex";
  rank(1).process.acting_threads = 1;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "it sleeps for a time, and may send then";
  rank(1).process.acting_threads = 0;
  rank(1).process.processors = 1;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "it is at work";
  rank(1).process.processors = 0;
  receives(1, 0, 2);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "; another thread waits in MPI_Recv for a message from rank 0, tag 2");
  rank(1).waits_left_out = 1;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "a wait that is not shown may end";
}

TEST(ThreadStates, OnlyAFutexWithoutALimitNeedsAnotherThread) {
  const auto untimed = [](const std::string& text) { return os::is_untimed_futex_wait(text.c_str()); };
  const std::string futex = std::to_string(SYS_futex) + " 0x7f00 ";
  const std::string tail = " 0x0 0x0 0x7ffc 0x7ff1";
  EXPECT_TRUE(untimed(futex + "0x80 0x2 0x0" + tail));
  EXPECT_TRUE(untimed(futex + "0x189 0x2 0x0" + tail)) << "FUTEX_WAIT_BITSET, as in pthread_join";
  EXPECT_FALSE(untimed(futex + "0x80 0x2 0x7ffe" + tail)) << "it has a limit";
  EXPECT_FALSE(untimed(futex + "0x81 0x2 0x0" + tail)) << "FUTEX_WAKE";
  EXPECT_FALSE(untimed(std::to_string(SYS_nanosleep) + " 0x7f00 0x80 0x2 0x0" + tail));
  EXPECT_FALSE(untimed("running\n"));
}

TEST(ThreadStates, ThreadsOfThisProcessAreCounted) {
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  const int self = static_cast<int>(os::thread_id());
  // The thread sanitizer adds a thread that sleeps with a timeout.
  const int before = count_acting_threads(getpid(), {self});
  const auto wait = [&](auto how) {
    std::unique_lock lock(mutex);
    how(lock);
  };
  std::thread idle([&] { wait([&](auto& lock) { ended.wait(lock, [&] { return over; }); }); });
  std::thread naps(
      [&] { wait([&](auto& lock) { ended.wait_for(lock, std::chrono::hours(1), [&] { return over; }); }); });
  const auto settled = [&](int count) {
    for (int tries = 0; tries < 2000; ++tries) {
      if (count_acting_threads(getpid(), {self}) == before + count) return true;
      os::sleep_ns(5'000'000);
    }
    return false;
  };
  EXPECT_TRUE(settled(1)) << "the one whose sleep has a limit";
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  ended.notify_all();
  idle.join();
  naps.join();
  EXPECT_TRUE(settled(0));
}

TEST_F(Why, ChainOfThree) {
  have(3);
  receives(0, 1);
  receives(1, 2);
  receives(2, 0);
  const Explanation why = explained();
  EXPECT_EQ(why.cycles, (std::vector<std::vector<int>>{{0, 1, 2}}));
  EXPECT_SAYS(why, "the cycle: rank 0 -> 1 -> 2 -> 0");
}

TEST_F(Why, TwoCyclesAndOnesBehindThem) {
  have(6);
  receives(0, 1);
  receives(1, 0);
  receives(2, 3);
  receives(3, 2);
  receives(4, 0);
  receives(5, 4);
  const Explanation why = explained();
  EXPECT_EQ(why.cycles, (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(why.stuck.size(), 6u);
}

TEST_F(Why, ALongComputationIsNoDeadlock) {
  have(4);
  for (const int index : {0, 2, 3}) meets(index, "MPI_Allreduce", {1});
  computes(1);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::waiting);
  EXPECT_EQ(why.lines[0], "no deadlock: ranks 0, 2 and 3 wait for rank 1");
  EXPECT_SAYS(why, "rank 1 is outside MPI, or in calls that do not wait for long, and computes");
  EXPECT_SILENT(why, "the cycle");
}

TEST_F(Why, ShortWaitsDoNotCount) {
  have(2);
  receives(0, 1).since_ns = kNow - kLastingNs / 2;
  receives(1, 0);
  EXPECT_EQ(explained().verdict, Verdict::waiting);
}

TEST_F(Why, NoRankWaits) {
  have(2);
  computes(0);
  EXPECT_EQ(explained().verdict, Verdict::quiet);
}

TEST_F(Why, PollersAreSuspected) {
  have(2);
  receives(0, 1);
  polls_for(1, 0);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::suspected);
  EXPECT_EQ(
      why.lines[0],
      "suspected deadlock: ranks 0 and 1 wait for each other, unless one that polls does something else "
      "next");
  EXPECT_SAYS(why, "rank 1 calls MPI_Test again and again for a message from rank 0");
  rank(1).polling->beat_ns = kNow - 10 * kSecond;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "it has not polled for a while: it does something else";
}

TEST_F(Why, WaitingForOneThatHasEnded) {
  have(3);
  receives(0, 1);
  receives(2, 0);
  rank(1).phase = RankPhase::finalized;
  rank(1).process.ended = true;
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::in_vain);
  EXPECT_EQ(why.lines[0], "ranks 0 and 2 wait in vain: rank 1 has ended or called MPI_Finalize");
  EXPECT_EQ(why.stuck, (std::vector<int>{0, 2}));
  rank(1).settled = false;
  EXPECT_EQ(explained().verdict, Verdict::waiting)
      << "it ended just now, perhaps after it sent what they need";
}

TEST_F(Why, HasNotPolledAndMayHaveReceived) {
  have(2);
  receives(0, 1);
  receives(1, 0);
  snapshot_.before_ns = kNow - kSecond;
  EXPECT_EQ(explained().verdict, Verdict::deadlock);
  rank(1).waits[0].beat_ns = kNow - kSecond;
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "it copies, or lacks a processor";
}

TEST_F(Why, ItselfOnly) {
  have(1);
  sends(0, 0);
  const Explanation why = explained();
  EXPECT_EQ(why.verdict, Verdict::deadlock);
  EXPECT_SAYS(why, "rank 0 waits for itself");
}

TEST_F(Why, OfTheUsersOwnMaking) {
  have(1);
  add(0, "MPI_Wait", WaitKind::request, {message(WaitKind::request, MPI_PROC_NULL)});
  EXPECT_EQ(explained().verdict, Verdict::waiting) << "MPI_Grequest_complete may come from anywhere";
}

TEST(RanksWords, AreShort) {
  EXPECT_EQ(ranks_words({3}), "rank 3");
  EXPECT_EQ(ranks_words({1, 0}), "ranks 0 and 1");
  EXPECT_EQ(ranks_words({0, 1, 2, 3, 7}), "ranks 0 to 3 and 7");
  std::vector<int> odd;
  for (int i = 1; i < 60; i += 2) odd.push_back(i);
  EXPECT_EQ(ranks_words(odd), "ranks 1, 3, 5, 7, 9, 11, 13, 15 and 22 others");
}

TEST(OutsideWords, SayWhatTheProcessDoes) {
  SeenRank rank;
  EXPECT_EQ(outside_words(rank, kNow), "has not called MPI_Init");
  rank.phase = RankPhase::initialized;
  rank.process.state = 'T';
  EXPECT_EQ(outside_words(rank, kNow), "is outside MPI, and is stopped (SIGCONT lets it go on)");
  rank.process.state = 'S';
  rank.waits_briefly = true;
  EXPECT_EQ(outside_words(rank, kNow), "is in calls that wait for a moment only");
  rank.waits_briefly = false;
  rank.process.blocked_in = "pipe_read";
  EXPECT_EQ(outside_words(rank, kNow), "is outside MPI, and sleeps in pipe_read");
  rank.last_wait = SeenWait();
  rank.last_wait->function = "MPI_Barrier";
  rank.last_wait->beat_ns = kNow - 2 * kSecond;
  EXPECT_EQ(outside_words(rank, kNow),
            "is outside MPI, and sleeps in pipe_read; its last wait was in MPI_Barrier, 2.0 s ago");
}

TEST(WaitRecord, IsCopiedWholeOrNotAtAll) {
  shm::WaitRecord record = {};
  shm::WaitRecord copy = {};
  record.version = 2;
  record.unexpected_count = 5;
  EXPECT_TRUE(copy_record(record, copy));
  EXPECT_EQ(copy.unexpected_count, 5u);
  record.version = 3;
  EXPECT_FALSE(copy_record(record, copy)) << "its writer died while it wrote";
}

TEST(Symbols, OfThisProgram) {
  SymbolTables tables;
  const ProcessCode code(os::process_id(), tables);
  const CodePlace place = code.find(reinterpret_cast<uint64_t>(&comm_words));
  EXPECT_EQ(place.function, "hearth::launch::comm_words[abi:cxx11]");
  EXPECT_EQ(place.beyond, 0u);
  EXPECT_NE(words_of(place).find(" in unit_launch"), std::string::npos);
  EXPECT_EQ(words_of(code.find(1)), "");
}

TEST(StackGuess, ReadsTheStackPointer) {
  EXPECT_EQ(stack_pointer_in("running\n"), 0u);
  EXPECT_EQ(stack_pointer_in(""), 0u);
  EXPECT_EQ(stack_pointer_in("-1 0x7ffd10 0x5512\n"), 0x7ffd10u);
  EXPECT_EQ(stack_pointer_in("34 0x0 0x1 0x2 0x3 0x4 0x5 0x7ffd20 0x7f15\n"), 0x7ffd20u);
}

TEST(StackGuess, KnowsCalls) {
  const auto ends = [](std::initializer_list<int> bytes) {
    std::vector<std::byte> code;
    for (const int byte : bytes) code.push_back(static_cast<std::byte>(byte));
    return os::ends_with_call(code);
  };
#if defined(__x86_64__)
  EXPECT_TRUE(ends({0x90, 0x90, 0xe8, 1, 2, 3, 4}));
  EXPECT_TRUE(ends({0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}));
  EXPECT_TRUE(ends({0x90, 0xff, 0x15, 1, 2, 3, 4}));
  EXPECT_FALSE(ends({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}));
#elif defined(__aarch64__)
  EXPECT_TRUE(ends({0, 0, 0, 0x94}));
  EXPECT_FALSE(ends({0x1f, 0x20, 0x03, 0xd5}));
#endif
}

}  // namespace
}  // namespace hearth::launch
