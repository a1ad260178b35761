// Random sends and receives on one ring, compared with a queue. Payloads look like commit words of every lap,
// so that a slot that the writer did not clear is taken for a packet.
#include "shm/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace hearth::shm {
namespace {

struct Sent {
  uint32_t number;
  size_t bytes;
};

uint64_t word_of(uint32_t number, size_t at) {
  const uint64_t lap = (number + at) % 4 * kFirstLap;
  return PacketHeader::make_commit(1, 0, static_cast<uint32_t>(at), number) | lap;
}

void fill(std::byte* payload, uint32_t number, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = word_of(number, at);
    std::memcpy(payload + at, &word, std::min<size_t>(8, bytes - at));
  }
}

bool is_filled(const std::byte* payload, uint32_t number, size_t bytes) {
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), number, bytes);
  return bytes == 0 || std::memcmp(payload, expected.data(), bytes) == 0;
}

class Pair {
 public:
  explicit Pair(uint32_t lines)
      : bytes_max_(payload_bytes_max(lines)),
        memory_(lines + kRingHeadLines),
        notes_(RingWriter::note_words(lines)),
        writer_(memory_.data()->bytes, lines, WakeWord(), notes_.data()),
        reader_(memory_.data()->bytes, lines, WakeWord()) {}

  size_t bytes_max() const { return bytes_max_; }
  size_t waiting() const { return sent_.size(); }

  bool send(size_t bytes) {
    std::byte* place = writer_.claim(bytes);
    if (place == nullptr) return false;
    fill(payload_at(place), next_, bytes);
    EXPECT_EQ(writer_.claim(bytes), place) << "claiming again moved";
    writer_.commit(1, 0, bytes, next_, ~uint64_t{next_});
    sent_.push_back({next_++, bytes});
    return true;
  }
  bool send_short(size_t bytes) {
    std::byte* place = writer_.claim_short();
    if (place == nullptr) return false;
    fill(payload_at(place), next_, bytes);
    writer_.commit_short(slots_of_short(bytes),
                         PacketHeader::make_commit(1, 0, static_cast<uint32_t>(bytes), next_),
                         ~uint64_t{next_});
    sent_.push_back({next_++, bytes});
    return true;
  }
  void prefetch_for_write(size_t bytes) { writer_.prefetch_for_write(bytes); }
  void limit_sends(uint32_t packets) { writer_.limit_short(packets); }
  void limit_receives(uint32_t packets) { reader_.limit_short(packets); }
  bool tells_of_next() const { return reader_.next_slot() != nullptr; }

  /// Takes the oldest packet, if there is one, and compares it.
  void receive(bool at_once) {
    if (sent_.empty()) {
      ASSERT_EQ(reader_.peek(), nullptr) << "a packet that nobody sent";
      return;
    }
    const Sent oldest = sent_.front();
    sent_.pop_front();
    const std::byte* place = at_once && oldest.bytes <= kLinePayloadBytes ? reader_.next_slot() : nullptr;
    if (place != nullptr) {
      const uint64_t word = RingReader::peek_word(place);
      ASSERT_TRUE(reader_.is_packet(word));
      if (header_at(place).kind() == kPadKind) place = nullptr;
    }
    const bool quick = place != nullptr;
    if (!quick) place = reader_.peek();
    ASSERT_NE(place, nullptr) << "packet " << oldest.number << " is lost";
    const PacketHeader header = header_at(place);
    ASSERT_EQ(header.kind(), 1);
    ASSERT_EQ(header.cookie(), oldest.number);
    ASSERT_EQ(header.bytes(), oldest.bytes);
    ASSERT_EQ(header.match, ~uint64_t{oldest.number});
    ASSERT_TRUE(is_filled(payload_at(place), oldest.number, oldest.bytes));
    if (quick) {
      ++taken_quickly_;
      reader_.consume_short(slots_of_short(oldest.bytes));
    } else {
      reader_.consume(oldest.bytes);
    }
  }
  uint32_t taken_quickly() const { return taken_quickly_; }
  bool drained() { return writer_.drained(); }
  void tell() { reader_.publish_credit(); }
  uint32_t slots_written() const { return writer_.slots_written(); }
  uint32_t short_packets_written() const { return writer_.short_packets_written(); }
  uint32_t short_packets_read() const { return reader_.short_packets_read(); }

 private:
  struct alignas(kLineBytes) Line {
    std::byte bytes[kLineBytes];
  };
  size_t bytes_max_;
  std::vector<Line> memory_;
  std::vector<uint64_t> notes_;
  RingWriter writer_;
  RingReader reader_;
  std::deque<Sent> sent_;
  uint32_t next_ = 0;
  uint32_t taken_quickly_ = 0;
};

