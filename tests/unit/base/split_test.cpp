#include "base/split.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth {
namespace {

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  split(text, ',', [&](std::string_view part) { parts.emplace_back(part); });
  return parts;
}

using Parts = std::vector<std::string>;

TEST(Split, parts_between_separators) {
  EXPECT_EQ(parts_of("a,bc,d"), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(parts_of("abc"), (Parts{"abc"}));
}

TEST(Split, empty_parts_count_but_for_the_end) {
  EXPECT_EQ(parts_of(""), Parts{});
  EXPECT_EQ(parts_of(","), (Parts{""}));
  EXPECT_EQ(parts_of(",a,,b,"), (Parts{"", "a", "", "b"}));
}

}  // namespace
}  // namespace hearth
