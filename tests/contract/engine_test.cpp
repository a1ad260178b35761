// Point-to-point over every transport: several engines in one process, progressed in an order determined by a
// seed. In any order, messages must match as MPI requires and arrive whole.
#include "p2p/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "base/param.h"
#include "job.h"
#include "mpi.h"

namespace hearth::contract {
namespace {

using p2p::Engine;
using p2p::Received;
using p2p::Request;
using p2p::SendMode;

using Engines = std::vector<std::unique_ptr<Engine>>;

Engines make_engines(Job& job, int size, topo::Relation (*relation)(PeerIndex one, PeerIndex other)) {
  Engines engines;
  for (int rank = 0; rank < size; ++rank) {
    p2p::EngineSetup setup;
    setup.self = rank;
    setup.size = size;
    setup.transport = &job.endpoint(rank);
    setup.relation = [rank, relation](PeerIndex peer) {
      return peer == rank ? topo::Relation::self : relation(rank, peer);
    };
    setup.warn = [](const char* text) { ADD_FAILURE() << text; };
    engines.push_back(std::make_unique<Engine>(setup));
  }
  return engines;
}

topo::Relation share_a_cache(PeerIndex, PeerIndex) {
  return topo::Relation::l3;
}
// Pairs have different relations, so that each protocol is used by one of them.
topo::Relation of_both_kinds(PeerIndex one, PeerIndex other) {
  return one + other == 1 ? topo::Relation::package : topo::Relation::l3;
}

void make_byte(datatype::Type& type) {
  type.size = type.extent = type.true_extent = 1;
  type.committed = true;
}

class EngineContract : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kSize = 3;

  EngineContract() { make_byte(byte_); }

  Engine& engine(int rank) { return *engines_[static_cast<size_t>(rank)]; }
  void step() { engine(static_cast<int>(random_() % kSize)).progress_once(); }
  template <class Done>
  void run_until(Done done) {
    for (int steps = 0; !done(); ++steps) {
      ASSERT_LT(steps, 3'000'000) << "stuck";
      step();
    }
  }

  Job job_{GetParam(), kSize};
  std::mt19937 random_{GetParam().seed * 7919};
  datatype::Type byte_;
  Engines engines_ = make_engines(job_, kSize, of_both_kinds);
};

// A message begins with its number and length; a pattern follows.
std::vector<std::byte> make_message(uint32_t number, size_t bytes) {
  std::vector<std::byte> message(std::max<size_t>(bytes, 8));
  const uint32_t head[2] = {number, static_cast<uint32_t>(message.size())};
  std::memcpy(message.data(), head, sizeof head);
  for (size_t at = 8; at < message.size(); ++at) message[at] = static_cast<std::byte>(number * 17 + at * 3);
  return message;
}

testing::AssertionResult is_message(const std::byte* data, int64_t bytes, uint32_t number) {
  const std::vector<std::byte> expected = make_message(number, static_cast<size_t>(bytes));
  uint32_t head[2];
  std::memcpy(head, data, sizeof head);
  if (head[0] != number) return testing::AssertionFailure() << "number " << head[0] << ", not " << number;
  if (head[1] != static_cast<uint32_t>(bytes)) return testing::AssertionFailure() << "length " << head[1];
  if (std::memcmp(expected.data(), data, expected.size()) != 0)
    return testing::AssertionFailure() << "damaged";
  return testing::AssertionSuccess();
}

size_t some_length(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return 8 + random() % 60;
    case 1:
      return random() % 700;
    case 2:
      return random() % 6000;
    default:
      return random() % 300'000;
  }
}

struct Sent {
  Request* request;
  std::vector<std::byte> data;
};
struct Awaited {
  int rank;
  Request* request;
  std::vector<std::byte> data;
  int from;
  int tag;
  uint32_t number;  // of the expected message: the nth of its source and tag
};

