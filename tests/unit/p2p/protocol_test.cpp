#include "p2p/protocol.h"

#include <gtest/gtest.h>

#include "shm/ring.h"

namespace hearth::p2p {
namespace {

using topo::Relation;

constexpr Relation kRelations[] = {Relation::self, Relation::smt,     Relation::l2,      Relation::l3,
                                   Relation::numa, Relation::package, Relation::machine, Relation::unknown};
constexpr uint64_t kPacketBytesMax = shm::payload_bytes_max(512);

TEST(protocol, short_messages_take_one_line) {
  for (const Relation relation : kRelations) {
    const PairProtocol pair = protocol_for(relation, kPacketBytesMax);
    EXPECT_EQ(pair.choose(0), Protocol::line);
    EXPECT_EQ(pair.choose(48), Protocol::line);
    EXPECT_EQ(pair.choose(49), Protocol::lines);
  }
}

TEST(protocol, a_small_ring_limits_what_goes_inside) {
  const PairProtocol pair = protocol_for(Relation::l3, 1000);
  EXPECT_EQ(pair.choose(1000), Protocol::lines);
  EXPECT_EQ(pair.choose(1001), Protocol::cells);
}

TEST(protocol, single_copy_is_for_pairs_that_share_no_cache_and_for_oneself) {
  EXPECT_EQ(protocol_for(Relation::l3, kPacketBytesMax).choose(1 << 30), Protocol::cells);
  EXPECT_EQ(protocol_for(Relation::package, kPacketBytesMax).choose(1 << 30), Protocol::single_copy);
  EXPECT_EQ(protocol_for(Relation::self, kPacketBytesMax).choose(1 << 20), Protocol::single_copy);
}

TEST(protocol, the_explanation_says_what_is_chosen) {
  for (const Relation relation : kRelations) {
    const PairProtocol pair = protocol_for(relation, kPacketBytesMax);
    const std::vector<ProtocolRow> rows = explain(relation, kPacketBytesMax);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.front().from_bytes, 0u);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_FALSE(rows[i].reason.empty());
      EXPECT_EQ(pair.choose(rows[i].from_bytes), rows[i].protocol);
      if (i > 0) EXPECT_NE(pair.choose(rows[i].from_bytes - 1), rows[i].protocol);
    }
  }
}

}  // namespace
}  // namespace hearth::p2p
