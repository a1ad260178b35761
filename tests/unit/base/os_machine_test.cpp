#include "base/os_machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/os_wait.h"

namespace hearth::os {
namespace {

class FakeHierarchy : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "hearth_cgroup";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/a/b");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) { std::ofstream(root_ + path) << text; }

  std::string root_;
};

TEST_F(FakeHierarchy, NoFilesMeanNoLimit) {
  EXPECT_EQ(quota_processors_of({root_, "/a/b", true}), 0);
}

TEST_F(FakeHierarchy, VersionTwoRoundsUp) {
  write("/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a/b", true}), 2);
  write("/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a/b", true}), 0);
  write("/a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a/b", true}), 1);
}

TEST_F(FakeHierarchy, TheSmallestLimitOnTheWayUpCounts) {
  write("/a/b/cpu.max", "800000 100000\n");
  write("/a/cpu.max", "300000 100000\n");
  write("/cpu.max", "500000 100000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a/b", true}), 3);
  EXPECT_EQ(quota_processors_of({root_, "", true}), 5);
}

TEST_F(FakeHierarchy, VersionOne) {
  write("/a/cpu.cfs_quota_us", "-1\n");
  write("/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a", false}), 0);
  write("/a/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(quota_processors_of({root_, "/a", false}), 4);
}

TEST(ControlGroups, VersionTwo) {
  const auto groups =
      control_groups_in("0::/user.slice/job\n",
                        "24 1 0:5 / /proc rw - proc proc rw\n"
                        "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n",
                        "cpu");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].mount, "/sys/fs/cgroup");
  EXPECT_EQ(groups[0].path, "/user.slice/job");
  EXPECT_TRUE(groups[0].version2);
}

TEST(ControlGroups, VersionOneBesideAnEmptyVersionTwo) {
  const auto groups =
      control_groups_in("5:memory:/m\n4:cpu,cpuacct:/docker/1f\n0::/\n",
                        "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                        "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                        "33 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                        "cpu");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].path, "");
  EXPECT_EQ(groups[1].mount, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(groups[1].path, "/docker/1f");
  EXPECT_FALSE(groups[1].version2);
}

TEST(ControlGroups, MountedFromOurOwnGroupOn) {
  const auto groups = control_groups_in(
      "4:cpu:/docker/1f\n", "32 23 0:28 /docker/1f /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "cpu");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].path, "");
}

// Limits are searched from the path upward. The search for this mount once did not end.
TEST(ControlGroups, MountedFromAFolderWhoseNameOursBeginsWith) {
  const auto groups = control_groups_in("0::/user.slice\n",
                                        "31 23 0:27 /user /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "cpu");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].path, "/user.slice");
  EXPECT_EQ(quota_processors_of(groups[0]), 0);
  const auto strange =
      control_groups_in("0::user\n", "31 23 0:27 / /nowhere rw - cgroup2 cgroup2 rw\n", "cpu");
  ASSERT_EQ(strange.size(), 1u);
  EXPECT_EQ(strange[0].path, "");
}

// The kernel writes blanks and backslashes of a path in octal.
TEST(ControlGroups, PathsWithBlanksAreDecoded) {
  const auto groups = control_groups_in(
      "0::/my job/a\n", "31 23 0:27 /my\\040job /mnt/c\\134g\\011x\\04 rw - cgroup2 cgroup2 rw\n", "cpu");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].mount, "/mnt/c\\g\tx\\04");
  EXPECT_EQ(groups[0].path, "/a");
}

TEST(ControlGroups, NonsenseIsNoGroup) {
  EXPECT_TRUE(control_groups_in("", "", "cpu").empty());
  EXPECT_TRUE(control_groups_in("x\n:\n", "a b\n - cgroup2\n", "cpu").empty());
}

TEST(Processors, AreOneOrMoreAndInOrder) {
  const std::vector<int> mine = allowed_processors();
  ASSERT_FALSE(mine.empty());
  EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  EXPECT_EQ(usable_processors(), static_cast<int>(mine.size()));
  EXPECT_GE(quota_processors(), 0);
}

TEST(Paths, OnlyFilesCanBeExecuted) {
  EXPECT_TRUE(path_exists("/"));
  EXPECT_FALSE(is_executable("/"));
  EXPECT_TRUE(is_executable("/bin/sh"));
  EXPECT_FALSE(path_exists("/no/such/file"));
}

class FakeCaches : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void add(int level, const std::string& size) {
    const std::string cache = folder_ + "/index" + std::to_string(count_++);
    std::filesystem::create_directories(cache);
    std::ofstream(cache + "/level") << level << "\n";
    std::ofstream(cache + "/size") << size << "\n";
  }

  std::string folder_ = testing::TempDir() + "hearth_caches_" + std::to_string(::getpid());
  int count_ = 0;
};

TEST_F(FakeCaches, TheLastLevelCounts) {
  EXPECT_EQ(last_level_cache_bytes_in(folder_), 0u) << "the system does not tell";
  add(1, "32K");
  add(1, "64K");
  add(2, "1024K");
  EXPECT_EQ(last_level_cache_bytes_in(folder_), size_t{1} << 20);
  add(3, "32768K");
  EXPECT_EQ(last_level_cache_bytes_in(folder_), size_t{32} << 20);
  EXPECT_EQ(last_level_cache_bytes_in(folder_ + "/nowhere"), 0u);
}

}  // namespace
}  // namespace hearth::os
