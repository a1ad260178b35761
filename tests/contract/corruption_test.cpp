// Stray writes into shared memory: the rank that reads the damage reports it and stops. Each case overwrites
// some words, as a faulty program of the job might, and then polls.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/contexts.h"
#include "job.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "shm/corruption.h"

namespace hearth::contract {
namespace {

using p2p::Engine;
using p2p::Fragment;
using p2p::PacketKind;
using p2p::RendezvousStart;
using p2p::Request;

constexpr uint32_t kContext = 6;
constexpr int kTag = 4;
constexpr Count kLong = 100'000;

struct Stopped {};

class Corruption : public testing::Test {
 protected:
  Corruption() {
    shm::set_corruption_handler([](Status) { throw Stopped(); });
    byte_.size = byte_.extent = byte_.true_extent = 1;
    byte_.committed = true;
    for (int rank = 0; rank < job_.size(); ++rank) {
      p2p::EngineSetup setup;
      setup.self = rank;
      setup.size = job_.size();
      setup.transport = &job_.endpoint(rank);
      setup.relation = [](PeerIndex) { return topo::Relation::l3; };
      setup.warn = [](const char*) {};
      engines_.push_back(std::make_unique<Engine>(setup));
    }
  }
  ~Corruption() override { shm::set_corruption_handler(nullptr); }

  Engine& engine(int rank) { return *engines_[static_cast<size_t>(rank)]; }

  /// Sends rank 0 a packet that only a faulty rank 1 would send.
  void send(PacketKind kind, const void* payload, size_t bytes, uint32_t cookie = 0) {
    Status status;
    std::byte* place = job_.endpoint(1).claim(0, bytes, status);
    ASSERT_NE(place, nullptr);
    if (bytes != 0) std::memcpy(place, payload, bytes);
    job_.endpoint(1).commit(0, static_cast<uint8_t>(kind), 0, bytes, cookie, p2p::match_word(kContext, kTag));
  }
  void announce(uint64_t bytes, Fragment fragment) {
    RendezvousStart start = {};
    start.bytes = bytes;
    start.fragment = fragment;
    send(PacketKind::rendezvous, &start, p2p::rendezvous_bytes(0));
  }
  /// The ring from rank 1 to rank 0, after one message of 8 bytes.
  std::byte* ring() {
    uint64_t number = 7;
    Request* request = nullptr;
    EXPECT_TRUE(engine(1).isend(&number, 8, byte_, 0, kTag, kContext, request).ok());
    EXPECT_TRUE(engine(0).receive(&number, 8, byte_, 1, kTag, kContext).ok());
    return job_.segment().ring_memory(job_.segment().ring_number(0, 1) - 1);
  }
  /// The commit word of the second packet in this ring; each packet takes one slot.
  static uint64_t& second_commit(std::byte* ring) {
    return shm::header_at(ring + shm::kRingHeadLines * shm::kLineBytes + shm::kSlotBytes).commit;
  }
  void post_receive(Count bytes) {
    buffer_.resize(static_cast<size_t>(bytes));
    ASSERT_TRUE(engine(0).ireceive(buffer_.data(), bytes, byte_, 1, kTag, kContext, posted_).ok());
  }

  /// The error text of the corruption check that `action` triggers.
  std::string words(const std::function<void()>& action) {
    try {
      action();
    } catch (const Stopped&) {
      return last_failure_text();
    }
    return "nothing was found";
  }
  std::string words_of_progress(int rank = 0) {
    return words([this, rank] {
      for (int i = 0; i < 10; ++i) engine(rank).progress();
    });
  }
  static testing::AssertionResult says(const std::string& words, const std::string& part) {
    if (words.find(part) != std::string::npos && words.find("stray write") != std::string::npos &&
        words.find("Remedy:") != std::string::npos) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "'" << part << "' is not in: " << words;
  }

