// Two threads, as two processes would, copy a message together over one desk.
#include "single_copy/cooperative.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/atomic.h"

namespace hearth::single_copy {
namespace {

constexpr uint16_t kHelper = 3;

struct Copying {
  shm::CopyDesk desk = {};
  std::vector<uint8_t> from;
  std::vector<uint8_t> to;

  void draw(size_t bytes, std::mt19937& random) {
    from.resize(bytes);
    for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
    to.assign(bytes, 0);
  }
  void copy(const Piece& piece) {
    for (size_t i = piece.at; i < piece.at + piece.bytes; ++i) {
      // Each byte is copied once: adding makes a second time visible.
      to[i] = static_cast<uint8_t>(to[i] + from[i]);
    }
  }
  size_t receive(uint32_t mark, Piece piece) {
    size_t here = 0;
    for (; piece.bytes > 0; piece = take_piece(desk, mark, from.size())) {
      copy(piece);
      here += piece.bytes;
    }
    await_pieces(desk, from.size() - here);
    return here;
  }
  size_t help(uint32_t mark, size_t bytes) {
    size_t helped = 0;
    for (;;) {
      const Piece piece = take_piece(desk, mark, bytes);
      if (piece.bytes == 0) return helped;
      copy(piece);
      report_piece(desk, piece);
      helped += piece.bytes;
    }
  }
};

TEST(Cooperative, TheReceiverAloneCopiesAllWhenNobodyComes) {
  std::mt19937 random(1);
  Copying copying;
  for (const size_t bytes : {1, 4095, 4096, 8193, 100'000, 3 << 20}) {
    copying.draw(bytes, random);
    const uint32_t mark = desk_mark(kHelper, 7);
    EXPECT_EQ(copying.receive(mark, open_desk(copying.desk, mark, bytes)), bytes);
    EXPECT_EQ(copying.to, copying.from);
  }
}

TEST(Cooperative, ALateSenderFindsNothingLeft) {
  std::mt19937 random(2);
  Copying copying;
  copying.draw(50'000, random);
  const uint32_t mark = desk_mark(kHelper, 1);
  copying.receive(mark, open_desk(copying.desk, mark, 50'000));
  EXPECT_EQ(take_piece(copying.desk, mark, 50'000).bytes, 0u);
}

TEST(Cooperative, AnInvitationToAnotherMessageOrAnotherSenderIsOver) {
  shm::CopyDesk desk = {};
  open_desk(desk, desk_mark(kHelper, 2), 1 << 20);
  EXPECT_EQ(take_piece(desk, desk_mark(kHelper, 1), 1 << 20).bytes, 0u);
  EXPECT_EQ(take_piece(desk, desk_mark(kHelper + 1, 2), 1 << 20).bytes, 0u);
  EXPECT_GT(take_piece(desk, desk_mark(kHelper, 2), 1 << 20).bytes, 0u);
}

TEST(Cooperative, PiecesAreDisjointAndCoverTheMessage) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{12'289}, size_t{65'536}, size_t{5'000'001}}) {
    shm::CopyDesk desk = {};
    const uint32_t mark = desk_mark(0, 1);
    size_t next = 0;
    for (Piece piece = open_desk(desk, mark, bytes); piece.bytes > 0; piece = take_piece(desk, mark, bytes)) {
      EXPECT_EQ(piece.at, next);
      next += piece.bytes;
    }
    EXPECT_EQ(next, bytes);
  }
}

// The sender comes at any moment of a message, often for one that is over: it must never touch the next one.
TEST(Cooperative, BothCopyEachByteOnceWheneverTheSenderComes) {
  constexpr int kMessages = 400;
  constexpr size_t kBytesMax = 400'000;
  const unsigned seed = 20260811;
  std::mt19937 random(seed);
  Copying copying;
  copying.from.reserve(kBytesMax);
  copying.to.reserve(kBytesMax);
  std::vector<size_t> bytes(kMessages + 1);
  int invited = 0;  // number of the message to which the sender was invited last
  std::thread sender([&] {
    for (int number = 1; number <= kMessages; ++number) {
      while (atomic::load_acquire(invited) < number) std::this_thread::yield();
      if (number % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // falls behind
      copying.help(desk_mark(kHelper, static_cast<uint16_t>(number)), bytes[static_cast<size_t>(number)]);
    }
  });
  for (int number = 1; number <= kMessages; ++number) {
    copying.draw(random() % kBytesMax + 1, random);
    const uint32_t mark = desk_mark(kHelper, static_cast<uint16_t>(number));
    bytes[static_cast<size_t>(number)] = copying.from.size();
    const Piece first = open_desk(copying.desk, mark, copying.from.size());
    atomic::store_release(invited, number);
    copying.receive(mark, first);
    ASSERT_EQ(copying.to, copying.from) << "message " << number << ", seed " << seed;
  }
  sender.join();
}

}  // namespace
}  // namespace hearth::single_copy
