#include "profile/recorder.h"

#include <unistd.h>

#include "base/os_memory.h"
#include "job.h"

namespace hearth::profile {
namespace {

TEST(SizeClass, DoublesFromOneByteOn) {
  EXPECT_EQ(class_of(0), 0);
  EXPECT_EQ(class_of(1), 1);
  EXPECT_EQ(class_of(2), 2);
  EXPECT_EQ(class_of(3), 2);
  EXPECT_EQ(class_of(4), 3);
  EXPECT_EQ(class_of(UINT64_MAX), kClasses - 1);
  for (int i = 0; i < kClasses; ++i) EXPECT_EQ(class_of(class_begin(i)), i);
}

TEST(Board, IsRefusedByAJobOfAnotherSize) {
  Board board;
  ASSERT_TRUE(Board::create(2, 0, board).ok());
  Board part;
  EXPECT_FALSE(Board::attach(os::duplicate_out_of_the_way(board.descriptor()), 3, 0, part).ok());
  EXPECT_FALSE(part.usable());
}

// The reader of a saved file may have another page size than the machine that wrote it.
TEST(Board, HasPartsOnPagesOfTheMachineThatWritesIt) {
  constexpr uint64_t kPage = 64 << 10;
  os::simulate_page_bytes(kPage);
  Board board;
  ASSERT_TRUE(Board::create(3, 10, board).ok());
  os::simulate_page_bytes(0);
  FileHead head = {};
  ASSERT_EQ(::pread(board.descriptor(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head.page_bytes, kPage);
  EXPECT_EQ(head.parts_offset % kPage, 0u);
  EXPECT_EQ(head.part_bytes % kPage, 0u);
  Board part;
  ASSERT_TRUE(Board::attach(os::duplicate_out_of_the_way(board.descriptor()), 3, 2, part).ok());
  EXPECT_TRUE(part.reserve_comm(0) && part.reserve_comm(static_cast<int>(kCommsMax) - 1));
  part.part(2).events[9].more = 7;
  EXPECT_EQ(board.part(2).events[9].more, 7u);
  head.page_bytes = 48 << 10;
  ASSERT_EQ(::pwrite(board.descriptor(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  Board refused;
  EXPECT_FALSE(Board::attach(os::duplicate_out_of_the_way(board.descriptor()), 3, 0, refused).ok())
      << "the page size is no power of two";
}

TEST(Recorder, KeepsMomentsOfCollectivesEverMoreRarely) {
  Job job;
  const uint64_t third = kTier + 16 * kTier;
  uint64_t kept[3] = {};
  for (uint64_t number = 0; number < third + 256 * 10; ++number) {
    if (job.recorder(0).collective({0, 0, 2, "MPI_COMM_WORLD"}, {4, 8}) == nullptr) continue;
    ++kept[number < kTier ? 0 : number < third ? 1 : 2];
  }
  EXPECT_EQ(kept[0], kTier);
  EXPECT_EQ(kept[1], kTier);
  EXPECT_EQ(kept[2], 10u);
  EXPECT_EQ(job.part(0).comms[0].calls, third + 2560);
  EXPECT_EQ(job.part(0).comms[0].bytes, 8 * (third + 2560));
}

TEST(Recorder, CountsCollectivesBeyondItsRoom) {
  Job job;
  for (uint32_t i = 0; i < kCommsMax + 3; ++i) {
    const bool noted = job.recorder(0).collective({4 * i, 0, 2, "some"}, {}) != nullptr;
    EXPECT_EQ(noted, i < kCommsMax);
  }
  EXPECT_EQ(job.part(0).head->comms_beyond, 3u);
}

TEST(Recorder, TracesUntilItsBufferIsFull) {
  Job job(3);
  for (int i = 0; i < 5; ++i) job.recorder(0).called(4, 1000, 2000);
  EXPECT_EQ(job.part(0).head->trace_written, 3u);
  EXPECT_EQ(job.part(0).head->trace_dropped, 2u);
}

TEST(Recorder, NotesACallerOnce) {
  Job job;
  int first = -1;
  int second = -1;
  for (int* site : {&first, &second}) *site = job.recorder(0).note_site();
  EXPECT_EQ(first, second);
}

TEST(FrequentCall, IsCountedOnceAndNotInsideOfAnother) {
  Job job;
  call_counts = job.part(0).calls;
  {
    const CallScope call(frequent_call, 0);
    job.recorder(0).sent(1, 0, 8, 1, true);
    count_frequent_call(8);
    count_frequent_call(8);
  }
  {
    const CallScope outer(outer_call, 3);
    const CallScope call(frequent_call, 0);
    job.recorder(0).sent(1, 0, 8, 1, true);
    count_frequent_call(8);
  }
  count_frequent_call(8);
  job.recorder(0).sent(1, 0, 8, 1, false);  // not sampled: every such message is recorded
  call_counts = nullptr;
  EXPECT_EQ(job.part(0).calls[0].calls[class_of(8)], 1u);
  EXPECT_EQ(job.part(0).calls[0].samples[class_of(8)], 1u);
  EXPECT_EQ(job.part(0).calls[3].samples[class_of(8)], 1u);
  EXPECT_EQ(job.part(0).peers[1].line_messages[8], 3u);
  EXPECT_EQ(job.part(0).peers[1].line_samples[8], 2u);
}

}  // namespace
}  // namespace hearth::profile
