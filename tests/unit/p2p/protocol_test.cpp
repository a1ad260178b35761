#include "p2p/protocol.h"

#include <gtest/gtest.h>

#include "p2p/stream.h"
#include "shm/ring.h"
#include "tune/threshold.h"

namespace hearth::p2p {
namespace {

using topo::Relation;

constexpr Relation kRelations[] = {Relation::self,    Relation::smt,     Relation::l2,
                                   Relation::l3,      Relation::numa,    Relation::package,
                                   Relation::machine, Relation::unknown, Relation::network};
constexpr TransportLimits kLimits = {shm::payload_bytes_max(512), 512 << 10};

TEST(protocol, short_messages_take_one_line) {
  for (const Relation relation : kRelations) {
    const PairProtocol pair = protocol_for(relation, kLimits);
    EXPECT_EQ(pair.choose(0), Protocol::inlined);
    EXPECT_EQ(pair.choose(48), Protocol::inlined);
    EXPECT_EQ(pair.choose(49), Protocol::eager);
  }
}

TEST(protocol, a_small_ring_limits_what_goes_inside) {
  const PairProtocol pair = protocol_for(Relation::l3, {1000, 4096});
  EXPECT_EQ(pair.choose(1000), Protocol::eager);
  EXPECT_EQ(pair.choose(1001), Protocol::bounce_buffers);
}

TEST(protocol, the_transport_limits_pieces) {
  EXPECT_EQ(protocol_for(Relation::l3, {1000, 4096}).fragment_bytes_max, 4096u);
  const std::vector<tune::Tuned> many = {{param::Id::p2p_fragments_in_flight, Relation::l3, 1000},
                                         {param::Id::p2p_fragment_bytes_max, Relation::l3, 0}};
  tune::use(many);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).fragments_in_flight_max, kFragmentsInFlightMax);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).fragment_bytes_max, 1u);
  tune::use({});
}

TEST(protocol, a_profile_moves_the_limits_of_its_relation_only) {
  const std::vector<tune::Tuned> tuned = {{param::Id::p2p_single_copy_bytes_min, Relation::l3, 1 << 20},
                                          {param::Id::p2p_eager_bytes_max, Relation::numa, 512}};
  tune::use(tuned);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(1 << 20), Protocol::single_copy);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose((1 << 20) - 1), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::l2, kLimits).choose(1 << 20), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::numa, kLimits).choose(513), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(513), Protocol::eager);
  tune::use({});
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(1 << 20), Protocol::bounce_buffers);
}

TEST(protocol, single_copy_by_the_kernel_is_for_oneself_only) {
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(1 << 30), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::package, kLimits).choose(1 << 30), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::self, kLimits).choose(1 << 20), Protocol::single_copy);
}

TEST(protocol, the_arena_is_for_long_messages_of_pairs_that_share_a_cache) {
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(1 << 20, true), Protocol::arena);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(1 << 20), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::l3, kLimits).choose(32 << 10, true), Protocol::bounce_buffers);
  EXPECT_EQ(protocol_for(Relation::package, kLimits).choose(1 << 30, true), Protocol::bounce_buffers);
}

TEST(protocol, the_arena_is_measured_for_shorter_messages_unless_its_length_is_fixed) {
  const PairProtocol pair = protocol_for(Relation::l3, kLimits);
  EXPECT_TRUE(pair.measures_arena(128 << 10));
  EXPECT_FALSE(pair.measures_arena(32 << 10));
  EXPECT_FALSE(pair.measures_arena(1 << 20)) << "always the arena";
  EXPECT_FALSE(protocol_for(Relation::package, kLimits).measures_arena(128 << 10));

  const std::vector<tune::Tuned> tuned = {{param::Id::p2p_arena_bytes_min, Relation::l3, 1 << 21}};
  tune::use(tuned);
  EXPECT_TRUE(protocol_for(Relation::l3, kLimits).measures_arena(1 << 20)) << "a profile fixes nothing";
  tune::use({});

  const auto hinted = [](std::vector<std::pair<std::string, std::string>> entries) {
    tune::Hints hints;
    EXPECT_TRUE(hints.read(entries).ok());
    return protocol_for(Relation::l3, kLimits, &hints);
  };
  EXPECT_FALSE(hinted({{"hearth_p2p_arena_bytes_min", "2097152"}}).measures_arena(1 << 20));
  EXPECT_FALSE(hinted({{"hearth_p2p_arena_bytes_min", "never"}}).measures_arena(1 << 20));
  EXPECT_TRUE(
      hinted({{"hearth_p2p_arena_bytes_min", "2097152"}, {"hearth_p2p_arena_measured_bytes_min", "65536"}})
          .measures_arena(1 << 20));
}

}  // namespace
}  // namespace hearth::p2p
