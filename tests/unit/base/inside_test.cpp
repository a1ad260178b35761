#include "base/inside.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hearth {
namespace {

using Gate = Inside::Gate;

class InsideTest : public testing::Test {
 protected:
  void TearDown() override { Inside::set_gate(Gate::closed); }
};

TEST_F(InsideTest, TheShortWayIsACallToo) {
  Inside::set_gate(Gate::open);
  {
    const InsideShortly inside;
    EXPECT_FALSE(Inside::is_open());
    EXPECT_EQ(Inside::gate(), Gate::inside);
  }
  EXPECT_TRUE(Inside::is_open());
}

TEST_F(InsideTest, MarksAreOfOneKindAndOneThread) {
  EXPECT_TRUE(Inside::set_mark(Inside::kCall));
  EXPECT_FALSE(Inside::set_mark(Inside::kCall));
  EXPECT_TRUE(Inside::set_mark(Inside::kAnyTimeCall));
  Inside::clear_mark(Inside::kCall);
  EXPECT_FALSE(Inside::set_mark(Inside::kAnyTimeCall));
  EXPECT_TRUE(Inside::set_mark(Inside::kCall));
  Inside::clear_mark(Inside::kCall);
  Inside::clear_mark(Inside::kAnyTimeCall);
}

TEST_F(InsideTest, FunctionsOfTheUserMayCall) {
  Inside::set_gate(Gate::inside);
  ASSERT_TRUE(Inside::set_mark(Inside::kCall));
  const int result = Inside::call_user([] {
    EXPECT_TRUE(Inside::is_open());
    EXPECT_TRUE(Inside::set_mark(Inside::kCall));
    Inside::clear_mark(Inside::kCall);
    return 5;
  });
  EXPECT_EQ(result, 5);
  EXPECT_EQ(Inside::gate(), Gate::inside);
  EXPECT_FALSE(Inside::set_mark(Inside::kCall));
  Inside::call_user([] { Inside::set_gate(Gate::closed); });
  EXPECT_EQ(Inside::gate(), Gate::closed) << "the user has ended MPI";
  Inside::clear_mark(Inside::kCall);
}

TEST_F(InsideTest, WhatTheUserThrowsEndsTheCall) {
  Inside::set_gate(Gate::inside);
  ASSERT_TRUE(Inside::set_mark(Inside::kCall));
  EXPECT_THROW(Inside::call_user([] { throw std::runtime_error("the user's"); }), std::runtime_error);
  EXPECT_TRUE(Inside::is_open());
  EXPECT_TRUE(Inside::set_mark(Inside::kCall));
  Inside::clear_mark(Inside::kCall);
}

}  // namespace
}  // namespace hearth
