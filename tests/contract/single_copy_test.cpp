// Single copy: each method fulfils its contract, and whatever a method does or refuses, at any time, messages
// arrive whole. The engines are in one process; their methods are ordinary copies, which a test can refuse.
#include "single_copy/single_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/os_process.h"
#include "job.h"
#include "mpi.h"
#include "p2p/cma_access.h"
#include "p2p/engine.h"
#include "tune/threshold.h"

namespace hearth::contract {
namespace {

using p2p::Engine;
using p2p::Request;
using single_copy::Method;
using single_copy::Target;

// The methods themselves, within this process and between this process and a child.

uint64_t address_of(const void* place) {
  return reinterpret_cast<uint64_t>(place);
}

class MethodContract : public testing::TestWithParam<Method& (*)()> {
 protected:
  Method& method() { return GetParam()(); }
  Target own_process() const { return {os::process_id(), address_of(&word_), word_}; }

  uint64_t word_ = 0x0123456789abcdef;
};

TEST_P(MethodContract, a_probe_finds_the_word_and_leaves_it) {
  const Target target = own_process();
  EXPECT_TRUE(method().probe_read(target));
  EXPECT_TRUE(method().probe_write(target));
  EXPECT_EQ(word_, target.probe_word);
}

TEST_P(MethodContract, a_probe_refuses_what_is_not_that_process) {
  Target other = own_process();
  other.probe_word ^= 1;
  EXPECT_FALSE(method().probe_read(other));
  Target no_process = own_process();
  no_process.pid = 0;
  EXPECT_FALSE(method().probe_read(no_process));
  Target nowhere = own_process();
  nowhere.probe_address = 8;
  EXPECT_FALSE(method().probe_read(nowhere));
}

TEST_P(MethodContract, it_moves_these_bytes_and_no_others) {
  const Target target = own_process();
  ASSERT_TRUE(method().probe_read(target));
  std::mt19937 random(11);
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{4096}, size_t{70'001}, size_t{3'500'003}}) {
    for (const bool write : {false, true}) {
      const size_t from_at = random() % 100;
      const size_t to_at = 1 + random() % 100;
      std::vector<uint8_t> from(from_at + bytes);
      for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
      std::vector<uint8_t> to(to_at + bytes + 1, 0x5a);
      EXPECT_TRUE(write ? method().write(target, address_of(to.data() + to_at), from.data() + from_at, bytes)
                        : method().read(target, to.data() + to_at, address_of(from.data() + from_at), bytes));
      EXPECT_EQ(std::memcmp(to.data() + to_at, from.data() + from_at, bytes), 0);
      EXPECT_EQ(to[to_at - 1], 0x5a);
      EXPECT_EQ(to.back(), 0x5a);
    }
  }
}

TEST_P(MethodContract, it_reaches_another_process_until_that_ends) {
  os::Pipe end;
  ASSERT_TRUE(os::make_pipe(end));
  uint64_t place = 1;
  const int child = os::fork_process();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char none;
    end.write_end.reset();
    static_cast<void>(os::read_some(end.read_end.number(), &none, 1));
    os::end_process(place == 3 ? 0 : 1);
  }
  const Target target = {child, address_of(&word_), word_};
  EXPECT_TRUE(method().probe_read(target));
  EXPECT_TRUE(method().probe_write(target));
  const uint64_t three = 3;
  EXPECT_TRUE(method().write(target, address_of(&place), &three, sizeof three));
  uint64_t seen = 0;
  EXPECT_TRUE(method().read(target, &seen, address_of(&place), sizeof seen));
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(place, 1u) << "it wrote here";
  const os::Descriptor process = os::open_process(child);
  const auto is_gone = [&process] { return process.open() && os::is_gone(process); };
  EXPECT_FALSE(is_gone());
  end.write_end.reset();
  os::ProcessEnd how;
  while (!os::has_ended(child, how)) {
  }
  EXPECT_EQ(how.code, 0);
  EXPECT_EQ(is_gone(), process.open()) << "it still has a number, but runs no more";
  EXPECT_FALSE(method().read(target, &seen, address_of(&place), sizeof seen));
  EXPECT_FALSE(method().write(target, address_of(&place), &three, sizeof three));
  os::reap(child);
  EXPECT_EQ(is_gone(), process.open());
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodContract, testing::Values(&single_copy::cma),
                         [](const auto& tested) { return std::string(tested.param().name()); });

// Engines with methods that may refuse.

class MayRefuse final : public Method {
 public:
  const char* name() const override { return "may refuse"; }
  bool takes_lock() const override { return true; }
  bool probe_read(const Target&) override { return reads_left != 0; }
  bool probe_write(const Target&) override { return writes_left != 0; }
  bool read(const Target&, void* to, uint64_t from, size_t bytes) override {
    return move(to, reinterpret_cast<const void*>(from), bytes, reads_left, reads);
  }
  bool write(const Target&, uint64_t to, const void* from, size_t bytes) override {
    return move(reinterpret_cast<void*>(to), from, bytes, writes_left, writes);
  }

