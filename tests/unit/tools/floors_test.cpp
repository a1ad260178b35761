#include "floors.h"

#include <gtest/gtest.h>

namespace hearth::tools {
namespace {

TEST(Floors, a_change_of_state_is_reported_once) {
  Floors floors;
  EXPECT_EQ(floors.take_change(), "");
  floors.add(33);
  floors.add(35);
  EXPECT_EQ(floors.take_change(), "");
  floors.add(34);
  floors.add(160);
  EXPECT_EQ(floors.take_change(), Floors::state_of(160));
  floors.add(155);
  EXPECT_EQ(floors.take_change(), "");
}

TEST(Floors, a_change_between_two_calls_counts) {
  Floors floors;
  floors.add(33);
  EXPECT_EQ(floors.take_change(), "");
  floors.add(0);  // not measured
  EXPECT_EQ(floors.take_change(), "");
  floors.add(12);
  EXPECT_EQ(floors.take_change(), Floors::state_of(12));
}

}  // namespace
}  // namespace hearth::tools
