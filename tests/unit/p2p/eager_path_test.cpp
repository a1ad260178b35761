#include "p2p/eager_path.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpi.h"
#include "p2p/protocol.h"
#include "recording_transport.h"

namespace hearth::p2p {
namespace {

constexpr uint64_t kMatch = match_word(4, 7);

/// One ring, with both of its ends.
struct Ring {
  static constexpr uint32_t kLines = 256;
  struct alignas(shm::kLineBytes) Line {
    std::byte bytes[shm::kLineBytes];
  };
  std::vector<Line> memory = std::vector<Line>(kLines + shm::kRingHeadLines);
  std::vector<uint64_t> notes = std::vector<uint64_t>(shm::RingWriter::note_words(kLines));
  shm::RingWriter writer{memory[0].bytes, kLines, shm::WakeWord(), notes.data()};
  shm::RingReader reader{memory[0].bytes, kLines, shm::WakeWord()};
};

/// Rings to and from process 1; packets to other processes are recorded.
struct RingTransport : RecordingTransport {
  std::byte* claim(PeerIndex to, size_t bytes, Status& status) override {
    ++claims;
    if (to != 1 || !rings) return RecordingTransport::claim(to, bytes, status);
    std::byte* slot = there.writer.claim(bytes);
    return slot == nullptr ? nullptr : shm::payload_at(slot);
  }
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t bytes, uint32_t cookie,
              uint64_t match) override {
    if (to != 1 || !rings) return RecordingTransport::commit(to, kind, flags, bytes, cookie, match);
    there.writer.commit(kind, flags, bytes, cookie, match);
  }
  shm::RingWriter* direct_ring_to(PeerIndex to) override {
    return to == 1 && rings ? &there.writer : nullptr;
  }
  shm::RingReader* direct_ring_from(PeerIndex from) override {
    return from == 1 && rings ? &back.reader : nullptr;
  }
  bool rings = false;
  int claims = 0;
  Ring there;
  Ring back;
};

struct EagerPathTest : testing::Test {
  EagerPathTest() {
    type.size = type.extent = type.true_extent = 1;
    type.contiguous = true;
    type.committed = true;
    pairs.know(1);
  }

  Request* send_of(const std::string& text, SendMode mode = SendMode::standard) {
    datatype::retain(type);
    Request* request = requests.create(RequestKind::send, const_cast<char*>(text.data()),
                                       static_cast<Count>(text.size()), type, MatchKey{4, 1, 7});
    request->mode = mode;
    requests.begin_send(*request);
    return request;
  }
  Request* receive_into(char* buffer, size_t bytes) {
    datatype::retain(type);
    return requests.create(RequestKind::receive, buffer, static_cast<Count>(bytes), type, MatchKey{4, 1, 7});
  }
  bool send(const std::string& text) {
    Status status;
    return eager.send(text.data(), type, text.size(), 1, kMatch, status);
  }
  bool serve() {
    return eager.serve_backlogs([this](Request& request) { return eager.start(request); });
  }
  /// Process 1 writes a packet into its ring.
  void arrive_in_ring(const std::string& text, uint64_t match = kMatch) {
    std::byte* line = transport.back.writer.claim(text.size());
    ASSERT_NE(line, nullptr);
    std::memcpy(shm::payload_at(line), text.data(), text.size());
    transport.back.writer.commit(static_cast<uint8_t>(PacketKind::eager), 0, text.size(), 0, match);
  }
  void arrive(const std::string& text, uint8_t flags = 0) {
    const auto kind = static_cast<uint8_t>(PacketKind::eager);
    const auto bytes = static_cast<uint32_t>(text.size());
    eager.on_packet(1, {shm::PacketHeader::make_commit(kind, flags, bytes, 9), kMatch},
                    reinterpret_cast<const std::byte*>(text.data()));
  }
  std::vector<std::string> sent() const {
    std::vector<std::string> texts;
    for (const RecordingTransport::Packet& packet : transport.packets) {
      texts.emplace_back(reinterpret_cast<const char*>(packet.payload.data()), packet.payload.size());
    }
    return texts;
  }

