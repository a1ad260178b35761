#include "explain.h"

#include <gtest/gtest.h>

#include "shm/ring.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

using p2p::Protocol;
using topo::Relation;

constexpr Relation kRelations[] = {Relation::self,    Relation::smt,     Relation::l2,
                                   Relation::l3,      Relation::numa,    Relation::package,
                                   Relation::machine, Relation::unknown, Relation::network};
constexpr p2p::TransportLimits kLimits = {shm::payload_bytes_max(512), 512 << 10};

const Explanation& row_at(const std::vector<Explanation>& rows, uint64_t bytes) {
  size_t row = 0;
  while (row + 1 < rows.size() && rows[row + 1].from_bytes <= bytes) ++row;
  return rows[row];
}

std::string why_not(const std::vector<Explanation>& rows, uint64_t bytes, Protocol protocol) {
  for (const Rejection& rejection : row_at(rows, bytes).rejected) {
    if (rejection.protocol == protocol) return rejection.why;
  }
  return "it is taken";
}

void expect_what_the_engine_chooses(Relation relation, bool in_arena) {
  const p2p::PairProtocol pair = p2p::protocol_for(relation, kLimits);
  const std::vector<Explanation> rows = explain(relation, kLimits, in_arena, {});
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().from_bytes, 0u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_FALSE(rows[i].why.empty());
    EXPECT_EQ(pair.choose(rows[i].from_bytes, in_arena), rows[i].protocol);
    if (i > 0) EXPECT_NE(pair.choose(rows[i].from_bytes - 1, in_arena), rows[i].protocol);
    for (const Rejection& rejection : rows[i].rejected) EXPECT_FALSE(rejection.why.empty());
  }
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 40; bytes *= 2)
    EXPECT_EQ(row_at(rows, bytes).protocol, pair.choose(bytes, in_arena)) << bytes;
}

TEST(Explain, SaysWhatTheEngineChooses) {
  for (const Relation relation : kRelations) {
    expect_what_the_engine_chooses(relation, false);
    expect_what_the_engine_chooses(relation, true);
  }
}

TEST(Explain, TheArenaIsForBuffersInIt) {
  const std::vector<Explanation> ordinary = explain(Relation::l3, kLimits, false, {});
  EXPECT_EQ(row_at(ordinary, 1 << 20).protocol, Protocol::bounce_buffers);
  EXPECT_NE(why_not(ordinary, 1 << 20, Protocol::arena).find("MPI_Alloc_mem"), std::string::npos);
  const std::vector<Explanation> own = explain(Relation::l3, kLimits, true, {});
  EXPECT_EQ(row_at(own, 1 << 20).protocol, Protocol::arena);
  const uint64_t bytes_min = tune::value(param::Id::p2p_arena_bytes_min, topo::Relation::l3);
  const std::string limit = "from " + std::to_string(bytes_min >> 10) + " KiB on: p2p_arena_bytes_min";
  EXPECT_EQ(why_not(own, 1 << 14, Protocol::arena).find(limit), 0u);
  const std::vector<Explanation> none = explain(Relation::l3, kLimits, true, {"", "no addresses", nullptr});
  EXPECT_EQ(row_at(none, 1 << 20).protocol, Protocol::bounce_buffers);
  EXPECT_EQ(why_not(none, 1 << 20, Protocol::arena), "not offered: the system refuses it: no addresses");
}

TEST(Explain, NamesTheLimitAndItsSource) {
  const std::vector<tune::Tuned> tuned = {{param::Id::p2p_single_copy_bytes_min, Relation::l3, 1 << 20}};
  tune::use(tuned);
  tune::Profile profile;
  profile.findings = {
      {param::Id::p2p_single_copy_bytes_min, Relation::l3, uint64_t{1} << 20, "half of the time"}};
  const std::vector<Explanation> rows = explain(Relation::l3, kLimits, false, {"", "", &profile});
  EXPECT_EQ(row_at(rows, 1 << 20).protocol, Protocol::single_copy);
  const std::string why = why_not(rows, 1 << 16, Protocol::single_copy);
  EXPECT_EQ(why, "from 1 MiB on: p2p_single_copy_bytes_min = 1048576, profile; measured: half of the time");
  EXPECT_NE(row_at(rows, 1 << 20).why.find("half of the time"), std::string::npos);
  tune::use({});
  const std::vector<Explanation> usual = explain(Relation::l3, kLimits, false, {});
  EXPECT_EQ(why_not(usual, 1 << 16, Protocol::single_copy)
                .find("at no length: p2p_single_copy_bytes_min = never, default: "),
            0u);
}

TEST(Explain, WhatTheSystemRefusesIsNotTaken) {
  const std::vector<Explanation> rows = explain(Relation::package, kLimits, false, {"EPERM", "", nullptr});
  EXPECT_EQ(row_at(rows, 1 << 30).protocol, Protocol::bounce_buffers);
  EXPECT_NE(why_not(rows, 1 << 30, Protocol::single_copy).find("the system refuses it: EPERM"),
            std::string::npos);
  const std::vector<Explanation> own = explain(Relation::self, kLimits, false, {"EPERM", "", nullptr});
  EXPECT_EQ(row_at(own, 1 << 20).protocol, Protocol::single_copy) << "no system call is needed";
}

}  // namespace
}  // namespace hearth::tools
