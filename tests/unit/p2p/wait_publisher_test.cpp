#include "p2p/wait_publisher.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/os_wait.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
int long_waits = 0;

struct WaitPublisherTest : testing::Test {
  WaitPublisherTest() { long_waits = 0; }
  uint32_t kind_of(int entry) const { return record.waits[entry].kind; }
  int described = 0;
  const std::function<void(WaitDiagnostics&)> describe_probe = [this](WaitDiagnostics& note) {
    ++described;
    note.probe({4, 1, 7});
  };
  const Describe describe{describe_probe};
  const std::function<bool()> never = [] { return false; };
  Waiter waiter() { return {.describe = describe, .over = Over(never), .began_ns = 5}; }

  shm::WaitRecord record = {};
  Pool<Request> requests;
  Matching matching;
  WaitPublisher publisher{&record, requests, matching, [] { ++long_waits; }};
};

constexpr auto kProbe = static_cast<uint32_t>(shm::WaitKind::probe);
constexpr auto kNone = static_cast<uint32_t>(shm::WaitKind::none);

TEST_F(WaitPublisherTest, a_wait_has_an_entry_until_it_is_over) {
  Waiter wait = waiter();
  publisher.show(wait, kSecondNs);
  EXPECT_EQ(kind_of(0), kProbe);
  EXPECT_EQ(record.waits[0].since_ns, 5u);
  EXPECT_EQ(record.waits[0].operations[0].tag, 7);
  EXPECT_NE(record.waits[0].thread, 0u);
  EXPECT_TRUE(wait.noted) << "it has to be hidden at its end";
  EXPECT_GT(record.version, 0u);
  EXPECT_EQ(record.version % 2, 0u) << "readers accept the record";
  publisher.hide(wait);
  EXPECT_EQ(kind_of(0), kNone);
  EXPECT_EQ(long_waits, 1);
}

TEST_F(WaitPublisherTest, a_wait_is_described_again_after_some_time_or_a_change_of_the_queues) {
  Waiter wait = waiter();
  publisher.show(wait, kSecondNs);
  publisher.show(wait, kSecondNs + 1);
  EXPECT_EQ(described, 1);
  publisher.show(wait, 2 * kSecondNs);
  EXPECT_EQ(described, 2);
  Request posted(RequestKind::receive);
  posted.key = {4, 1, 8};
  ASSERT_EQ(matching.post(posted), nullptr);
  publisher.show(wait, 2 * kSecondNs + 1);
  EXPECT_EQ(described, 3);
  EXPECT_EQ(record.posted_count, 1u);
  EXPECT_EQ(record.posted[0].tag, 8);
  matching.posted().remove(posted);
}

TEST_F(WaitPublisherTest, a_standstill_shows_the_last_poll) {
  Waiter wait = waiter();
  wait.since_ns = kSecondNs;
  publisher.show(wait, kSecondNs);
  publisher.show(wait, kSecondNs + kSecondNs / 4);
  EXPECT_EQ(record.waits[0].beat_ns, 0u) << "not for long enough";
  publisher.show(wait, 2 * kSecondNs);
  EXPECT_EQ(record.waits[0].beat_ns, 2 * kSecondNs);
}

TEST_F(WaitPublisherTest, waits_without_an_entry_are_counted) {
  std::vector<Waiter> waits;
  for (int i = 0; i <= shm::kWaitsMax; ++i) {
    waits.push_back(waiter());
    publisher.show(waits.back(), kSecondNs);
  }
  EXPECT_EQ(kind_of(shm::kWaitsMax - 1), kProbe);
  EXPECT_EQ(record.waits_left_out, 1u);
  publisher.hide(waits.back());
  EXPECT_EQ(record.waits_left_out, 0u);
  publisher.hide(waits[1]);
  Waiter next = waiter();
  publisher.show(next, kSecondNs);
  EXPECT_EQ(next.shown.at, 1) << "the entry that became free";
}

TEST_F(WaitPublisherTest, without_a_page_long_waits_are_still_reported) {
  WaitPublisher silent(nullptr, requests, matching, [] { ++long_waits; });
  Waiter wait = waiter();
  silent.show(wait, kSecondNs);
  silent.note_polling(nullptr);
  silent.hide(wait);
  EXPECT_EQ(long_waits, 1);
  EXPECT_EQ(described, 0);
  EXPECT_FALSE(wait.noted);
}

TEST_F(WaitPublisherTest, a_program_that_polls_for_long_is_shown_until_something_advances) {
  const MatchKey probed = {4, 2, 9};
  publisher.note_polling(&probed);
  EXPECT_EQ(record.polling.kind, kNone) << "not for long enough";
  os::sleep_ns(15'000'000);
  publisher.note_polling(&probed);
  EXPECT_EQ(record.polling.kind, static_cast<uint32_t>(shm::WaitKind::polling));
  EXPECT_EQ(record.polling.operations[0].peer, 2);
  EXPECT_NE(record.polling.beat_ns, 0u);
  publisher.end_polling();
  EXPECT_EQ(record.polling.kind, kNone);
  publisher.note_polling(&probed);
  EXPECT_EQ(record.polling.kind, kNone) << "the time begins again";
}

}  // namespace
}  // namespace hearth::p2p