  int reads_left = -1;  // -1: any number
  int writes_left = -1;
  int reads = 0;
  int writes = 0;

 private:
  // A refused copy is half done.
  static bool move(void* to, const void* from, size_t bytes, int& left, int& done) {
    const bool refused = left == 0;
    std::memcpy(to, from, refused ? bytes / 2 : bytes);
    if (refused) return false;
    if (left > 0) --left;
    ++done;
    return true;
  }
};

enum class Way { read, write, together, measured };

class SingleCopyEngines : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kSize = 2;
  static constexpr int kTag = 5;
  static constexpr uint32_t kContext = 4;

  SingleCopyEngines() {
    byte_.size = byte_.extent = byte_.true_extent = 1;
    byte_.committed = true;
    shm::SegmentPlan plan;
    plan.rank_count = kSize;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    HEARTH_CHECK(shm::Segment::create(plan, segment_).ok());
    for (int rank = 0; rank < kSize; ++rank) nodes_.emplace_back(segment_, rank);
  }
  ~SingleCopyEngines() override { tune::use({}); }

  void start(Way way, uint64_t cma_accesses = 8) {
    using param::Id;
    const auto from = [way](Way wanted) { return way == wanted ? 0 : tune::kNever; };
    const std::vector<tune::Tuned> limits = {
        {Id::p2p_single_copy_bytes_min, topo::Relation::l3, way == Way::measured ? tune::kNever : 1},
        {Id::p2p_single_copy_measured_bytes_min, topo::Relation::l3, from(Way::measured)},
        {Id::p2p_single_copy_write_bytes_min, topo::Relation::l3, from(Way::write)},
        {Id::p2p_single_copy_cooperative_bytes_min, topo::Relation::l3, from(Way::together)},
        {Id::p2p_single_copy_readers, topo::Relation::l3, cma_accesses}};
    tune::use(limits);
    warnings = 0;
    engines_.clear();
    for (int rank = 0; rank < kSize; ++rank) {
      p2p::EngineSetup setup;
      setup.self = rank;
      setup.size = kSize;
      setup.transport = &job_.endpoint(rank);
      setup.relation = [](PeerIndex) { return topo::Relation::l3; };
      setup.node = &nodes_[static_cast<size_t>(rank)];
      setup.methods = {&methods_[static_cast<size_t>(rank)]};
      setup.warn = [](const char*) { ++warnings; };
      engines_.push_back(std::make_unique<Engine>(setup));
    }
  }

  Engine& engine(int rank) { return *engines_[static_cast<size_t>(rank)]; }
  MayRefuse& method(int rank) { return methods_[static_cast<size_t>(rank)]; }
  shm::CopyControlBlock& control_block(int rank) {
    return nodes_[static_cast<size_t>(rank)].block().control_block;
  }
  void step() { engine(static_cast<int>(random_() % kSize)).progress(); }
  template <class Done>
  void run_until(Done done) {
    for (int steps = 0; !done(); ++steps) {
      ASSERT_LT(steps, 3'000'000) << "stuck";
      step();
    }
  }

