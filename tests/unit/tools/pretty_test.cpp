#include "pretty.h"

#include <gtest/gtest.h>

namespace hearth::tools {
namespace {

TEST(Bytes, ExactSizesHaveNoFraction) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1023), "1023");
  EXPECT_EQ(bytes_text(4096), "4 KiB");
  EXPECT_EQ(bytes_text(uint64_t{3} << 40), "3 TiB");
}

TEST(Bytes, OthersHaveThreeDigits) {
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text((uint64_t{1} << 20) + 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16 EiB");
}

TEST(ThreeDigits, KeepsThreeAndNeverWritesExponents) {
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(0.0123456), "0.0123");
  EXPECT_EQ(three_digits(0.123456), "0.123");
  EXPECT_EQ(three_digits(4.5678), "4.57");
  EXPECT_EQ(three_digits(99.94), "99.9");
  EXPECT_EQ(three_digits(12345.6), "12346");
  EXPECT_EQ(three_digits(-4.5678), "-4.57");
}

TEST(TextTable, SetsTextLeftAndNumbersRightUnderTheirTitles) {
  TextTable table({"name", "bytes", "why"});
  table.add({"a", "8", "because"});
  table.add({"longer", "4096", ""});
  EXPECT_EQ(table.text(2),
            "  name    bytes  why\n"
            "  a           8  because\n"
            "  longer   4096\n");
}

}  // namespace
}  // namespace hearth::tools
