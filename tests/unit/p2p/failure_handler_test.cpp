#include "p2p/failure_handler.h"

#include <gtest/gtest.h>

#include <vector>

#include "../scripted_deaths.h"
#include "base/contexts.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"
#include "rendezvous_parts.h"

namespace hearth::p2p {
namespace {

constexpr uint32_t kContext = 4 * kFirstFreeContext;

/// Process 0 of three, with a communicator of all.
struct FailureHandlerTest : testing::Test, RendezvousParts {
  FailureHandlerTest() : comm(*objects::pools.comms.create()) {
    comm.context = kContext;
    comm.group = objects::pools.groups.create();
    for (PeerIndex process = 0; process < 3; ++process) comm.group->peers.push_back(process);
    comm.size = comm.peer_count = 3;
    comm.peers = comm.group->peers.data();
  }
  ~FailureHandlerTest() override {
    objects::pools.groups.destroy(comm.group);
    objects::pools.comms.destroy(&comm);
  }
  Request* receive(PeerIndex from, uint32_t context = kContext) {
    datatype::retain(type);
    Request* request =
        requests.create(RequestKind::receive, nullptr, Count{0}, type, MatchKey{context, from, 7});
    EXPECT_EQ(matching.post(*request), nullptr);
    return request;
  }
  std::vector<PeerIndex> told(PacketKind kind) const {
    std::vector<PeerIndex> processes;
    for (const auto& packet : transport.packets) {
      if (packet.header.kind() == static_cast<uint8_t>(kind)) processes.push_back(packet.to);
    }
    return processes;
  }

