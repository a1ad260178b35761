#include "p2p/pair_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "recording_transport.h"

namespace hearth::p2p {
namespace {

struct Pairs {
  RecordingTransport transport;
  std::vector<PeerIndex> known;
  PairTable table{4, [](PeerIndex) { return topo::Relation::machine; }, transport, nullptr,
                  [this](PeerIndex peer, const Pair&) { known.push_back(peer); }};
};

TEST(pair_table, a_pair_becomes_known_at_its_first_message) {
  Pairs job;
  EXPECT_FALSE(job.table.at(1).known);
  EXPECT_GT(job.table.know(1).protocol.ring_bytes_max, 0u);
  EXPECT_LE(job.table.know(1).protocol.ring_bytes_max, job.transport.packet_bytes_max());
  EXPECT_EQ(job.known, (std::vector<PeerIndex>{1}));
  EXPECT_FALSE(job.table.at(2).known);
}

TEST(pair_table, without_access_to_its_memory_a_peer_gets_no_single_copy) {
  Pairs job;
  const PairProtocol& protocol = job.table.know(1).protocol;
  EXPECT_EQ(protocol.single_copy_bytes_min, tune::kNever);
  EXPECT_EQ(protocol.arena_bytes_min, tune::kNever);
}

TEST(pair_table, hints_apply_to_their_communicator_only) {
  Pairs job;
  const uint64_t usual = job.table.limits_for(1, 16).first_fragment_bytes;
  tune::Hints hints;
  const std::pair<std::string, std::string> entries[] = {
      {"hearth_p2p_first_fragment_bytes", std::to_string(2 * usual)}};
  ASSERT_TRUE(tune::Hints::knows(entries[0].first));
  ASSERT_TRUE(hints.read(entries).ok());
  job.table.set_hints(16, hints);
  EXPECT_EQ(job.table.limits_for(1, 17).first_fragment_bytes, 2 * usual) << "a further context of the block";
  EXPECT_EQ(job.table.limits_for(1, 20).first_fragment_bytes, usual);
  job.table.set_hints(16, {});
  EXPECT_EQ(job.table.limits_for(1, 16).first_fragment_bytes, usual);
}

}  // namespace
}  // namespace hearth::p2p