  std::vector<std::byte> draw(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random_());
    return data;
  }

  // Sends one message from rank 0 to rank 1; the receive is posted before or after.
  void exchange(size_t bytes) {
    const std::vector<std::byte> data = draw(bytes);
    std::vector<std::byte> room(bytes + 1, std::byte{0x77});
    Request* sending = nullptr;
    Request* receiving = nullptr;
    const bool posted_first = random_() % 2 == 0;
    const auto post = [&] {
      ASSERT_TRUE(engine(1)
                      .ireceive(room.data(), static_cast<Count>(bytes), byte_, 0, kTag, kContext, receiving)
                      .ok());
    };
    if (posted_first) post();
    ASSERT_TRUE(engine(0)
                    .isend(data.data(), static_cast<Count>(bytes), byte_, 1, kTag, kContext, sending,
                           random_() % 2 == 0 ? p2p::SendMode::standard : p2p::SendMode::synchronous)
                    .ok());
    if (!posted_first) {
      for (int i = 0; i < 20; ++i) step();
      post();
    }
    run_until([&] { return receiving->complete && sending->complete; });
    EXPECT_TRUE(receiving->outcome.ok());
    EXPECT_EQ(std::memcmp(room.data(), data.data(), bytes), 0);
    EXPECT_EQ(room[bytes], std::byte{0x77});
    engine(1).requests().destroy(receiving);
    engine(0).requests().destroy(sending);
  }

  // Sends a packet that no engine sends.
  void send_damaged(int from, int to, uint8_t flags, uint32_t cookie,
                    const p2p::CooperativeRequest& cooperative_request) {
    transport::Transport& transport = job_.endpoint(from);
    std::byte* line = nullptr;
    Status status;
    while ((line = transport.claim(to, sizeof cooperative_request, status)) == nullptr) step();
    std::memcpy(line, &cooperative_request, sizeof cooperative_request);
    transport.commit(to, static_cast<uint8_t>(p2p::PacketKind::cooperative_request), flags,
                     sizeof cooperative_request, cookie, 0);
  }

  inline static int warnings = 0;
  Job job_{GetParam(), kSize};
  std::mt19937 random_{GetParam().seed * 104729};
  datatype::Type byte_;
  shm::Segment segment_;
  std::deque<shm::Node> nodes_;
  std::vector<MayRefuse> methods_{kSize};
  std::vector<std::unique_ptr<Engine>> engines_;
};

constexpr size_t kLong = 100'000;

// Exact counts, over rings that have room.
class SingleCopyChoices : public SingleCopyEngines {};

TEST_P(SingleCopyChoices, the_receiver_reads) {
  start(Way::read);
  for (int n = 1; n <= 5; ++n) {
    exchange(kLong);
    EXPECT_EQ(method(1).reads, n);
  }
  EXPECT_EQ(engine(1).counters().single_copies, 5u);
  EXPECT_EQ(engine(0).counters().bytes_copied_by_sender, 0u);
  EXPECT_EQ(method(0).writes, 0);
}

TEST_P(SingleCopyChoices, the_sender_writes_where_that_is_chosen) {
  start(Way::write);
  for (int n = 1; n <= 5; ++n) {
    exchange(kLong);
    EXPECT_EQ(method(0).writes, n);
  }
  EXPECT_EQ(engine(1).counters().single_copies, 5u);
  EXPECT_EQ(engine(1).counters().single_copy_bytes, 5 * kLong);
  EXPECT_EQ(engine(0).counters().bytes_copied_by_sender, 5 * kLong);
  EXPECT_EQ(method(1).reads, 0);
}

TEST_P(SingleCopyChoices, a_sender_that_does_not_come_is_not_waited_for) {
  start(Way::together);
  exchange(kLong);
  EXPECT_GT(method(1).reads, 1) << "in pieces";
  EXPECT_EQ(engine(1).counters().cooperative_requests, 1u);
  EXPECT_EQ(engine(1).counters().single_copies, 1u);
}

TEST_P(SingleCopyChoices, the_receiver_measures_bounce_buffers_and_then_single_copy) {
  start(Way::measured);
  exchange(kLong);
  EXPECT_EQ(method(1).reads, 0);
  exchange(kLong);
  EXPECT_EQ(method(1).reads, 1);
  for (int n = 3; n <= 100; ++n) exchange(kLong);
  EXPECT_GT(method(1).reads, 1) << "each way is tried again from time to time";
  EXPECT_LT(method(1).reads, 99);
  EXPECT_EQ(engine(1).counters().single_copies, static_cast<uint64_t>(method(1).reads));
}

TEST_P(SingleCopyChoices, a_refused_trial_ends_in_bounce_buffers) {
  start(Way::measured);
  method(1).reads_left = method(0).writes_left = 0;
  for (int n = 1; n <= 30; ++n) exchange(kLong);
  EXPECT_EQ(engine(1).counters().single_copies, 0u);
}