  Job job_{{Kind::shm, 1}, 3};
  datatype::Type byte_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::byte> buffer_;
  Request* posted_ = nullptr;
};

TEST_F(Corruption, a_packet_longer_than_its_ring_is_not_read) {
  uint64_t& commit = second_commit(ring());
  commit =
      shm::PacketHeader::make_commit(static_cast<uint8_t>(PacketKind::eager), 0, 60'000, 0) | shm::kFirstLap;
  EXPECT_TRUE(says(words_of_progress(), "rank 1's ring to rank 0 holds a packet of 60000 bytes"));
  // A receive that polls only this ring finds the damage, too, for a message of any length.
  std::vector<std::byte> room(65'000);
  EXPECT_TRUE(says(
      words([&] { static_cast<void>(engine(0).receive(room.data(), 65'000, byte_, 1, kTag, kContext)); }),
      "holds a packet of 60000 bytes"));
  EXPECT_TRUE(says(
      words([&] { static_cast<void>(engine(0).receive(room.data(), 60'000, byte_, 1, kTag, kContext)); }),
      "holds a packet of 60000 bytes"));
}

TEST_F(Corruption, a_packet_of_no_kind_is_none) {
  uint64_t& commit = second_commit(ring());
  commit = shm::PacketHeader::make_commit(0x2a, 0, 12, 0) | shm::kFirstLap;
  EXPECT_TRUE(says(words_of_progress(), "invalid packet from rank 1 to rank 0: kind 42, 12 bytes"));
}

TEST_F(Corruption, packets_with_the_wrong_room_are_none) {
  send(PacketKind::rendezvous, "short", 5);
  EXPECT_TRUE(says(words_of_progress(), "kind 2, 5 bytes"));
}

TEST_F(Corruption, a_message_of_more_bytes_than_there_can_be_is_not_begun) {
  post_receive(kLong);
  announce(~uint64_t{0}, {0, 0});
  EXPECT_TRUE(says(words_of_progress(), "rank 1 announces a message of 18446744073709551615 bytes"));
}

TEST_F(Corruption, buffers_that_are_not_there_are_not_read) {
  post_receive(kLong);
  announce(kLong, {9999, 2048});
  EXPECT_TRUE(
      says(words_of_progress(), "rank 1 tells rank 0 of 2048 bytes in bounce buffer 9999 of rank 1's pool"));
}

TEST_F(Corruption, buffers_hold_no_more_than_they_are_long) {
  post_receive(kLong);
  announce(kLong, {20, 99'999});
  EXPECT_TRUE(says(words_of_progress(), "99999 bytes in bounce buffer 20"));
}

TEST_F(Corruption, pieces_are_no_longer_than_their_message) {
  announce(3000, {0, 2048});
  EXPECT_EQ(words_of_progress(), "nothing was found");
  const Fragment more = {1, 2048};
  send(PacketKind::buffered_fragment, &more, sizeof more);
  EXPECT_TRUE(says(words_of_progress(), "rank 1 announces 4096 bytes of a message of 3000 bytes"));
}

TEST_F(Corruption, a_ring_that_is_not_there_is_not_opened) {
  job_.segment().ring_number(0, 2) = 4711;
  atomic::fetch_or(job_.segment().connect_bitmap(0)[0], uint64_t{1} << 2);
  EXPECT_TRUE(says(words_of_progress(), "rank 2's ring to rank 0 has the number 4711"));
}

TEST_F(Corruption, a_ring_is_opened_once) {
  std::byte* memory = ring();
  atomic::fetch_or(job_.segment().connect_bitmap(0)[0], uint64_t{2});
  EXPECT_EQ(words_of_progress(), "nothing was found");
  EXPECT_EQ(ring(), memory);  // its messages arrive as before
}

TEST_F(Corruption, a_reader_is_not_ahead_of_the_writer) {
  *reinterpret_cast<uint32_t*>(ring()) = 5000;
  std::vector<std::byte> data(8);
  EXPECT_TRUE(says(words([&] {
                     for (int i = 0; i < 300; ++i) {
                       Request* request = nullptr;
                       static_cast<void>(engine(1).isend(data.data(), 8, byte_, 0, kTag, kContext, request));
                     }
                   }),
                   "rank 0 has read 5000 of them"));
}

// Late replies are dropped with a warning.
TEST_F(Corruption, answers_to_nothing_are_dropped) {
  for (const PacketKind kind : {PacketKind::clear_to_send, PacketKind::finished, PacketKind::matched,
                                PacketKind::written, PacketKind::buffer_came, PacketKind::buffer_left}) {
    send(kind, nullptr, 0, 12345);
  }
  EXPECT_EQ(words_of_progress(), "nothing was found");
}

// The context of agreements belongs to no communicator and cannot be revoked.
TEST_F(Corruption, what_belongs_to_no_communicator_is_not_revoked) {
  Request* request = nullptr;
  std::byte byte = {};
  ASSERT_TRUE(engine(0).ireceive(&byte, 1, byte_, 1, kTag, kAgreementContext, request).ok());
  send(PacketKind::revoked, nullptr, 0, kAgreementContext);
  EXPECT_EQ(words_of_progress(), "nothing was found");
  EXPECT_FALSE(request->complete) << "agreements could not be made any more";
  ASSERT_TRUE(engine(1).send(&byte, 1, byte_, 0, kTag, kAgreementContext).ok());
  EXPECT_TRUE(engine(0).wait(request).ok());
}

// A reply to a send that has not started is dropped, too.
TEST_F(Corruption, a_send_that_waits_for_room_has_no_answer) {
  std::vector<Request*> requests;
  std::vector<std::byte> data(1000);
  while (requests.empty() || requests.back() == nullptr || requests.back()->complete) {
    Request* request = nullptr;
    ASSERT_TRUE(
        engine(0).isend(data.data(), 1000, byte_, 1, kTag, kContext, request, p2p::SendMode::standard).ok());
    requests.push_back(request == engine(0).requests().completed_send() ? nullptr : request);
  }
  send(PacketKind::matched, nullptr, 0, requests.back()->slot);
  EXPECT_EQ(words_of_progress(), "nothing was found");
  EXPECT_FALSE(requests.back()->complete);
}

// The geometry in the job's header is read only once: later changes have no effect.
TEST_F(Corruption, the_division_of_the_segment_is_remembered) {
  shm::JobHeader& header = job_.segment().job();
  const shm::JobHeader before = header;
  std::byte* buffer = job_.segment().buffer_memory(2, 20);
  static_cast<shm::JobGeometry&>(header) = {};
  EXPECT_EQ(job_.segment().buffer_memory(2, 20), buffer);
  static_cast<shm::JobGeometry&>(header) = before;
}

}  // namespace
}  // namespace hearth::contract
