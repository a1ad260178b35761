#include "base/os_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/os_io.h"

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

TEST(FileInstead, HasNoNameAndIsPrivate) {
  std::string own = testing::TempDir() + "/hearth-test-XXXXXX";
  ASSERT_NE(::mkdtemp(own.data()), nullptr);
  const size_t bytes = 16 * page_bytes();
  {
    const char* const folders[] = {"/nonexistent", nullptr, "", own.c_str()};
    const Descriptor file(create_file_in(folders, bytes));
    ASSERT_TRUE(file.open()) << errno;
    EXPECT_TRUE(std::filesystem::is_empty(own));
    struct stat status;
    ASSERT_EQ(::fstat(file.number(), &status), 0);
    EXPECT_EQ(status.st_nlink, 0u);
    EXPECT_EQ(status.st_mode & 07777u, 0600u);
    EXPECT_EQ(file_bytes(file.number()), bytes);
    ASSERT_TRUE(reserve_room(file.number(), 0, bytes)) << errno;
    auto* memory = static_cast<volatile char*>(map_shared(file.number(), bytes));
    ASSERT_NE(memory, nullptr);
    memory[bytes - 1] = 7;
    EXPECT_EQ(memory[0], 0);
    release(const_cast<char*>(memory), bytes);
  }
  std::filesystem::remove(own);
}

TEST(FileInstead, WhereNoneCanBeThereIsNone) {
  const char* const folders[] = {"/nonexistent", "/proc/self"};
  errno = 0;
  EXPECT_EQ(create_file_in(folders, page_bytes()), -1);
  EXPECT_NE(errno, 0);
}

}  // namespace
}  // namespace hearth::os