TEST_P(SingleCopyChoices, where_reading_is_refused_the_sender_writes) {
  for (const Way way : {Way::read, Way::together}) {
    method(1).reads_left = 0;
    method(0).writes = 0;
    start(way);
    exchange(kLong);
    exchange(kLong);
    EXPECT_EQ(method(0).writes, 2);
    EXPECT_EQ(engine(1).counters().single_copies, 2u);
  }
}

TEST_P(SingleCopyChoices, a_refusal_half_way_loses_nothing) {
  for (const Way way : {Way::read, Way::together}) {
    method(1).reads_left = 3;
    method(0).writes_left = 2;
    start(way);
    for (int n = 0; n < 8; ++n) exchange(kLong);
    EXPECT_EQ(method(1).reads_left, 0);
    EXPECT_EQ(method(0).writes_left, 0);
  }
  EXPECT_EQ(warnings, 0);
}

TEST_P(SingleCopyChoices, where_writing_is_refused_the_receiver_reads_from_then_on) {
  method(0).writes_left = 0;
  start(Way::write);
  exchange(kLong);
  EXPECT_EQ(engine(1).counters().single_copies, 0u) << "the first one came through bounce buffers";
  exchange(kLong);
  exchange(kLong);
  EXPECT_EQ(engine(1).counters().single_copies, 2u);
  EXPECT_EQ(method(1).reads, 2);
  EXPECT_EQ(engine(1).counters().cooperative_requests, 1u) << "asked once, and never again";
}

TEST_P(SingleCopyChoices, where_both_are_refused_it_is_no_longer_offered) {
  method(0).writes_left = 0;
  method(1).reads_left = 0;
  start(Way::read);
  for (int n = 0; n < 4; ++n) exchange(kLong);
  EXPECT_EQ(engine(1).counters().single_copies, 0u);
  EXPECT_EQ(engine(1).counters().cooperative_requests, 1u);
}

TEST_P(SingleCopyChoices, more_cma_accesses_than_allowed_go_through_bounce_buffers) {
  start(Way::read, 2);
  control_block(0).cma_accesses[0] = 8;
  control_block(0).cma_accesses[1] = 9;
  exchange(kLong);
  EXPECT_EQ(method(1).reads, 0);
  EXPECT_EQ(p2p::CmaAccess::count(control_block(0)), 2);
  p2p::CmaAccess::end_of(control_block(0), 6);
  p2p::CmaAccess::end_of(control_block(0), 8);
  exchange(kLong);
  EXPECT_EQ(method(1).reads, 1) << "it must be offered again";
  EXPECT_EQ(p2p::CmaAccess::count(control_block(0)), 1);
  EXPECT_EQ(control_block(0).cma_accesses[0], 8u);
  start(Way::write, 1);
  control_block(1).cma_accesses[0] = 9;
  exchange(kLong);
  EXPECT_EQ(method(0).writes, 0);
  p2p::CmaAccess::end_of(control_block(1), 8);
  exchange(kLong);
  EXPECT_EQ(method(0).writes, 1);
  EXPECT_EQ(p2p::CmaAccess::count(control_block(1)), 0);
}

TEST_P(SingleCopyEngines, many_messages_while_the_system_refuses_now_and_then) {
  for (const Way way : {Way::read, Way::write, Way::together}) {
    for (int round = 0; round < 6; ++round) {
      for (const int rank : {0, 1}) {
        method(rank).reads_left = static_cast<int>(random_() % 12) - 1;
        method(rank).writes_left = static_cast<int>(random_() % 12) - 1;
      }
      start(way);
      constexpr int kMessages = 30;
      std::vector<std::vector<std::byte>> data;
      std::vector<std::vector<std::byte>> room;
      std::vector<Request*> sends(kMessages);
      std::vector<Request*> receives(kMessages);
      for (size_t n = 0; n < kMessages; ++n) {
        data.push_back(draw(random_() % 3 == 0 ? random_() % 60'000 : random_() % 3'000));
        room.emplace_back(data[n].size());
      }
      // Sends and receives in any order, in both directions at once.
      for (size_t sent = 0, posted = 0; sent < kMessages || posted < kMessages;) {
        const bool send = posted == kMessages || (sent < kMessages && random_() % 2 == 0);
        size_t& n = send ? sent : posted;
        const int from = n % 2 == 0 ? 0 : 1;
        if (send) {
          ASSERT_TRUE(engine(from)
                          .isend(data[n].data(), static_cast<Count>(data[n].size()), byte_, 1 - from, kTag,
                                 kContext, sends[n])
                          .ok());
        } else {
          ASSERT_TRUE(engine(1 - from)
                          .ireceive(room[n].data(), static_cast<Count>(room[n].size()), byte_, from, kTag,
                                    kContext, receives[n])
                          .ok());
        }
        ++n;
        step();
      }
      run_until([&] {
        for (size_t n = 0; n < kMessages; ++n) {
          if (!receives[n]->complete || !sends[n]->complete) return false;
        }
        return true;
      });
      for (size_t n = 0; n < kMessages; ++n) EXPECT_EQ(room[n], data[n]) << "message " << n;
      EXPECT_EQ(warnings, 0);
      EXPECT_EQ(p2p::CmaAccess::count(control_block(0)), 0);
      EXPECT_EQ(p2p::CmaAccess::count(control_block(1)), 0);
    }
  }
}