  int progressed = 0;
  datatype::Type type;
  RingTransport transport;
  Matching matching;
  FatalErrors errors{0, [](Status) { throw std::runtime_error("fatal"); }, matching.unexpected()};
  RequestTable requests{0, matching.posted(), errors};
  FailureRecord failures{3, nullptr};
  PairTable pairs{3, [](PeerIndex) { return topo::Relation::machine; }, transport, nullptr, {}};
  DeferredWork deferred{0, 3, transport};
  Answers answers{3, transport, failures, errors};
  MessageProfile profile{3, nullptr, matching.posted()};
  EagerPath eager{{transport, matching, requests, pairs, failures, deferred, answers, errors, profile,
                   [](void* test) { ++static_cast<EagerPathTest*>(test)->progressed; }, this}};
};

TEST_F(EagerPathTest, sends_that_wait_for_room_keep_their_order) {
  transport.room = 1;
  EXPECT_TRUE(send("first"));
  EXPECT_FALSE(send("second")) << "no room";
  const std::string texts[] = {"second", "third"};
  Request* requests_of[2];
  for (int i = 0; i < 2; ++i) {
    requests_of[i] = send_of(texts[i]);
    eager.add_to_backlog(*requests_of[i]);
  }
  EXPECT_TRUE(eager.has_backlog(1));
  transport.room = 2;
  EXPECT_FALSE(send("fourth")) << "earlier sends wait, although there is room";
  EXPECT_TRUE(serve());
  EXPECT_TRUE(requests_of[0]->complete);
  EXPECT_FALSE(requests_of[1]->complete);
  EXPECT_FALSE(serve());
  transport.room = SIZE_MAX;
  EXPECT_TRUE(serve());
  EXPECT_FALSE(eager.any_backlog());
  EXPECT_TRUE(send("fourth"));
  EXPECT_EQ(sent(), (std::vector<std::string>{"first", "second", "third", "fourth"}));
  for (Request* request : requests_of) requests.destroy(request);
}

TEST_F(EagerPathTest, unmatched_messages_block_the_sender) {
  transport.unexpected_kib = UINT32_MAX;
  EXPECT_TRUE(eager.is_flow_blocked(1));
  EXPECT_FALSE(send("one"));
  transport.unexpected_kib = 0;
  EXPECT_TRUE(send("one"));
}

TEST_F(EagerPathTest, a_message_longer_than_the_limit_is_left_to_the_rendezvous) {
  EXPECT_FALSE(send(std::string(pairs.at(1).protocol.ring_bytes_max + 1, 'x')));
  EXPECT_TRUE(transport.packets.empty());
}

TEST_F(EagerPathTest, a_synchronous_send_is_complete_after_the_match) {
  const std::string text = "sync";
  Request* request = send_of(text, SendMode::synchronous);
  EXPECT_TRUE(eager.start(*request));
  EXPECT_FALSE(request->complete);
  EXPECT_EQ(transport.packets[0].header.flags(), kSynchronous);
  EXPECT_EQ(requests.find_send(transport.packets[0].header.cookie(), 1), request);
  requests.complete_send(*request, {});
  requests.destroy(request);
}

TEST_F(EagerPathTest, sends_are_taken_out_of_the_backlog_by_a_property) {
  const std::string texts[] = {"a", "b", "c"};
  std::vector<Request*> all;
  for (const std::string& text : texts) {
    all.push_back(send_of(text));
    eager.add_to_backlog(*all.back());
  }
  std::vector<Request*> taken;
  eager.take_from_backlogs([&](const Request& request) { return &request == all[1]; }, taken);
  EXPECT_EQ(taken, (std::vector<Request*>{all[1]}));
  serve();
  EXPECT_EQ(sent(), (std::vector<std::string>{"a", "c"}));
  requests.complete_send(*all[1], {});
  for (Request* request : all) requests.destroy(request);
}

TEST_F(EagerPathTest, the_fast_path_opens_with_the_ring_and_closes_with_a_backlog) {
  transport.rings = true;
  EXPECT_FALSE(eager.peer(1).fast_path);
  EXPECT_TRUE(send("opens"));
  EXPECT_TRUE(eager.peer(1).fast_path);
  const int claims = transport.claims;
  EXPECT_TRUE(send("without a call of the transport"));
  EXPECT_EQ(transport.claims, claims);
  const std::string text = "waits";
  Request* request = send_of(text);
  eager.add_to_backlog(*request);
  EXPECT_FALSE(eager.peer(1).fast_path);
  serve();
  EXPECT_TRUE(eager.peer(1).fast_path);
  eager.disable();
  EXPECT_FALSE(eager.peer(1).fast_path);
  EXPECT_TRUE(send("after a revocation"));
  EXPECT_FALSE(eager.peer(1).fast_path);
  eager.enable_unless(false);
  eager.update_fast_path(1);
  EXPECT_TRUE(eager.peer(1).fast_path);
  requests.destroy(request);
}

TEST_F(EagerPathTest, several_lines_are_sent_by_the_fast_path) {
  transport.rings = true;
  EXPECT_TRUE(send("opens"));
  transport.there.reader.consume(5);
  const std::string text(600, 'z');
  EXPECT_TRUE(eager.send_lines(text.data(), type, text.size(), 1, kMatch, 0));
  const std::byte* line = transport.there.reader.peek();
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(shm::header_at(line).bytes(), text.size());
  EXPECT_EQ(std::memcmp(shm::payload_at(line), text.data(), text.size()), 0);
  EXPECT_TRUE(deferred.any()) << "the next packet of this length is to be prefetched";
}

TEST_F(EagerPathTest, a_packet_completes_a_posted_receive_or_joins_the_queue) {
  char buffer[8] = {};
  Request* request = receive_into(buffer, sizeof buffer);
  ASSERT_EQ(matching.post(*request), nullptr);
  arrive("hello", kSynchronous);
  EXPECT_TRUE(request->complete);
  EXPECT_EQ(request->received_bytes, 5);
  EXPECT_STREQ(buffer, "hello");
  ASSERT_EQ(transport.packets.size(), 1u);
  EXPECT_EQ(transport.packets[0].header.kind(), static_cast<uint8_t>(PacketKind::matched));
  EXPECT_EQ(transport.packets[0].header.cookie(), 9u);
  arrive("again");
  EXPECT_EQ(matching.unexpected().size(), 1u);
  EXPECT_GT(transport.unexpected_bytes, 5);
  requests.destroy(request);
}

struct EagerReceiveTest : EagerPathTest {
  EagerReceiveTest() {
    transport.rings = true;
    arrive("meets");  // from now on the ring is read directly
    UnexpectedMessage* message = matching.take({4, 1, 7});
    matching.destroy(message);
  }
  bool receive(uint64_t room, uint64_t& received) {
    return eager.receive(reinterpret_cast<std::byte*>(buffer), room, 1, kMatch, received);
  }
  char buffer[1024] = {};
  uint64_t bytes = 0;
};

TEST_F(EagerReceiveTest, the_next_packet_is_received_without_the_queues) {
  arrive_in_ring("exact");
  arrive_in_ring("short");
  EXPECT_TRUE(receive(5, bytes));
  EXPECT_EQ(bytes, 5u);
  EXPECT_TRUE(receive(100, bytes));
  EXPECT_EQ(bytes, 5u);
  EXPECT_STREQ(buffer, "short");
  EXPECT_FALSE(receive(100, bytes)) << "the ring is empty";
}

TEST_F(EagerReceiveTest, another_message_stays_in_the_ring) {
  arrive_in_ring("other tag", match_word(4, 8));
  EXPECT_FALSE(receive(100, bytes));
  EXPECT_NE(transport.back.reader.peek(), nullptr);
}

TEST_F(EagerReceiveTest, a_message_longer_than_the_buffer_stays_in_the_ring) {
  arrive_in_ring("longer");
  EXPECT_FALSE(receive(5, bytes));
  EXPECT_NE(transport.back.reader.peek(), nullptr);
}

TEST_F(EagerReceiveTest, queued_operations_go_first) {
  arrive_in_ring("later");
  arrive("sooner");
  EXPECT_FALSE(receive(100, bytes));
  matching.destroy(matching.take({4, 1, 7}));
  EXPECT_TRUE(receive(100, bytes));
}

TEST_F(EagerReceiveTest, lines_are_received_at_exactly_their_length) {
  const std::string text(300, 'q');
  shm::RingReader& ring = *eager.peer(1).rings.from;
  auto* to = reinterpret_cast<std::byte*>(buffer);
  arrive_in_ring(text);
  EXPECT_FALSE(eager.receive_lines(ring, to, 301, kMatch, 0));
  EXPECT_FALSE(eager.receive_lines(ring, to, 300, match_word(4, 8), 0));
  EXPECT_TRUE(eager.receive_lines(ring, to, 300, kMatch, 0));
  EXPECT_EQ(std::string(buffer), text);
}

// Messages that are received from their ring alone must not starve other operations.
TEST_F(EagerReceiveTest, other_operations_progress_at_intervals) {
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i) {
    arrive_in_ring("x");
    ASSERT_TRUE(receive(1, bytes)) << i;
  }
  EXPECT_GE(progressed, kMessages / 32);
  EXPECT_LE(progressed, kMessages / 4);
}

}  // namespace
}  // namespace hearth::p2p