  objects::Comm& comm;
  shm::ScriptedDeaths registry;
  FailureRecord record{3, &registry};
  Answers death_answers{3, transport, record, errors};
  MessageProfile profile{3, nullptr, matching.posted()};
  EagerPath eager{{transport, matching, requests, pairs, record, deferred, death_answers, errors, profile,
                   [](void*) {}, nullptr}};
  OfferedCopies copies{transport, requests, pairs, access, nullptr, nullptr, counters};
  LongReceives receives{0,
                        {transport, matching, requests, pairs, buffers, copies, sends, death_answers, errors,
                         nullptr, nullptr, counters}};
  SleepingThreads threads{transport, 1'000'000'000};
  int polls = 0;
  FailureHandler handler{
      0,
      {transport, matching, requests, record, death_answers, eager, buffers, access, sends, receives, threads,
       errors, [](void* test) { ++static_cast<FailureHandlerTest*>(test)->polls; }, this, nullptr}};
};

TEST_F(FailureHandlerTest, without_news_nothing_is_done) {
  EXPECT_FALSE(handler.poll());
  EXPECT_EQ(polls, 0);
}

TEST_F(FailureHandlerTest, a_death_ends_the_operations_that_need_the_process) {
  Request* from_dead = receive(1);
  Request* from_alive = receive(2);
  std::vector<std::byte> data = pattern(300'000);
  Request* to_dead = send_of(data, 1);
  ASSERT_TRUE(sends.start(*to_dead, false));
  std::vector<std::byte> small = pattern(10);
  Request* waiting = send_of(small, 1);
  eager.add_to_backlog(*waiting);
  Request* to_alive = send_of(small, 2);
  eager.add_to_backlog(*to_alive);

  registry.add(1);
  EXPECT_TRUE(handler.poll());
  EXPECT_EQ(polls, 1) << "what it sent before is received first";
  for (Request* ended : {from_dead, to_dead, waiting}) {
    EXPECT_TRUE(ended->complete);
    EXPECT_EQ(ended->outcome.error_class(), MPIX_ERR_PROC_FAILED);
    requests.destroy(ended);
  }
  EXPECT_FALSE(from_alive->complete || to_alive->complete);
  EXPECT_GT(transport.released.size(), 0u) << "its bounce buffers are reclaimed";
  EXPECT_EQ(comm.failure, MPIX_ERR_PROC_FAILED);
  handler.give_up(kContext, 7, Status::error(MPI_ERR_OTHER));
  EXPECT_EQ(from_alive->outcome.error_class(), MPI_ERR_OTHER);
  requests.destroy(from_alive);
}

TEST_F(FailureHandlerTest, a_receive_posted_after_the_death_ends_at_the_next_check) {
  registry.add(1);
  handler.poll();
  Request* late = receive(1);
  EXPECT_TRUE(handler.poll());
  EXPECT_EQ(late->outcome.error_class(), MPIX_ERR_PROC_FAILED);
  requests.destroy(late);
}

TEST_F(FailureHandlerTest, a_receive_from_any_source_stalls_until_the_death_is_acknowledged) {
  Request* any = receive(MPI_ANY_SOURCE);
  registry.add(1);
  handler.poll();
  EXPECT_TRUE(any->complete && any->queued);
  EXPECT_EQ(any->outcome.error_class(), MPIX_ERR_PROC_FAILED_PENDING);
  handler.acknowledge(comm, record.deaths());
  EXPECT_FALSE(any->complete);
  EXPECT_FALSE(handler.poll()) << "the acknowledged death ends nothing again";
  EXPECT_FALSE(any->complete);
  requests.destroy(any);
}

TEST_F(FailureHandlerTest, a_revocation_is_passed_on_and_ends_all_messages_of_the_communicator) {
  Request* of_comm = receive(1);
  Request* of_other = receive(1, kContext + kContextsEach);
  const std::byte payload[4] = {};
  ASSERT_NE(matching.add({kContext, 2, 9}, {shm::PacketHeader::make_commit(1, 0, 4, 0), 0}, payload),
            nullptr);
  handler.on_revoked(1, kContext);
  EXPECT_EQ(told(PacketKind::revoked), (std::vector<PeerIndex>{1, 2}));
  EXPECT_EQ(of_comm->outcome.error_class(), MPIX_ERR_REVOKED);
  EXPECT_FALSE(of_other->complete);
  EXPECT_TRUE(matching.unexpected().empty());
  handler.on_revoked(2, kContext);
  handler.revoke(comm);
  EXPECT_EQ(told(PacketKind::revoked).size(), 2u) << "once per process";
  for (Request* request : {of_comm, of_other}) requests.destroy(request);
}

TEST_F(FailureHandlerTest, a_collective_that_lost_a_message_for_lack_of_memory_is_revoked) {
  const auto lose = [this](uint32_t context, int tag) {
    MessageGroup group;
    datatype::retain(type);
    Request* send = requests.create(RequestKind::send, nullptr, Count{8}, type, MatchKey{context, 1, tag});
    requests.begin_send(*send);
    requests.entrust(send, group);
    requests.complete_send(*send, Status::error(MPI_ERR_NO_MEM));
    return handler.poll();
  };
  EXPECT_FALSE(lose(kContext, -1000)) << "no collective";
  EXPECT_FALSE(lose(kContext + kCollectiveContext, 7)) << "among some processes";
  EXPECT_EQ(comm.failure, 0);
  EXPECT_TRUE(lose(kContext + kCollectiveContext, -1000));
  EXPECT_EQ(comm.failure, MPIX_ERR_REVOKED);
  EXPECT_EQ(told(PacketKind::revoked), (std::vector<PeerIndex>{1, 2}));
}

TEST_F(FailureHandlerTest, predefined_communicators_cannot_be_revoked_by_a_packet) {
  handler.on_revoked(1, kSelfContext);
  EXPECT_FALSE(record.any());
}

// A packet may tell of the revocation before this process has created the communicator.
TEST_F(FailureHandlerTest, a_new_communicator_inherits_earlier_failures) {
  const uint32_t later = kContext + 8 * kContextsEach;
  handler.on_revoked(1, later);
  comm.context = later;
  EXPECT_EQ(comm.failure, 0);
  handler.examine(comm);
  EXPECT_EQ(comm.failure, MPIX_ERR_REVOKED);
}

}  // namespace
}  // namespace hearth::p2p
