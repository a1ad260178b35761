// The contract of src/transport/transport.h, over every implementation.
#include "transport/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "job.h"
#include "transport/local_path.h"

namespace hearth::contract {
namespace {

using transport::PacketHeader;

struct Seen {
  PeerIndex from;
  PacketHeader header;
  std::vector<std::byte> payload;
};

void collect(void* receiver, PeerIndex from, const PacketHeader& header, const std::byte* payload) {
  static_cast<std::vector<Seen>*>(receiver)->push_back({from, header, {payload, payload + header.bytes()}});
}

class TransportContract : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kSize = 4;
  Job job_{GetParam(), kSize};
  // Number of polls; one poll of a network takes a microsecond.
  static constexpr int kPatience = 2'000'000;

  /// Polls both ends of the connection from 0 to 1: the sender has to poll, too, for what comes back.
  void poll_both(std::vector<Seen>& arrived) {
    job_.endpoint(1).poll(collect, &arrived);
    std::vector<Seen> none;
    job_.endpoint(0).poll(collect, &none);
    ASSERT_TRUE(none.empty());
  }

  std::mt19937 random_{GetParam().seed};
};

std::byte pattern(uint32_t number, size_t at) {
  return static_cast<std::byte>(number * 31 + at);
}

// Sends packet `number`, with bytes derived from the number; false if there is no room.
bool send(transport::Transport& from, PeerIndex to, uint32_t number, size_t bytes) {
  Status status;
  std::byte* line = from.claim(to, bytes, status);
  EXPECT_TRUE(status.ok());
  if (line == nullptr) return false;
  for (size_t at = 0; at < bytes; ++at) line[at] = pattern(number, at);
  from.commit(to, static_cast<uint8_t>(1 + number % 5), static_cast<uint8_t>(number % 128), bytes, number,
              ~uint64_t{number});
  return true;
}

TEST_P(TransportContract, packets_of_a_pair_arrive_once_whole_and_in_order) {
  constexpr uint32_t kPackets = 3000;
  std::vector<std::vector<uint32_t>> sent(kSize, std::vector<uint32_t>(kSize, 0));
  std::vector<std::vector<uint32_t>> seen(kSize, std::vector<uint32_t>(kSize, 0));
  std::vector<Seen> arrived;
  uint64_t left = uint64_t{kSize} * kSize * kPackets;
  for (uint64_t step = 0; left > 0; ++step) {
    ASSERT_LT(step, 20'000'000u) << "packets stopped arriving";
    const auto rank = static_cast<PeerIndex>(random_() % kSize);
    if (random_() % 2 == 0) {
      const auto to = static_cast<PeerIndex>(random_() % kSize);
      uint32_t& number = sent[static_cast<size_t>(rank)][static_cast<size_t>(to)];
      const size_t bytes = std::min<size_t>(random_() % 3 == 0 ? random_() % 2000 : random_() % 60,
                                            job_.endpoint(rank).limits_to(to).packet_bytes_max);
      if (random_() % 4 == 0) job_.endpoint(rank).local_path().prefetch_room(to, random_() % 2000);
      if (number < kPackets && send(job_.endpoint(rank), to, number, bytes)) ++number;
      continue;
    }
    arrived.clear();
    job_.endpoint(rank).poll(collect, &arrived);
    for (const Seen& packet : arrived) {
      uint32_t& expected = seen[static_cast<size_t>(packet.from)][static_cast<size_t>(rank)];
      ASSERT_EQ(packet.header.cookie(), expected) << "from " << packet.from << " to " << rank;
      ASSERT_EQ(packet.header.match, ~uint64_t{expected});
      ASSERT_EQ(packet.header.kind(), 1 + expected % 5);
      ASSERT_EQ(packet.header.flags(), static_cast<uint8_t>(expected % 128));
      for (size_t at = 0; at < packet.payload.size(); ++at)
        ASSERT_EQ(packet.payload[at], pattern(expected, at));
      ++expected;
      --left;
    }
  }
}

TEST_P(TransportContract, a_full_way_says_so_and_opens_again) {
  uint32_t sent = 0;
  int refused = 0;
  while (refused < 50) {
    if (send(job_.endpoint(0), 1, sent, 40)) {
      ++sent;
    } else {
      ++refused;
    }
    ASSERT_LT(sent, 100'000u) << "never full";
  }
  std::vector<Seen> arrived;
  for (int i = 0; i < kPatience && arrived.size() < sent; ++i) poll_both(arrived);
  EXPECT_EQ(arrived.size(), sent);
  bool again = false;
  for (int i = 0; i < kPatience && !again; ++i) {
    poll_both(arrived);
    again = send(job_.endpoint(0), 1, sent, 40);
  }
  EXPECT_TRUE(again);
}

// The receiver answers each packet during the poll, like an engine: some answers share a transfer, none is
// lost.
TEST_P(TransportContract, answers_during_a_poll_arrive_in_order) {
  constexpr uint32_t kQuestions = 2000;
  static constexpr size_t kLengths[] = {0, 8, 9, 40, 1000, 1001, 2500, 3, 16};
  struct Answerer {
    transport::Transport& transport;
    uint32_t asked = 0, answered = 0;

    void answer() {
      while (answered < asked) {
        const size_t longest = transport.limits_to(0).packet_bytes_max;
        const size_t bytes = std::min(kLengths[answered % std::size(kLengths)], longest);
        if (!send(transport, 0, answered, bytes)) return;
        ++answered;
      }
    }
  } answerer = {job_.endpoint(1)};
  const auto on_question = [](void* receiver, PeerIndex, const PacketHeader&, const std::byte*) {
    auto& responder = *static_cast<Answerer*>(receiver);
    ++responder.asked;
    responder.answer();
  };
  std::vector<Seen> answers;
  uint32_t sent = 0;
  for (int looks = 0; answers.size() < kQuestions; ++looks) {
    ASSERT_LT(looks, kPatience) << "only " << answers.size() << " answers";
    while (sent < kQuestions && sent - answers.size() < 40 && send(job_.endpoint(0), 1, sent, 0)) ++sent;
    job_.endpoint(1).poll(on_question, &answerer);
    answerer.answer();
    job_.endpoint(0).poll(collect, &answers);
  }
  const size_t longest = job_.endpoint(1).limits_to(0).packet_bytes_max;
  for (uint32_t number = 0; number < kQuestions; ++number) {
    ASSERT_EQ(answers[number].header.cookie(), number);
    ASSERT_EQ(answers[number].payload.size(), std::min(kLengths[number % std::size(kLengths)], longest));
    for (size_t at = 0; at < answers[number].payload.size(); ++at)
      ASSERT_EQ(answers[number].payload[at], pattern(number, at));
  }
}

TEST_P(TransportContract, the_longest_packet_fits_from_every_position) {
  const size_t longest = job_.endpoint(0).limits_to(1).packet_bytes_max;
  std::vector<Seen> arrived;
  for (uint32_t number = 0; number < 400; ++number) {
    const size_t bytes = number % 2 == 0 ? longest : number % 97;
    int tries = 0;
    // Prefetching for another length must not matter.
    job_.endpoint(0).local_path().prefetch_room(1, random_() % (longest + 1));
    while (!send(job_.endpoint(0), 1, number, bytes)) {
      poll_both(arrived);
      ASSERT_LT(++tries, kPatience) << "packet " << number << " never found room";
    }
  }
}

TEST_P(TransportContract, buffers_come_back_only_when_marked) {
  transport::BounceBuffers& owner = job_.endpoint(2).bounce_buffers();
  if (owner.fragment_bytes_max() == 0) GTEST_SKIP() << "shares no memory";
  const size_t bytes = owner.fragment_bytes_max();
  std::vector<int> buffers;
  for (int buffer = owner.take(bytes, {.gap = true}); buffer >= 0; buffer = owner.take(bytes, {.gap = true}))
    buffers.push_back(buffer);
  ASSERT_FALSE(buffers.empty());
  for (const int buffer : buffers) std::memset(owner.memory(2, buffer, bytes), buffer + 1, bytes);
  for (const int buffer : buffers) {
    EXPECT_FALSE(owner.returned(2, buffer, owner.ticket(2, buffer)));
    const std::byte* seen = job_.endpoint(0).bounce_buffers().memory(2, buffer, bytes);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen[0], static_cast<std::byte>(buffer + 1));
    EXPECT_EQ(seen[bytes - 1], static_cast<std::byte>(buffer + 1));
  }
  EXPECT_EQ(owner.take(bytes, {.gap = true}), -1);
  const uint32_t ticket = owner.ticket(2, buffers[0]);
  job_.endpoint(0).bounce_buffers().release(2, buffers[0], 2);
  int again = -1;
  for (int i = 0; i < 200 && again < 0; ++i) again = owner.take(bytes, {.gap = true});
  EXPECT_EQ(again, buffers[0]);
  bool back = false;
  for (int i = 0; i < 200 && !back; ++i) back = owner.returned(2, buffers[0], ticket);
  EXPECT_TRUE(back) << "taken again, the first sending is still back";
  EXPECT_FALSE(owner.returned(2, buffers[0], owner.ticket(2, buffers[0])));
  EXPECT_EQ(owner.take(bytes, {.gap = true}), -1);
  EXPECT_EQ(job_.endpoint(0).bounce_buffers().memory(2, -1, 1), nullptr);
  EXPECT_EQ(job_.endpoint(0).bounce_buffers().memory(2, 1'000'000, 1), nullptr);
  EXPECT_EQ(job_.endpoint(0).bounce_buffers().memory(2, 0, size_t{1} << 30), nullptr);
}

TEST_P(TransportContract, a_run_may_be_taken_only_if_others_remain_free) {
  transport::BounceBuffers& owner = job_.endpoint(2).bounce_buffers();
  transport::BounceBuffers& reader = job_.endpoint(0).bounce_buffers();
  if (owner.fragment_bytes_max() == 0) GTEST_SKIP() << "shares no memory";
  const size_t bytes = owner.fragment_bytes_max();
  std::vector<int> all;
  std::vector<int> half;
  for (int run = owner.take(bytes, {}); run >= 0; run = owner.take(bytes, {})) all.push_back(run);
  for (const int run : all) reader.release(2, run, 2);
  // The pool is empty again, but the marks may be read late.
  const auto take = [&](size_t bytes_left) {
    int run = -1;
    for (int i = 0; i < 200 && run < 0; ++i) run = owner.take(bytes, {.bytes_left = bytes_left});
    return run;
  };
  const size_t everything = 8 * bytes;  // means half of the pool
  for (int run = take(everything); run >= 0; run = take(everything)) half.push_back(run);
  EXPECT_FALSE(half.empty());
  EXPECT_LE(half.size(), (all.size() + 1) / 2);
  for (int run = take(0); run >= 0; run = take(0)) half.push_back(run);
  EXPECT_EQ(half.size(), all.size()) << "without a condition the rest is there";
  reader.release(2, half.back(), 2);
  EXPECT_EQ(take(everything), -1);
  EXPECT_EQ(take(0), half.back());
}

// As in p2p/recycled_buffers.h: the receiver fills a bounce buffer that it has emptied, and the owner marks
// it free.
TEST_P(TransportContract, a_buffer_may_return_with_an_answer) {
  transport::BounceBuffers& owner = job_.endpoint(2).bounce_buffers();
  transport::BounceBuffers& guest = job_.endpoint(0).bounce_buffers();
  if (owner.fragment_bytes_max() == 0) GTEST_SKIP() << "shares no memory";
  const size_t bytes = owner.fragment_bytes_max();
  const int buffer = owner.take(bytes, {});
  ASSERT_GE(buffer, 0);
  const uint32_t question = owner.ticket(2, buffer);
  const uint32_t answer = guest.ticket(2, buffer);
  std::memset(guest.memory(2, buffer, bytes), 77, bytes);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(owner.returned(2, buffer, question));
    EXPECT_FALSE(guest.returned(2, buffer, answer));
  }
  EXPECT_EQ(owner.memory(2, buffer, bytes)[bytes - 1], std::byte{77});
  owner.release(2, buffer, 0);
  bool back = false;
  for (int i = 0; i < 200 && !back; ++i) back = guest.returned(2, buffer, answer);
  EXPECT_TRUE(back);
  for (back = false; !back;) back = owner.returned(2, buffer, question);
}