TEST(Ring, delivers_what_was_sent_in_order_whatever_lay_there_before) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    Pair pair(8u << random() % 4);
    const bool mostly_short = seed % 2 == 0;
    for (int step = 0; step < 4000; ++step) {
      // Long runs of sends and of receives, so that the ring is full and empty by turns.
      const bool sending = (step / 40 + random() % 3) % 2 == 0;
      const size_t bytes = mostly_short && random() % 16 != 0 ? random() % (kLinePayloadBytes + 1)
                                                              : random() % (pair.bytes_max() + 1);
      if (random() % 8 == 0) pair.prefetch_for_write(bytes);
      if (!sending) {
        pair.receive(random() % 2 == 0);
      } else if (bytes > kLinePayloadBytes || random() % 2 == 0 || !pair.send_short(bytes)) {
        pair.send(bytes);
      }
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Ring, packets_of_one_length_go_round_for_many_laps) {
  for (size_t bytes = 0; bytes <= 200; bytes += 4) {
    Pair pair(16);
    for (int packet = 0; packet < 1000; ++packet) {
      ASSERT_TRUE((bytes <= kLinePayloadBytes && pair.send_short(bytes)) || pair.send(bytes)) << bytes;
      pair.receive(packet % 2 == 0);
      ASSERT_FALSE(HasFatalFailure()) << bytes << " bytes, packet " << packet;
    }
  }
}

TEST(Ring, takes_the_longest_packet_wherever_it_stands_once_all_is_read) {
  for (uint32_t before = 0; before < 200; ++before) {
    Pair pair(16);
    for (uint32_t i = 0; i < before; ++i) {
      ASSERT_TRUE(pair.send(8));
      pair.receive(false);
    }
    ASSERT_TRUE(pair.send(pair.bytes_max())) << "after " << before << " packets";
    pair.receive(false);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(Ring, is_full_before_it_writes_over_what_is_unread) {
  Pair pair(16);
  while (pair.send(8)) {
  }
  EXPECT_EQ(pair.waiting(), 31u);  // one slot stays free
  EXPECT_FALSE(pair.send_short(8));
  EXPECT_FALSE(pair.drained());
  while (pair.waiting() > 0) {
    pair.receive(false);
    ASSERT_FALSE(HasFatalFailure());
  }
  pair.tell();
  EXPECT_TRUE(pair.drained());
}

TEST(Ring, two_short_packets_share_a_line) {
  Pair pair(16);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(pair.send_short(16));
  EXPECT_EQ(pair.slots_written(), 10u);
  ASSERT_TRUE(pair.send_short(17));
  EXPECT_EQ(pair.slots_written(), 12u);
}

TEST(Ring, gives_fewer_packets_where_it_is_told) {
  Pair pair(64);
  pair.limit_sends(3);
  int sent = 0;
  while (pair.send_short(8)) ++sent;
  EXPECT_EQ(sent, 3);
  // The limit holds for the fast path only: the ring has room, and the slow path still takes packets.
  EXPECT_TRUE(pair.send(200));
  EXPECT_TRUE(pair.send(8));
  EXPECT_FALSE(pair.send_short(8));
  pair.limit_sends(1);
  EXPECT_TRUE(pair.send_short(8));
  EXPECT_FALSE(pair.send_short(8));

  pair.limit_receives(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair.tells_of_next());
    pair.receive(true);
  }
  EXPECT_FALSE(pair.tells_of_next());
  while (pair.waiting() > 0) {
    pair.receive(true);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(Ring, counts_short_packets_of_either_length_apart) {
  Pair pair(64);
  ASSERT_TRUE(pair.send(8));
  ASSERT_TRUE(pair.send_short(8));
  ASSERT_TRUE(pair.send(100));
  ASSERT_TRUE(pair.send_short(40));
  ASSERT_TRUE(pair.send(40));
  EXPECT_EQ(pair.short_packets_written(), 2u);
  EXPECT_EQ(pair.slots_written(), 1u + 1 + 4 + 2 + 2);
  for (const bool at_once : {false, true, false, true, false}) pair.receive(at_once);
  EXPECT_EQ(pair.short_packets_read(), pair.taken_quickly());
  EXPECT_EQ(pair.taken_quickly(), 2u);
}

TEST(Ring, keeps_order_and_counts_under_limits_of_any_length) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Pair pair(8u << random() % 4);
    uint32_t sent_short = 0;
    for (int step = 0; step < 4000; ++step) {
      if (random() % 4 == 0) pair.limit_sends(random() % 32);
      if (random() % 4 == 0) pair.limit_receives(random() % 32);
      const bool sending = (step / 40 + random() % 3) % 2 == 0;
      const size_t bytes = random() % 4 != 0 ? random() % (kLinePayloadBytes + 1) : random() % 100;
      if (!sending) {
        pair.receive(random() % 4 != 0);
      } else if (bytes <= kLinePayloadBytes && random() % 4 != 0 && pair.send_short(bytes)) {
        ++sent_short;
      } else {
        pair.send(bytes);
      }
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
      ASSERT_EQ(pair.short_packets_written(), sent_short);
      ASSERT_EQ(pair.short_packets_read(), pair.taken_quickly());
    }
    EXPECT_GT(pair.taken_quickly(), 100u);
  }
}

TEST(Ring, laps_never_are_zero_and_three_follow_each_other) {
  uint64_t lap = kFirstLap;
  for (int i = 0; i < 9; ++i) {
    EXPECT_NE(lap, 0u);
    EXPECT_EQ(lap & ~kLapMask, 0u);
    EXPECT_NE(lap_after(lap), lap);
    EXPECT_NE(lap_after(lap_after(lap)), lap);
    EXPECT_EQ(lap_after(lap_after(lap_after(lap))), lap);
    lap = lap_after(lap);
  }
}

}  // namespace
}  // namespace hearth::shm
