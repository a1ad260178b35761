#include "abi/memory_wish.h"

#include <gtest/gtest.h>

#include "mpi.h"

namespace hearth::abi {
namespace {

constexpr shm::RankMemory kFour = {2, 3, 4, 5, 3, 4, 4, 0};
constexpr shm::RankMemory kNone = {-1, -1, -1, -1, -1, -1, -1, 0};

objects::Info info(std::initializer_list<std::pair<const char*, const char*>> entries) {
  objects::Info result;
  for (const auto& [key, value] : entries) result.entries.emplace_back(key, value);
  return result;
}

MemoryWish wish(const objects::Info& asked, const shm::RankMemory& memory = kFour) {
  MemoryWish result;
  EXPECT_TRUE(read_memory_wish(&asked, memory, result).ok()) << last_failure_text();
  return result;
}

TEST(MemoryWish, NothingAskedIsNothingWished) {
  MemoryWish result;
  EXPECT_TRUE(read_memory_wish(nullptr, kFour, result).ok());
  EXPECT_EQ(result.node, -1);
  EXPECT_EQ(wish(info({{"some_other_key", "value"}})).node, -1);
}

TEST(MemoryWish, KindsAreNodesOfTheRank) {
  EXPECT_EQ(wish(info({{"hearth_memory_kind", "local"}})).node, 2);
  EXPECT_EQ(wish(info({{"hearth_memory_kind", "lowlat"}})).node, 3);
  EXPECT_EQ(wish(info({{"hearth_memory_kind", "highbw"}})).node, 4);
  EXPECT_EQ(wish(info({{"hearth_memory_kind", "large"}})).node, 5);
  EXPECT_EQ(wish(info({{"hearth_memory_kind", "highbw"}}), kNone).node, -1) << "one node: nothing to choose";
}

TEST(MemoryWish, ANumberIsExact) {
  const MemoryWish both = wish(info({{"hearth_memory_kind", "large"}, {"hearth_memory_bind", "1"}}));
  EXPECT_EQ(both.node, 1);
  EXPECT_TRUE(both.by_number);
  const MemoryWish local = wish(info({{"hearth_memory_bind", "local"}}));
  EXPECT_EQ(local.node, 2);
  EXPECT_FALSE(local.by_number);
}

TEST(MemoryWish, Alignment) {
  EXPECT_EQ(wish(info({{"mpi_minimum_memory_alignment", "4096"}})).alignment, 4096u);
}

TEST(MemoryWish, ValuesThatMeanNothingAreErrors) {
  const std::pair<const char*, const char*> wrong[] = {
      {"mpi_minimum_memory_alignment", "3"},  {"mpi_minimum_memory_alignment", ""},
      {"mpi_minimum_memory_alignment", "-8"}, {"hearth_memory_kind", "fast"},
      {"hearth_memory_bind", "everywhere"},   {"hearth_memory_bind", "-1"},
      {"hearth_memory_bind", "99999"},        {"hearth_memory_bind", "1 "}};
  for (const auto& [key, value] : wrong) {
    const objects::Info asked = info({{key, value}});
    MemoryWish result;
    EXPECT_EQ(read_memory_wish(&asked, kFour, result).error_class(), MPI_ERR_INFO_VALUE)
        << key << "=" << value;
    EXPECT_NE(std::string(last_failure_text()).find(key), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::abi
