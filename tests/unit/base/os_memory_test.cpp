#include "base/os_memory.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hearth::os {
namespace {

class Page : public testing::Test {
 protected:
  void SetUp() override {
    page_ = reserve(page_bytes());
    ASSERT_NE(page_, nullptr);
    ASSERT_TRUE(commit(page_, page_bytes()));
  }
  void TearDown() override { release(page_, page_bytes()); }
  void* page_ = nullptr;
};

TEST_F(Page, LiesOnTheNodeThatWasAskedFor) {
  if (!prefer_node(page_, page_bytes(), 0)) GTEST_SKIP() << "no mbind here, errno " << errno;
  *static_cast<volatile char*>(page_) = 1;
  EXPECT_EQ(node_of_page(page_), 0);
  EXPECT_TRUE(prefer_node(page_, page_bytes(), -1, true)) << "and back to what the system likes";
}

TEST_F(Page, ThatWasNotTouchedLiesNowhere) {
  EXPECT_EQ(node_of_page(page_), -1);
}

TEST_F(Page, NodesThatAreNotThereAreRefused) {
  for (const int node : {1000, 1024, 100000}) EXPECT_FALSE(prefer_node(page_, page_bytes(), node)) << node;
}

}  // namespace
}  // namespace hearth::os
