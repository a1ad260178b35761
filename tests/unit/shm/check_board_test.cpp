#include "shm/check_board.h"

#include <gtest/gtest.h>

#include <cstring>

namespace hearth::shm {
namespace {

TEST(Board, is_attached_by_its_file_only) {
  CheckBoard board;
  ASSERT_TRUE(CheckBoard::create(3, board).ok());
  CheckBoard other;
  ASSERT_TRUE(CheckBoard::attach(os::duplicate_out_of_the_way(board.descriptor()), other));
  EXPECT_EQ(other.ranks(), 3u);
  other.part(2).messages_sent = 7;
  EXPECT_EQ(board.part(2).messages_sent, 7u);
  CheckBoard none;
  EXPECT_FALSE(CheckBoard::attach(os::open_to_read_and_write("/dev/null"), none));
  EXPECT_FALSE(none.usable());
}

TEST(Board, a_key_is_told_once) {
  CheckBoard board;
  ASSERT_TRUE(CheckBoard::create(1, board).ok());
  EXPECT_TRUE(board.report_once(5));
  EXPECT_FALSE(board.report_once(5));
  // A key whose search begins at the same slot.
  EXPECT_TRUE(board.report_once(5 + kCheckKeys));
  EXPECT_FALSE(board.report_once(5 + kCheckKeys));
  EXPECT_TRUE(board.report_once(0));
  EXPECT_FALSE(board.report_once(0));
}

TEST(Board, more_findings_than_places_are_counted) {
  CheckBoard board;
  ASSERT_TRUE(CheckBoard::create(1, board).ok());
  const std::string text(5000, 'x');
  for (size_t i = 0; i < kCheckFindings + 10; ++i) board.add(CheckClass::leak, 0, text);
  EXPECT_EQ(board.header().found[static_cast<size_t>(CheckClass::leak)], kCheckFindings + 10);
  EXPECT_EQ(std::strlen(board.header().finding[kCheckFindings - 1].text), sizeof CheckFinding::text - 1);
}

}  // namespace
}  // namespace hearth::shm