TEST_P(EngineContract, messages_with_named_source_and_tag_match_in_order) {
  constexpr int kTags = 3;
  constexpr int kMessages = 700;
  constexpr size_t kRoom = 300'100;
  std::vector<std::unique_ptr<Sent>> sent;
  std::vector<std::unique_ptr<Awaited>> awaited;
  uint32_t next_sent[kSize][kSize][kTags] = {};
  uint32_t next_posted[kSize][kSize][kTags] = {};
  int started = 0;
  int received = 0;
  const SendMode modes[] = {SendMode::standard, SendMode::standard, SendMode::synchronous, SendMode::ready};
  for (int steps = 0; received < kMessages; ++steps) {
    ASSERT_LT(steps, 5'000'000) << "stuck with " << received << " received of " << started;
    const int rank = static_cast<int>(random_() % kSize);
    const int other = static_cast<int>(random_() % kSize);
    const int tag = static_cast<int>(random_() % kTags);
    const auto action = random_() % 8;
    if (action == 0 && started < kMessages) {
      auto message = std::make_unique<Sent>();
      message->data = make_message(next_sent[rank][other][tag]++, some_length(random_));
      ASSERT_TRUE(engine(rank)
                      .isend(message->data.data(), static_cast<Count>(message->data.size()), byte_, other,
                             tag, 6, message->request, modes[random_() % 4])
                      .ok());
      sent.push_back(std::move(message));
      ++started;
    } else if (action == 1 && next_posted[rank][other][tag] < next_sent[other][rank][tag]) {
      auto receive = std::make_unique<Awaited>();
      receive->rank = rank;
      receive->from = other;
      receive->tag = tag;
      receive->data.resize(kRoom);
      receive->number = next_posted[rank][other][tag]++;
      ASSERT_TRUE(
          engine(rank).ireceive(receive->data.data(), kRoom, byte_, other, tag, 6, receive->request).ok());
      awaited.push_back(std::move(receive));
    } else {
      step();
    }
    std::erase_if(awaited, [&](std::unique_ptr<Awaited>& receive) {
      if (!receive->request->complete) return false;
      EXPECT_TRUE(receive->request->outcome.ok());
      EXPECT_EQ(receive->request->from, receive->from);
      EXPECT_EQ(receive->request->received_tag, receive->tag);
      EXPECT_TRUE(is_message(receive->data.data(), receive->request->received_bytes, receive->number));
      engine(receive->rank).requests().destroy(receive->request);
      ++received;
      return true;
    });
    if (testing::Test::HasFailure()) return;
  }
  run_until([&] {
    for (auto& message : sent) {
      if (!message->request->complete) return false;
    }
    return true;
  });
  for (auto& message : sent) EXPECT_TRUE(message->request->outcome.ok());
}

