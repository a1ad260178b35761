#include "check/record.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/atomic.h"
#include "shm/check_board.h"

namespace hearth::check {
namespace {

TEST(Record, is_read_whole_or_not_at_all) {
  shm::MessageRecord place = {};
  shm::MessageRecord record;
  EXPECT_FALSE(read_record(place, record));
  constexpr uint64_t kRounds = 20000;
  uint64_t done = 0;
  std::thread writer([&] {
    for (uint64_t i = 1; i <= kRounds; ++i) {
      shm::MessageRecord next = {};
      next.comm = next.number = next.time_ns = i;
      next.signature.hash = i;
      publish_record(place, next);
    }
    atomic::store_release(done, uint64_t{1});
  });
  uint64_t last = 0;
  while (atomic::load_acquire(done) == 0 || last != kRounds) {
    if (!read_record(place, record)) continue;
    ASSERT_EQ(record.comm, record.number);
    ASSERT_EQ(record.comm, record.time_ns);
    ASSERT_EQ(record.comm, record.signature.hash);
    ASSERT_GE(record.comm, last);
    last = record.comm;
  }
  writer.join();
}

}  // namespace
}  // namespace hearth::check
