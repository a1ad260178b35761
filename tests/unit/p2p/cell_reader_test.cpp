// The copy loops that empty bounce buffers: their selection, and that each copies the right bytes.
#include "p2p/cell_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hearth::p2p {
namespace {

TEST(CellReader, GoesOverToWhatIsQuickerSeveralTimesInARow) {
  CellReader reader;
  EXPECT_FALSE(reader.reads_four_pages());
  reader.judge(16384, 1100, 900);
  reader.judge(16384, 1100, 900);
  EXPECT_FALSE(reader.reads_four_pages());
  reader.judge(16384, 1100, 900);
  EXPECT_TRUE(reader.reads_four_pages());
  for (int i = 0; i < 3; ++i) reader.judge(16384, 280, 300);
  EXPECT_FALSE(reader.reads_four_pages());
}

TEST(CellReader, OneInterruptedPieceChangesNothing) {
  CellReader reader;
  for (int i = 0; i < 20; ++i) {
    reader.judge(16384, 8000, 900);
    reader.judge(16384, 1100, 1200);
  }
  EXPECT_FALSE(reader.reads_four_pages());
}

TEST(CellReader, NorDoesALittle) {
  CellReader reader;
  for (int i = 0; i < 20; ++i) reader.judge(16384, 1000, 950);
  EXPECT_FALSE(reader.reads_four_pages());
}

TEST(CellReader, WhatIsQuickInOrderStaysSo) {
  CellReader reader;
  for (int i = 0; i < 20; ++i) reader.judge(16384, 320, 280);
  EXPECT_FALSE(reader.reads_four_pages());
}

TEST(CellReader, ShortPiecesAndLongMessagesHaveNoChoice) {
  EXPECT_TRUE(CellReader::has_choice(256 * 1024, 8192));
  EXPECT_FALSE(CellReader::has_choice(256 * 1024, 8191));
  EXPECT_FALSE(CellReader::has_choice(256 * 1024 + 1, 65536));
}

TEST(CellReader, EachWayBringsAllBytes) {
  std::vector<std::byte> cell(40000);
  for (size_t i = 0; i < cell.size(); ++i) cell[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const auto choice :
       {CellReader::Choice::by_time, CellReader::Choice::in_order, CellReader::Choice::four_pages}) {
    CellReader reader(choice);
    for (const size_t bytes : {8192, 9000, 16384, 16385, 40000}) {
      for (int i = 0; i < 70; ++i) {  // includes trials of the other loop
        std::vector<std::byte> to(bytes + 2);
        reader.read(to.data() + 1, cell.data(), bytes);
        ASSERT_TRUE(std::equal(to.begin() + 1, to.end() - 1, cell.begin())) << bytes;
        ASSERT_EQ(to.front(), std::byte{0});
        ASSERT_EQ(to.back(), std::byte{0});
      }
    }
    if (choice != CellReader::Choice::by_time) {
      EXPECT_EQ(reader.reads_four_pages(), choice == CellReader::Choice::four_pages);
    }
  }
}

}  // namespace
}  // namespace hearth::p2p