TEST_P(EngineContract, the_nth_receive_gets_the_nth_message) {
  constexpr int kMessages = 60;
  std::vector<std::vector<std::byte>> data;
  std::vector<std::vector<std::byte>> room(kMessages, std::vector<std::byte>(300'100));
  std::vector<Request*> requests(kMessages);
  std::vector<Request*> sends(kMessages);
  for (int n = 0; n < kMessages; ++n)
    data.push_back(make_message(static_cast<uint32_t>(n), some_length(random_)));
  // Some receives are posted before their messages, some after.
  int posted = 0;
  const auto post = [&] {
    ASSERT_TRUE(engine(2)
                    .ireceive(room[static_cast<size_t>(posted)].data(), 300'100, byte_,
                              posted % 3 == 0 ? MPI_ANY_SOURCE : 0, posted % 4 == 0 ? MPI_ANY_TAG : 9, 4,
                              requests[static_cast<size_t>(posted)])
                    .ok());
    ++posted;
  };
  for (int n = 0; n < kMessages; ++n) {
    if (random_() % 2 == 0) post();
    const auto at = static_cast<size_t>(n);
    ASSERT_TRUE(engine(0)
                    .isend(data[at].data(), static_cast<Count>(data[at].size()), byte_, 2, 9, 4, sends[at])
                    .ok());
    for (auto steps = random_() % 20; steps > 0; --steps) step();
  }
  while (posted < kMessages) post();
  run_until(
      [&] { return std::all_of(requests.begin(), requests.end(), [](Request* r) { return r->complete; }); });
  for (int n = 0; n < kMessages; ++n) {
    const auto at = static_cast<size_t>(n);
    EXPECT_TRUE(is_message(room[at].data(), requests[at]->received_bytes, static_cast<uint32_t>(n)));
    EXPECT_EQ(requests[at]->from, 0);
    EXPECT_EQ(requests[at]->received_tag, 9);
  }
}

TEST_P(EngineContract, contexts_are_apart) {
  std::vector<std::byte> one = make_message(1, 100);
  std::vector<std::byte> two = make_message(2, 100);
  Request* sends[2];
  ASSERT_TRUE(engine(0).isend(one.data(), 100, byte_, 1, 5, 4, sends[0]).ok());
  ASSERT_TRUE(engine(0).isend(two.data(), 100, byte_, 1, 5, 8, sends[1]).ok());
  std::vector<std::byte> room(100);
  Request* request;
  ASSERT_TRUE(engine(1).ireceive(room.data(), 100, byte_, MPI_ANY_SOURCE, MPI_ANY_TAG, 8, request).ok());
  run_until([&] { return request->complete; });
  EXPECT_TRUE(is_message(room.data(), 100, 2));
}

TEST_P(EngineContract, a_longer_message_is_cut_and_told) {
  for (const size_t bytes : {50u, 500u, 5000u, 200'000u}) {
    std::vector<std::byte> message = make_message(3, bytes);
    Request* sending;
    ASSERT_TRUE(engine(0).isend(message.data(), static_cast<Count>(bytes), byte_, 1, 5, 4, sending).ok());
    std::vector<std::byte> room(bytes, std::byte{0x77});
    Request* request;
    const auto half = static_cast<Count>(bytes / 2);
    ASSERT_TRUE(engine(1).ireceive(room.data(), half, byte_, 0, 5, 4, request).ok());
    run_until([&] { return request->complete && sending->complete; });
    EXPECT_EQ(request->outcome.error_class(), MPI_ERR_TRUNCATE);
    EXPECT_EQ(request->received_bytes, half);
    EXPECT_EQ(std::memcmp(room.data(), message.data(), static_cast<size_t>(half)), 0);
    EXPECT_EQ(room[static_cast<size_t>(half)], std::byte{0x77}) << "wrote behind the buffer";
    engine(1).requests().destroy(request);
  }
}

TEST_P(EngineContract, a_synchronous_send_waits_for_its_receive) {
  for (const size_t bytes : {8u, 400u, 100'000u}) {
    std::vector<std::byte> message = make_message(4, bytes);
    Request* sending;
    ASSERT_TRUE(
        engine(2)
            .isend(message.data(), static_cast<Count>(bytes), byte_, 1, 5, 4, sending, SendMode::synchronous)
            .ok());
    for (int i = 0; i < 2000; ++i) step();
    EXPECT_FALSE(sending->complete);
    std::vector<std::byte> room(bytes);
    Request* request;
    ASSERT_TRUE(engine(1).ireceive(room.data(), static_cast<Count>(bytes), byte_, 2, 5, 4, request).ok());
    run_until([&] { return request->complete && sending->complete; });
    EXPECT_TRUE(is_message(room.data(), static_cast<int64_t>(bytes), 4));
  }
}

TEST_P(EngineContract, probing_shows_and_matched_probing_takes) {
  std::vector<std::byte> first = make_message(1, 300);
  std::vector<std::byte> second = make_message(2, 50'000);
  Request* sends[2];
  ASSERT_TRUE(engine(0).isend(first.data(), 300, byte_, 1, 5, 4, sends[0]).ok());
  ASSERT_TRUE(engine(0).isend(second.data(), 50'000, byte_, 1, 5, 4, sends[1]).ok());
  Received found;
  run_until([&] { return engine(1).probes().iprobe(MPI_ANY_SOURCE, 5, 4, found); });
  EXPECT_EQ(found.bytes, 300);
  EXPECT_EQ(found.from, 0);
  p2p::UnexpectedMessage* taken = engine(1).probes().improbe(0, MPI_ANY_TAG, 4, found);
  ASSERT_NE(taken, nullptr);
  run_until([&] { return engine(1).probes().iprobe(0, 5, 4, found); });
  EXPECT_EQ(found.bytes, 50'000) << "the matched message must be out of the way";
  std::vector<std::byte> room(50'000);
  Request* later;
  ASSERT_TRUE(engine(1).ireceive(room.data(), 50'000, byte_, 0, 5, 4, later).ok());
  std::vector<std::byte> first_room(300);
  Request* matched = engine(1).requests().create(p2p::RequestKind::receive);
  matched->buffer = first_room.data();
  matched->count = 300;
  matched->type = &byte_;
  ++byte_.references;
  engine(1).start_matched(*matched, taken);
  run_until([&] { return later->complete && matched->complete; });
  EXPECT_TRUE(is_message(room.data(), 50'000, 2));
  EXPECT_TRUE(is_message(first_room.data(), 300, 1));
}

TEST_P(EngineContract, a_cancelled_receive_leaves_the_message_to_the_next) {
  std::vector<std::byte> room(100);
  std::vector<std::byte> other(100);
  Request* cancelled;
  Request* next;
  ASSERT_TRUE(engine(1).ireceive(room.data(), 100, byte_, 0, 5, 4, cancelled).ok());
  ASSERT_TRUE(engine(1).ireceive(other.data(), 100, byte_, 0, 5, 4, next).ok());
  EXPECT_TRUE(engine(1).cancel(*cancelled));
  EXPECT_TRUE(cancelled->complete);
  EXPECT_TRUE(cancelled->cancelled);
  std::vector<std::byte> message = make_message(9, 100);
  Request* sending;
  ASSERT_TRUE(engine(0).isend(message.data(), 100, byte_, 1, 5, 4, sending).ok());
  run_until([&] { return next->complete; });
  EXPECT_TRUE(is_message(other.data(), 100, 9));
  EXPECT_FALSE(engine(1).cancel(*next)) << "it has matched";
}

TEST_P(EngineContract, an_engine_is_quiet_when_all_has_left) {
  std::vector<std::byte> message = make_message(9, 200'000);
  Request* sending;
  ASSERT_TRUE(engine(0).isend(message.data(), 200'000, byte_, 1, 5, 4, sending).ok());
  engine(0).requests().release(sending);
  EXPECT_FALSE(engine(0).quiet());
  std::vector<std::byte> room(200'000);
  Request* request;
  ASSERT_TRUE(engine(1).ireceive(room.data(), 200'000, byte_, 0, 5, 4, request).ok());
  run_until([&] { return request->complete && engine(0).quiet() && engine(1).quiet(); });
  EXPECT_TRUE(is_message(room.data(), 200'000, 9));
}

// Recycled buffers (p2p/recycled_buffers.h) whose owner is short of bounce buffers: a pool of 16, a message
// of two fragments, and a receiver that has sent before and so may keep the buffers that it empties.
class RecycledBuffersContract : public testing::Test {
 protected:
  static constexpr int kSize = 3;
  static constexpr Count kBufferBytes = 2048;
  static constexpr int kBuffers = 16;
  static constexpr Count kTwoParts = 3000;
  static constexpr uint32_t kContext = 4;

  static shm::SegmentPlan plan() {
    shm::SegmentPlan plan;
    plan.rank_count = kSize;
    plan.ring_lines = 64;
    plan.buffer_bytes = kBufferBytes;
    plan.buffer_count = kBuffers;
    return plan;
  }
  RecycledBuffersContract() { make_byte(byte_); }

  Engine& engine(int rank) { return *engines_[static_cast<size_t>(rank)]; }
  void move_on(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < kSize; ++rank) engine(rank).progress_once();
    }
  }
  Request* send(int from, int to, uint32_t number, Count bytes) {
    sent_.push_back(make_message(number, static_cast<size_t>(bytes)));
    Request* request = nullptr;
    EXPECT_TRUE(engine(from).isend(sent_.back().data(), bytes, byte_, to, 0, kContext, request).ok());
    return request;
  }
  Request* post(int rank, int from, std::byte* room, Count bytes) {
    Request* request = nullptr;
    EXPECT_TRUE(engine(rank).ireceive(room, bytes, byte_, from, 0, kContext, request).ok());
    return request;
  }
  bool comes(const Request& request) {
    for (int round = 0; round < 1000 && !request.complete; ++round) move_on(1);
    return request.complete;
  }
  void let_go(int rank, Request* request) {
    if (request != engine(rank).requests().completed_send()) engine(rank).requests().release(request);
  }
  testing::AssertionResult receive(int rank, int from, uint32_t number, Count bytes) {
    std::vector<std::byte> room(static_cast<size_t>(bytes));
    Request* request = post(rank, from, room.data(), bytes);
    if (!comes(*request)) return testing::AssertionFailure() << "message " << number << " does not come";
    let_go(rank, request);
    return is_message(room.data(), bytes, number);
  }
  void allow_one_part_under_way(int rank) {
    tune::Hints hints;
    const std::vector<std::pair<std::string, std::string>> wish = {{"hearth_p2p_fragments_in_flight", "1"},
                                                                   {"hearth_p2p_fragment_bytes_max", "2K"}};
    ASSERT_TRUE(hints.read(wish).ok());
    engine(rank).pairs().set_hints(kContext, hints);
  }

  Job job_{plan()};
  datatype::Type byte_;
  Engines engines_ = make_engines(job_, kSize, share_a_cache);
  std::deque<std::vector<std::byte>> sent_;
};

TEST_F(RecycledBuffersContract, come_back_to_a_sender_whose_others_are_all_away) {
  let_go(1, send(1, 0, 1, kTwoParts));
  ASSERT_TRUE(receive(0, 1, 1, kTwoParts));
  // All bounce buffers but one are in use.
  transport::BounceBuffers& runs = job_.endpoint(0).bounce_buffers();
  for (int buffer = 0; buffer < kBuffers - 1; ++buffer) ASSERT_EQ(runs.take(1, {}), buffer);
  Request* sending = send(0, 1, 2, kTwoParts);
  EXPECT_TRUE(receive(1, 0, 2, kTwoParts));
  EXPECT_TRUE(sending->complete);
  EXPECT_TRUE(runs.returned(0, kBuffers - 1, 1)) << "it was kept";
  let_go(0, sending);
}

// Messages for which a rank posts no receive must leave bounce buffers to a message that is matched.
TEST_F(RecycledBuffersContract, unmatched_messages_leave_buffers_to_matched_ones) {
  std::vector<Request*> waiting;
  for (uint32_t number = 1; number < 9; ++number) waiting.push_back(send(0, 2, number, 2 * kBufferBytes));
  move_on(100);
  std::vector<int> others;
  transport::BounceBuffers& runs = job_.endpoint(0).bounce_buffers();
  for (int run = runs.take(1, {}); run >= 0; run = runs.take(1, {})) others.push_back(run);
  EXPECT_EQ(others.size(), kBuffers / 2u);
  for (const int run : others) runs.release(0, run, 0);
  for (uint32_t number = 1; number < 9; ++number) EXPECT_TRUE(receive(2, 0, number, 2 * kBufferBytes));
  for (Request* request : waiting) let_go(0, request);
}

// The same if the message may have no more fragments in flight, although bounce buffers are free.
TEST_F(RecycledBuffersContract, come_back_to_a_sender_that_may_have_no_more_under_way) {
  allow_one_part_under_way(0);
  let_go(1, send(1, 0, 1, kTwoParts));
  ASSERT_TRUE(receive(0, 1, 1, kTwoParts));
  Request* sending = send(0, 1, 2, kTwoParts);
  EXPECT_TRUE(receive(1, 0, 2, kTwoParts));
  EXPECT_TRUE(sending->complete);
  let_go(0, sending);
}

// A recycled buffer returns with an answer in it and belongs to its owner again.
TEST_F(RecycledBuffersContract, carry_the_answers) {
  for (uint32_t number = 1; number < 200; number += 2) {
    Request* asking = send(0, 1, number, kTwoParts);
    ASSERT_TRUE(receive(1, 0, number, kTwoParts));
    Request* answering = send(1, 0, number + 1, kTwoParts);
    ASSERT_TRUE(receive(0, 1, number + 1, kTwoParts));
    let_go(0, asking);
    let_go(1, answering);
  }
  int used = 0;
  for (int rank = 0; rank < 2; ++rank) {
    for (uint32_t buffer = 0; buffer < kBuffers; ++buffer)
      used += job_.segment().buffer_mark(rank, buffer) != 0;
  }
  EXPECT_LT(used, kBuffers / 2)
      << "a pool gives its buffers in turn: fragments travel in new ones instead of recycled ones";
}

// Two ranks exchange messages through five bounce buffers, of which each rank recycles some for its answers,
// while notifications arrive late: all messages arrive. A rank may fill a buffer with an answer before it
// learns that the owner, which may have no more fragments in flight, wants it back.
TEST(FewBuffers, messages_come_both_ways) {
  constexpr Count kLongest = 500;
  constexpr uint32_t kMessages = 60;
  constexpr uint32_t kContext = 4;
  param::disturb(param::Id::p2p_eager_bytes_max, 64);
  datatype::Type byte;
  make_byte(byte);
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Job job({Kind::fake, seed}, 2);
    std::mt19937 random(seed * 104'729);
    const Engines engines = make_engines(job, 2, share_a_cache);
    for (const auto& engine : engines) {
      tune::Hints hints;
      const std::vector<std::pair<std::string, std::string>> wish = {
          {"hearth_p2p_fragments_in_flight", std::to_string(1 + random() % 3)},
          {"hearth_p2p_fragment_bytes_max", std::to_string(60 + random() % 200)}};
      ASSERT_TRUE(hints.read(wish).ok());
      engine->pairs().set_hints(kContext, hints);
    }
    std::deque<std::vector<std::byte>> sent[2], rooms[2];
    std::vector<Request*> sending[2], receiving[2];
    const auto left = [](const std::vector<Request*>& requests) {
      return std::count_if(requests.begin(), requests.end(),
                           [](const Request* one) { return !one->complete; });
    };
    const auto is_over = [&](int rank) {
      return receiving[rank].size() == kMessages && left(receiving[rank]) == 0 && left(sending[rank]) == 0;
    };
    for (int steps = 0; !is_over(0) || !is_over(1); ++steps) {
      ASSERT_LT(steps, 100'000) << "stuck with " << left(sending[0]) << " and " << left(sending[1])
                                << " sends";
      const int rank = static_cast<int>(random() % 2);
      Engine& engine = *engines[static_cast<size_t>(rank)];
      Request* request = nullptr;
      const uint32_t action = random() % 4;
      if (action == 0 && sending[rank].size() < kMessages && left(sending[rank]) < 2) {
        sent[rank].push_back(
            make_message(static_cast<uint32_t>(sending[rank].size()), 65 + random() % (kLongest - 65)));
        ASSERT_TRUE(engine
                        .isend(sent[rank].back().data(), static_cast<Count>(sent[rank].back().size()), byte,
                               1 - rank, 0, kContext, request)
                        .ok());
        sending[rank].push_back(request);
      } else if (action == 1 && receiving[rank].size() < kMessages && left(receiving[rank]) < 2) {
        rooms[rank].emplace_back(kLongest);
        ASSERT_TRUE(
            engine.ireceive(rooms[rank].back().data(), kLongest, byte, 1 - rank, 0, kContext, request).ok());
        receiving[rank].push_back(request);
      } else {
        engine.progress_once();
      }
    }
    for (int rank = 0; rank < 2; ++rank) {
      for (uint32_t number = 0; number < kMessages; ++number) {
        EXPECT_TRUE(is_message(rooms[rank][number].data(), receiving[rank][number]->received_bytes, number));
        engines[static_cast<size_t>(rank)]->requests().release(receiving[rank][number]);
        engines[static_cast<size_t>(rank)]->requests().release(sending[rank][number]);
      }
    }
  }
  ASSERT_TRUE(param::set_number(static_cast<size_t>(param::Id::p2p_eager_bytes_max), param::kAutomatic));
}

INSTANTIATE_TEST_SUITE_P(Implementations, EngineContract, testing::ValuesIn(cases({2, 4, 2})),
                         [](const auto& tested) { return case_name(tested.param); });

}  // namespace
}  // namespace hearth::contract