// Runs of all lengths, returned in any order: no two runs in use share a byte.
TEST_P(TransportContract, buffers_in_use_never_overlap) {
  transport::BounceBuffers& owner = job_.endpoint(1).bounce_buffers();
  if (owner.fragment_bytes_max() == 0) GTEST_SKIP() << "shares no memory";
  struct Run {
    int buffer;
    size_t bytes;
    std::byte fill;
  };
  std::vector<Run> out;
  int taken = 0;
  for (int step = 0; step < 5000; ++step) {
    const size_t bytes = 1 + random_() % owner.fragment_bytes_max();
    const int buffer = random_() % 2 == 0 ? owner.take(bytes, {.gap = random_() % 2 == 0}) : -1;
    if (buffer >= 0) {
      out.push_back({buffer, bytes, static_cast<std::byte>(step)});
      std::memset(owner.memory(1, buffer, bytes), step, bytes);
      ++taken;
    } else if (!out.empty()) {
      // Prefetching must not change runs in use.
      for (size_t ahead = random_() % 16; ahead > 0; --ahead)
        job_.endpoint(1).local_path().prefetch_buffer(random_() % (size_t{1} << 20));
      const size_t which = random_() % out.size();
      const Run run = out[which];
      const std::byte* seen = job_.endpoint(3).bounce_buffers().memory(1, run.buffer, run.bytes);
      ASSERT_TRUE(std::all_of(seen, seen + run.bytes, [&](std::byte at) { return at == run.fill; })) << step;
      job_.endpoint(3).bounce_buffers().release(1, run.buffer, 1);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  EXPECT_GT(taken, 500);
}

TEST_P(TransportContract, the_sender_hears_what_waits_unmatched) {
  transport::Transport& receiver = job_.endpoint(1);
  std::vector<Seen> arrived;
  uint32_t number = 0;
  const auto exchange = [&](int packets) {
    for (int i = 0; i < packets; ++i) {
      while (!send(job_.endpoint(0), 1, number, 40)) poll_both(arrived);
      ++number;
      poll_both(arrived);
    }
  };
  exchange(1);
  for (int i = 0; i < kPatience && arrived.empty(); ++i) poll_both(arrived);
  receiver.add_unexpected_bytes(0, 5 << 20);
  exchange(200);
  EXPECT_EQ(job_.endpoint(0).unexpected_kib_at(1), 5u << 10);
  receiver.add_unexpected_bytes(0, -(5 << 20));
  exchange(200);
  EXPECT_EQ(job_.endpoint(0).unexpected_kib_at(1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Implementations, TransportContract, testing::ValuesIn(cases({2, 3, 2})),
                         [](const auto& tested) { return case_name(tested.param); });

// Whole buffers besides the packets, in both directions, many at a time.
TEST(Buffers, go_straight_from_memory_to_memory) {
  const std::vector<Case> networks = network_cases(1);
  if (networks.empty()) GTEST_SKIP();
  Job job(networks[0], 2);
  constexpr uint32_t kBuffers = 20;
  std::vector<std::vector<std::byte>> from(kBuffers), to(kBuffers);
  std::vector<Seen> over[2];
  const auto header = [](uint8_t kind, uint32_t number) {
    return PacketHeader{PacketHeader::make_commit(kind, 0, 0, number), 0};
  };
  for (uint32_t number = 0; number < kBuffers; ++number) {
    from[number].resize(1 + number * 50'000);
    to[number].resize(from[number].size());
    for (size_t at = 0; at < from[number].size(); ++at) from[number][at] = pattern(number, at);
    const auto sender = static_cast<PeerIndex>(number % 2);
    const PeerIndex receiver = 1 - sender;
    ASSERT_TRUE(job.endpoint(receiver).buffer_transfers().reaches(sender));
    ASSERT_TRUE(job.endpoint(receiver).buffer_transfers().await(sender, number, to[number].data(),
                                                                to[number].size(), header(7, number)));
  }
  // A packet opens the connection, as between engines.
  for (const PeerIndex rank : {0, 1}) ASSERT_TRUE(send(job.endpoint(rank), 1 - rank, 0, 8));
  uint32_t sent = 0;
  size_t ended = 0;
  for (int looks = 0; ended < 2 * kBuffers + 2; ++looks) {
    ASSERT_LT(looks, 2'000'000) << "only " << ended << " are over";
    const uint32_t number = sent;
    if (sent < kBuffers && job.endpoint(static_cast<int>(number % 2))
                               .buffer_transfers()
                               .send(static_cast<PeerIndex>(1 - number % 2), number, from[number].data(),
                                     from[number].size(), header(8, number))) {
      ++sent;
    }
    for (const int rank : {0, 1}) job.endpoint(rank).poll(collect, &over[rank]);
    ended = over[0].size() + over[1].size();
  }
  EXPECT_EQ(from, to);
  for (const int rank : {0, 1}) {
    const auto came = [](const Seen& seen) { return seen.header.kind() == 7; };
    EXPECT_EQ(std::count_if(over[rank].begin(), over[rank].end(), came), kBuffers / 2);
    EXPECT_TRUE(job.endpoint(rank).quiet());
  }
}

/// Two processes on a network; skipped where there is none.
class Shutdown : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<Case> networks = network_cases(1);
    if (networks.empty()) GTEST_SKIP();
    job_ = std::make_unique<Job>(networks[0], 2);
  }
  transport::Network& first() { return static_cast<transport::Network&>(job_->endpoint(0)); }
  transport::Network& second() { return static_cast<transport::Network&>(job_->endpoint(1)); }
  void poll() {
    first().poll(collect, &seen_[0]);
    second().poll(collect, &seen_[1]);
  }
  /// Long enough for all announcements to arrive.
  void poll_often() {
    for (int polls = 0; polls < 20'000; ++polls) poll();
  }
  template <class Condition>
  void poll_until(const Condition& condition) {
    for (int polls = 0; !condition(); ++polls) {
      ASSERT_LT(polls, 2'000'000);
      poll();
    }
  }
  void poll_until_received(size_t packets) {
    poll_until([&] { return seen_[1].size() >= packets; });
  }
  void poll_until_both_left() {
    poll_until([&] { return first().has_left() && second().has_left(); });
  }

 private:
  std::unique_ptr<Job> job_;
  std::vector<Seen> seen_[2];
};

// A process that leaves may still have to answer others. It waits for them and for its answers all the same.
TEST_F(Shutdown, waits_for_packets_that_follow_the_announcement) {
  ASSERT_TRUE(send(first(), 1, 0, 8));
  poll_until_received(1);
  first().leave();
  ASSERT_TRUE(send(first(), 1, 1, 8));
  poll_until_received(2);
  EXPECT_FALSE(first().has_left()) << "the other process has not announced its shutdown";
  second().leave();
  poll_until_both_left();
  first().rejoin();
  second().rejoin();
  ASSERT_TRUE(send(first(), 1, 2, 8));
  poll_until_received(3);
}

// Otherwise a process that begins a session and dies before its first packet would count as finalized.
TEST_F(Shutdown, a_process_that_rejoins_withdraws_its_announcement) {
  ASSERT_TRUE(send(first(), 1, 0, 8));
  ASSERT_TRUE(send(second(), 0, 0, 8));
  poll_often();
  first().leave();
  poll_often();
  first().rejoin();
  poll_often();
  second().leave();
  poll_often();
  EXPECT_FALSE(second().has_left());
  first().leave();
  poll_until_both_left();
}

// Two processes whose sessions end and begin at different times: the second one seemed to have ended when the
// first one returned.
TEST_F(Shutdown, announcements_of_both_are_withdrawn) {
  ASSERT_TRUE(send(first(), 1, 0, 8));
  ASSERT_TRUE(send(second(), 0, 0, 8));
  poll_often();
  second().leave();
  first().leave();
  poll_often();
  first().rejoin();
  poll_often();
  second().rejoin();
  poll_often();
  second().leave();
  poll_often();
  EXPECT_FALSE(second().has_left()) << "the first process has not announced its shutdown again";
}

}  // namespace
}  // namespace hearth::contract
