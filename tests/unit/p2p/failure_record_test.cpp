#include "p2p/failure_record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../scripted_deaths.h"
#include "base/contexts.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::p2p {
namespace {

constexpr int kSize = 4;
constexpr uint32_t kContext = 2 * kFirstFreeContext;

struct FailureRecordTest : testing::Test {
  FailureRecordTest() : comm(*objects::pools.comms.create()) {
    comm.context = kContext;
    comm.group = objects::pools.groups.create();
    for (PeerIndex process = 0; process < kSize; ++process) comm.group->peers.push_back(process);
    comm.size = comm.peer_count = kSize;
    comm.peers = comm.group->peers.data();
  }
  ~FailureRecordTest() override {
    objects::pools.groups.destroy(comm.group);
    objects::pools.comms.destroy(&comm);
  }
  std::vector<PeerIndex> take() {
    std::vector<PeerIndex> taken;
    record.take_deaths([&](PeerIndex process) {
      taken.push_back(process);
      record.note_death(process);
    });
    return taken;
  }

  shm::ScriptedDeaths registry;
  FailureRecord record{kSize, &registry};
  objects::Comm& comm;
};

TEST_F(FailureRecordTest, each_death_is_taken_once) {
  EXPECT_FALSE(record.any() || record.has_news());
  registry.add(2);
  EXPECT_TRUE(record.has_news());
  EXPECT_FALSE(record.is_dead(2)) << "not taken yet";
  EXPECT_EQ(take(), (std::vector<PeerIndex>{2}));
  EXPECT_TRUE(record.any() && record.is_dead(2) && !record.has_news());
  registry.add(1);
  EXPECT_EQ(take(), (std::vector<PeerIndex>{1}));
  EXPECT_EQ(record.deaths(), 2u);
  const PeerIndex alive[] = {0, 3};
  const PeerIndex some[] = {0, 1};
  EXPECT_FALSE(record.has_dead(alive));
  EXPECT_TRUE(record.has_dead(some));
  EXPECT_TRUE(record.death_among(alive).ok());
  EXPECT_EQ(record.death_among(some).error_class(), MPIX_ERR_PROC_FAILED);
  EXPECT_NE(std::string(last_failure_text()).find("process 1 has died"), std::string::npos);
}

TEST_F(FailureRecordTest, messages_with_a_dead_process_cannot_complete) {
  registry.add(2);
  take();
  EXPECT_EQ(record.check({kContext, 2, 7}).error_class(), MPIX_ERR_PROC_FAILED);
  EXPECT_TRUE(record.check({kContext, 1, 7}).ok());
  EXPECT_TRUE(record.check({kContext, MPI_ANY_SOURCE, 7}).ok()) << "another process may still send";
}

TEST_F(FailureRecordTest, a_collective_ends_with_any_member) {
  const MatchKey of_collective = {kContext + kCollectiveContext, 1, MPI_ANY_TAG - 5};
  EXPECT_TRUE(record.check_collective(of_collective).ok());
  EXPECT_FALSE(record.mark_broken(comm));
  registry.add(2);
  take();
  EXPECT_TRUE(record.mark_broken(comm));
  EXPECT_FALSE(record.mark_broken(comm)) << "already marked";
  EXPECT_EQ(record.failure_of(comm).error_class(), MPIX_ERR_PROC_FAILED);
  EXPECT_EQ(record.check_collective(of_collective).error_class(), MPIX_ERR_PROC_FAILED);
  EXPECT_EQ(record.check(of_collective).error_class(), MPIX_ERR_PROC_FAILED)
      << "process 1 is alive, but has left the collective or will";
  EXPECT_TRUE(record.check_collective({kContext, 1, 7}).ok()) << "not a collective";
}

TEST_F(FailureRecordTest, receives_from_any_source_stall_until_the_death_is_acknowledged) {
  registry.add(2);
  take();
  record.mark_broken(comm);
  EXPECT_TRUE(record.stalls({kContext, MPI_ANY_SOURCE, 7}));
  EXPECT_FALSE(record.stalls({kContext, 1, 7}));
  EXPECT_FALSE(record.stalls({kContext + kCollectiveContext, MPI_ANY_SOURCE, 7}));
  EXPECT_EQ(record.check_source(MPI_ANY_SOURCE, kContext).error_class(), MPIX_ERR_PROC_FAILED);
  comm.deaths_acknowledged = 1;
  EXPECT_FALSE(record.stalls({kContext, MPI_ANY_SOURCE, 7}));
  EXPECT_TRUE(record.check_source(MPI_ANY_SOURCE, kContext).ok());
}

TEST_F(FailureRecordTest, a_revocation_concerns_all_contexts_of_the_communicator) {
  constexpr uint32_t kOther = kContext + kContextsEach;
  constexpr uint32_t kChannel = kContext + 2 * kContextsEach;
  record.adopt(kChannel, kContext);
  EXPECT_EQ(record.revoked(kContext), nullptr);
  EXPECT_EQ(record.note_revoked(kContext + kCollectiveContext).comm, &comm);
  EXPECT_TRUE(record.any());
  for (const uint32_t context :
       {kContext, kContext + kCollectiveContext, kContext | kOfferContext, kChannel}) {
    EXPECT_NE(record.revoked(context), nullptr) << context;
    EXPECT_EQ(record.check({context, 1, 7}).error_class(), MPIX_ERR_REVOKED) << context;
  }
  EXPECT_EQ(record.revoked(kOther), nullptr);
  record.disown(kChannel);
  EXPECT_NE(record.revoked(kChannel), nullptr) << "messages may still arrive";
}

TEST_F(FailureRecordTest, a_disowned_context_is_its_own) {
  constexpr uint32_t kChannel = kContext + 2 * kContextsEach;
  record.adopt(kChannel, kContext);
  EXPECT_EQ(record.home_of(kChannel), context_block(kContext));
  record.disown(kChannel);
  EXPECT_EQ(record.home_of(kChannel), context_block(kChannel));
}

}  // namespace
}  // namespace hearth::p2p
