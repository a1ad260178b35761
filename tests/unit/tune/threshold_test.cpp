#include "tune/threshold.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hearth::tune {
namespace {

using param::Id;
using topo::Relation;

// Set before any test reads a parameter.
const int environment_set = ::setenv("HEARTH_P2P_FIRST_FRAGMENT_BYTES", "3K", 1);
const int limit_set = ::setenv("HEARTH_COLL_FLAT_RANKS_MAX", "7", 1);

size_t place(Id id) {
  return static_cast<size_t>(id);
}

TEST(Threshold, EveryAutomaticParameterHasARowAndNoOtherHas) {
  for (const param::Row& row : param::rows()) {
    EXPECT_EQ(std::string(row.standard) == "auto", find_threshold(row.name) != nullptr) << row.name;
  }
  EXPECT_EQ(find_threshold("p2p_none"), nullptr);
  EXPECT_EQ(find_threshold("coll_whole_bytes_max"), nullptr) << "that has no relation";
  EXPECT_EQ(find_limit("p2p_fragment_bytes_max"), nullptr);
  for (const Limit& limit : limits()) {
    EXPECT_EQ(find_limit(limit.name), &limit);
    EXPECT_STREQ(name_of(limit.parameter), limit.name);
    EXPECT_STREQ(param::rows()[place(limit.parameter)].name, limit.name);
  }
}

TEST(Threshold, LimitsComeFromEnvironmentToolProfileAndTheirOwnDefault) {
  const uint64_t standard = limit(Id::coll_whole_bytes_max);
  EXPECT_EQ(standard, param::get_bytes(Id::coll_whole_bytes_max));
  EXPECT_STREQ(limit_source(Id::coll_whole_bytes_max), "default");
  const std::vector<Tuned> tuned = {{Id::coll_whole_bytes_max, std::nullopt, 12345},
                                    {Id::coll_flat_ranks_max, std::nullopt, kNever}};
  use(tuned);
  EXPECT_EQ(limit(Id::coll_whole_bytes_max), 12345u);
  EXPECT_STREQ(limit_source(Id::coll_whole_bytes_max), "profile");
  ASSERT_EQ(limit_set, 0);
  EXPECT_EQ(limit(Id::coll_flat_ranks_max), 7u);
  EXPECT_STREQ(limit_source(Id::coll_flat_ranks_max), "environment");
  EXPECT_EQ(param::get_bytes(Id::coll_whole_bytes_max), standard) << "where the profile is left out";
  use({});
  EXPECT_EQ(limit(Id::coll_whole_bytes_max), standard);
  ASSERT_TRUE(param::set_number(place(Id::coll_whole_bytes_max), 1024));
  EXPECT_EQ(limit(Id::coll_whole_bytes_max), 1024u);
  EXPECT_STREQ(limit_source(Id::coll_whole_bytes_max), "tool");
}

// The environment and the launcher's variable are read once per process, so one test covers their precedence.
TEST(Threshold, EnvironmentThenToolThenProfileThenDefault) {
  const uint64_t standard = value(Id::p2p_fragment_bytes_max, Relation::l3);
  EXPECT_STREQ(source(Id::p2p_fragment_bytes_max, Relation::l3), "default");
  const std::vector<Tuned> tuned = {{Id::p2p_fragment_bytes_max, Relation::l3, 4096},
                                    {Id::p2p_first_fragment_bytes, Relation::l3, 1024}};
  use(tuned);
  EXPECT_EQ(value(Id::p2p_fragment_bytes_max, Relation::l3), 4096u);
  EXPECT_STREQ(source(Id::p2p_fragment_bytes_max, Relation::l3), "profile");
  EXPECT_STREQ(source(Id::p2p_fragment_bytes_max, Relation::l2), "default");
  ASSERT_TRUE(param::set_number(place(Id::p2p_fragment_bytes_max), 8192));
  for (const Relation relation : {Relation::l3, Relation::package}) {
    EXPECT_EQ(value(Id::p2p_fragment_bytes_max, relation), 8192u);
    EXPECT_STREQ(source(Id::p2p_fragment_bytes_max, relation), "tool");
  }
  ASSERT_TRUE(param::set_number(place(Id::p2p_fragment_bytes_max), param::kAutomatic));
  EXPECT_EQ(value(Id::p2p_fragment_bytes_max, Relation::l3), 4096u);
  ASSERT_EQ(environment_set, 0);
  EXPECT_EQ(value(Id::p2p_first_fragment_bytes, Relation::l3), 3072u);
  EXPECT_STREQ(source(Id::p2p_first_fragment_bytes, Relation::l3), "environment");
  use({});
  EXPECT_EQ(value(Id::p2p_fragment_bytes_max, Relation::l3), standard);
}

Hints hints_of(std::vector<std::pair<std::string, std::string>> entries) {
  Hints hints;
  EXPECT_TRUE(hints.read(entries).ok()) << last_failure_text();
  return hints;
}

TEST(Threshold, HintsComeBehindTheEnvironmentAndBeforeTheToolInterface) {
  const Hints hints = hints_of({{"hearth_p2p_fragment_bytes_max", "32K"},
                                {"hearth_p2p_arena_bytes_min", "never"},
                                {"hearth_p2p_first_fragment_bytes", "1K"},
                                {"mpi_assert_no_any_tag", "true"}});
  ASSERT_TRUE(param::set_number(place(Id::p2p_fragment_bytes_max), 8192));
  EXPECT_EQ(value(Id::p2p_fragment_bytes_max, Relation::l3, &hints), 32768u);
  EXPECT_EQ(value(Id::p2p_fragment_bytes_max, Relation::l3), 8192u);
  ASSERT_TRUE(param::set_number(place(Id::p2p_fragment_bytes_max), param::kAutomatic));
  EXPECT_EQ(value(Id::p2p_arena_bytes_min, Relation::l3, &hints), kNever);
  EXPECT_EQ(value(Id::p2p_first_fragment_bytes, Relation::l3, &hints), 3072u) << "the environment's";
  EXPECT_EQ(value(Id::p2p_fragments_in_flight, Relation::l3, &hints),
            value(Id::p2p_fragments_in_flight, Relation::l3));
}

TEST(Threshold, AHintIsTakenBackAndABadOneChangesNothing) {
  Hints hints = hints_of({{"hearth_p2p_fragment_bytes_max", "32K"}});
  using Entries = std::vector<std::pair<std::string, std::string>>;
  EXPECT_FALSE(
      hints.read(Entries{{"hearth_p2p_arena_bytes_min", "1M"}, {"hearth_p2p_fragments_in_flight", "few"}})
          .ok());
  EXPECT_NE(
      std::string(last_failure_text()).find("hearth_p2p_fragments_in_flight is \"few\": expected a number"),
      std::string::npos);
  EXPECT_EQ(hints.at(Id::p2p_arena_bytes_min), std::nullopt);
  EXPECT_EQ(hints.at(Id::p2p_fragment_bytes_max), 32768u);
  EXPECT_TRUE(
      hints.read(Entries{{"hearth_p2p_fragment_bytes_max", "auto"}, {"hearth_p2p_eager_bytes_max", "1"}})
          .ok());
  EXPECT_TRUE(hints.empty()) << "short messages look nothing up";
}

TEST(Threshold, WordsThereAndBack) {
  const std::vector<Tuned> tuned = {{Id::p2p_single_copy_bytes_min, Relation::l3, kNever},
                                    {Id::p2p_single_copy_bytes_min, Relation::machine, 0},
                                    {Id::coll_whole_bytes_max, std::nullopt, 6143},
                                    {Id::p2p_eager_bytes_max, Relation::self, 123456789},
                                    {Id::coll_flat_ranks_max, std::nullopt, kNever}};
  const std::string words = to_words(tuned);
  EXPECT_EQ(
      words,
      "p2p_single_copy_bytes_min:l3=never;p2p_single_copy_bytes_min:machine=0;coll_whole_bytes_max=6143;"
      "p2p_eager_bytes_max:self=123456789;coll_flat_ranks_max=never");
  std::vector<Tuned> again;
  ASSERT_TRUE(from_words(words, again).ok());
  EXPECT_EQ(to_words(again), words);
}

TEST(Threshold, WordsThatMeanNothing) {
  for (const char* words : {"",
                            ";",
                            "p2p_eager_bytes_max",
                            "p2p_eager_bytes_max:l3",
                            "p2p_eager_bytes_max:l3=",
                            "p2p_eager_bytes_max:l3=12x",
                            "p2p_eager_bytes_max:l3=-1",
                            "p2p_eager_bytes_max:l9=1",
                            "p2p_eager_bytes_max=l3:1",
                            "p2p_single_copy:l3=1",
                            "none:l3=1",
                            "p2p_eager_bytes_max:l3=1;",
                            "p2p_eager_bytes_max=1",
                            "coll_whole_bytes_max",
                            "coll_whole_bytes_max=",
                            "coll_whole_bytes_max=4K",
                            "coll_whole_bytes_max:=1",
                            "coll_whole_bytes_max:l3=1",
                            "coll_whole_bytes_max=-1",
                            "coll_regions=1",
                            ":l3=1",
                            "=1",
                            "p2p_eager_bytes_max:l3=18446744073709551615",
                            "p2p_eager_bytes_max:l3=18446744073709551616"}) {
    std::vector<Tuned> values(1);
    EXPECT_FALSE(from_words(words, values).ok()) << words;
    EXPECT_TRUE(values.empty()) << words;
    EXPECT_NE(std::string(last_failure_text()).find("HEARTH_TUNED"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::tune