// A copy request names the send by a number and carries the target address: only an exposed buffer may be
// copied.
TEST_P(SingleCopyEngines, a_damaged_cooperative_request_is_reported_and_copies_nothing) {
  struct Corruption {
    const char* what;
    bool lent;
    uint8_t flags;
    uint64_t bytes;
    uint64_t number;
  };
  const uint8_t both = p2p::kByMethod;
  const uint8_t alone = p2p::kByMethod | p2p::kAlone;
  for (const Corruption& damage : {Corruption{"a buffer that is not lent", false, alone, 100, 0},
                                   Corruption{"likewise, for both", false, both, 100, 1},
                                   Corruption{"longer than the message", true, alone, kLong + 1, 0},
                                   Corruption{"of no bytes", true, alone, 0, 0},
                                   Corruption{"a number that no message has", true, both, 100, 70'000},
                                   Corruption{"lent for a method, not in the arena", true, 0, 100, 1},
                                   Corruption{"alone in the arena", true, p2p::kAlone, 100, 0},
                                   Corruption{"flags that do not exist", true, 0x48, 100, 0}}) {
    SCOPED_TRACE(damage.what);
    start(Way::read);
    const std::vector<std::byte> data = draw(kLong);
    Request* sending = nullptr;
    if (!damage.lent) {
      const std::vector<tune::Tuned> limits = {
          {param::Id::p2p_single_copy_bytes_min, topo::Relation::l3, tune::kNever}};
      tune::use(limits);
      engine(0).reload_thresholds();
    }
    ASSERT_TRUE(engine(0).isend(data.data(), kLong, byte_, 1, kTag, kContext, sending).ok());
    std::vector<std::byte> victim(kLong + 1, std::byte{0x33});
    const std::vector<std::byte> before = victim;
    send_damaged(1, 0, damage.flags, sending->slot, {address_of(victim.data()), damage.bytes, damage.number});
    for (int i = 0; i < 1000; ++i) engine(0).progress();
    EXPECT_EQ(warnings, 1);
    EXPECT_EQ(victim, before);
    EXPECT_FALSE(sending->complete);
    // The message itself still arrives.
    std::vector<std::byte> room(kLong);
    Request* receiving = nullptr;
    ASSERT_TRUE(engine(1).ireceive(room.data(), kLong, byte_, 0, kTag, kContext, receiving).ok());
    run_until([&] { return receiving->complete && sending->complete; });
    EXPECT_EQ(room, data);
    engine(1).requests().destroy(receiving);
    engine(0).requests().destroy(sending);
  }
}

INSTANTIATE_TEST_SUITE_P(Implementations, SingleCopyChoices,
                         testing::Values(Case{Kind::shm, 1}, Case{Kind::shm, 2}, Case{Kind::shm, 3}),
                         [](const auto& tested) { return case_name(tested.param); });

INSTANTIATE_TEST_SUITE_P(Implementations, SingleCopyEngines,
                         testing::Values(Case{Kind::shm, 1}, Case{Kind::fake, 1}, Case{Kind::fake, 2},
                                         Case{Kind::fake, 3}),
                         [](const auto& tested) { return case_name(tested.param); });

}  // namespace
}  // namespace hearth::contract
