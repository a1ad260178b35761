// Two threads, in place of two processes, copy a message together over one control block.
#include "single_copy/cooperative.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/atomic.h"

namespace hearth::single_copy {
namespace {

constexpr uint16_t kHelper = 3;

Message message_of(uint16_t number, size_t bytes, const PieceSizes& sizes = kPlainPieces) {
  return {copy_mark(kHelper, number), bytes, sizes};
}

/// A message and its control block.
struct Copying {
  shm::CopyControlBlock control_block = {};
  std::vector<uint8_t> from;
  std::vector<uint8_t> to;

  void draw(size_t bytes, std::mt19937& random) {
    from.resize(bytes);
    for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
    to.assign(bytes, 0);
  }
};

class Side final : public Copier {
 public:
  explicit Side(Copying& copying) : copying_(copying) {}
  bool copy(const Piece& piece) override {
    if (refuses_after >= 0 && refuses_after-- == 0) return false;
    // Adds, so that a byte that is copied twice is wrong. Only fragments that were lost may be copied again.
    for (size_t i = piece.at; i < piece.at + piece.bytes; ++i) {
      copying_.to[i] =
          static_cast<uint8_t>(overwrites ? copying_.from[i] : copying_.to[i] + copying_.from[i]);
    }
    bytes += piece.bytes;
    return true;
  }
  bool sender_is_gone() override { return gone; }

  int refuses_after = -1;   // fragments; -1: never
  bool overwrites = false;  // for the tests in which bytes are copied again
  bool gone = false;
  size_t bytes = 0;

 private:
  Copying& copying_;
};

TEST(Cooperative, TheReceiverAloneCopiesAllWithoutTheSender) {
  std::mt19937 random(1);
  Copying copying;
  for (const PieceSizes& sizes : {kPlainPieces, kSystemPieces}) {
    for (const size_t bytes : {1, 4095, 4096, 8193, 100'000, 3 << 20}) {
      copying.draw(bytes, random);
      Side receiver(copying);
      const Message message = message_of(7, bytes, sizes);
      EXPECT_TRUE(receive_pieces(copying.control_block, message,
                                 open_control_block(copying.control_block, message), receiver));
      EXPECT_EQ(receiver.bytes, bytes);
      EXPECT_EQ(copying.to, copying.from);
    }
  }
}

TEST(Cooperative, ALateSenderFindsNothingLeft) {
  std::mt19937 random(2);
  Copying copying;
  copying.draw(50'000, random);
  Side receiver(copying);
  const Message message = message_of(1, 50'000);
  EXPECT_TRUE(receive_pieces(copying.control_block, message,
                             open_control_block(copying.control_block, message), receiver));
  EXPECT_EQ(take_piece(copying.control_block, message).bytes, 0u);
}

TEST(Cooperative, ARequestForAnotherMessageOrAnotherSenderIsOver) {
  shm::CopyControlBlock control_block = {};
  open_control_block(control_block, message_of(2, 1 << 20));
  EXPECT_EQ(take_piece(control_block, message_of(1, 1 << 20)).bytes, 0u);
  EXPECT_EQ(take_piece(control_block, {copy_mark(kHelper + 1, 2), 1 << 20, kPlainPieces}).bytes, 0u);
  EXPECT_GT(take_piece(control_block, message_of(2, 1 << 20)).bytes, 0u);
}

TEST(Cooperative, PiecesAreDisjointAndCoverTheMessage) {
  for (const PieceSizes& sizes : {kPlainPieces, kSystemPieces}) {
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{12'289}, size_t{65'536}, size_t{5'000'001}}) {
      shm::CopyControlBlock control_block = {};
      const Message message = message_of(1, bytes, sizes);
      size_t next = 0;
      for (Piece piece = open_control_block(control_block, message); piece.bytes > 0;
           piece = take_piece(control_block, message)) {
        EXPECT_EQ(piece.at, next);
        next += piece.bytes;
      }
      EXPECT_EQ(next, bytes);
    }
  }
}

TEST(Cooperative, PiecesForTheSystemBeginSmallDoubleAndEndSmall) {
  shm::CopyControlBlock control_block = {};
  const Message message = message_of(1, 16 << 20, kSystemPieces);
  std::vector<size_t> lengths;
  for (Piece piece = open_control_block(control_block, message); piece.bytes > 0;
       piece = take_piece(control_block, message)) {
    lengths.push_back(piece.bytes);
  }
  EXPECT_EQ(lengths.front(), size_t{16} << 10);
  size_t before = lengths.front();
  for (size_t i = 1; i < lengths.size(); ++i) {
    EXPECT_LE(lengths[i], before) << "piece " << i;
    before += lengths[i];
  }
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), size_t{256} << 10);
  EXPECT_LE(lengths.back(), size_t{16} << 10);
}

// The sender dies with a fragment that it has not reported.
TEST(Cooperative, WhatADeadSenderTookIsCopiedByTheReceiver) {
  std::mt19937 random(4);
  for (const int pieces_before_death : {0, 1, 3}) {
    Copying copying;
    copying.draw(2 << 20, random);
    Side sender(copying);
    Side receiver(copying);
    receiver.overwrites = true;
    receiver.gone = true;
    const Message message = message_of(9, copying.from.size());
    const Piece first = open_control_block(copying.control_block, message);
    for (int i = 0; i < pieces_before_death; ++i) {
      const Piece piece = take_piece(copying.control_block, message);
      sender.copy(piece);
      report_piece(copying.control_block, piece);
    }
    EXPECT_GT(take_piece(copying.control_block, message).bytes, 0u);
    EXPECT_TRUE(receive_pieces(copying.control_block, message, first, receiver));
    EXPECT_EQ(copying.to, copying.from);
  }
}

// The sender has copied every fragment that it took before it ended: no byte is copied twice.
TEST(Cooperative, ASenderThatIsDoneMayGo) {
  std::mt19937 random(5);
  Copying copying;
  copying.draw(1 << 20, random);
  Side sender(copying);
  Side receiver(copying);
  receiver.gone = true;
  const Message message = message_of(9, copying.from.size());
  const Piece first = open_control_block(copying.control_block, message);
  EXPECT_GT(send_pieces(copying.control_block, message, sender).bytes, 0u);
  EXPECT_TRUE(receive_pieces(copying.control_block, message, first, receiver));
  EXPECT_EQ(copying.to, copying.from);
}

TEST(Cooperative, WhatASenderIsRefusedIsCopiedByTheReceiver) {
  std::mt19937 random(6);
  for (const int pieces : {0, 2}) {
    Copying copying;
    copying.draw(1 << 20, random);
    Side sender(copying);
    sender.refuses_after = pieces;
    Side receiver(copying);
    receiver.overwrites = true;
    const Message message = message_of(3, copying.from.size(), kSystemPieces);
    const Piece first = open_control_block(copying.control_block, message);
    EXPECT_TRUE(send_pieces(copying.control_block, message, sender).refused);
    EXPECT_TRUE(receive_pieces(copying.control_block, message, first, receiver));
    EXPECT_EQ(copying.to, copying.from);
  }
}

// If the receiver's copy is refused, it returns after the sender has stopped writing and leaves no fragment
// to take.
TEST(Cooperative, AReceiverThatIsRefusedClosesTheControlBlock) {
  std::mt19937 random(7);
  for (const int pieces : {0, 1, 5}) {
    Copying copying;
    copying.draw(4 << 20, random);
    Side receiver(copying);
    receiver.refuses_after = pieces;
    Side sender(copying);
    const Message message = message_of(3, copying.from.size(), kSystemPieces);
    const Piece first = open_control_block(copying.control_block, message);
    std::thread helper([&] {
      // One fragment whose copy takes long.
      const Piece piece = take_piece(copying.control_block, message);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      sender.copy(piece);
      report_piece(copying.control_block, piece);
    });
    while (static_cast<uint32_t>(atomic::load_acquire(copying.control_block.claim)) <= first.bytes / 4096)
      std::this_thread::yield();
    EXPECT_FALSE(receive_pieces(copying.control_block, message, first, receiver));
    EXPECT_GT(atomic::load_acquire(copying.control_block.copied), 0u) << "it did not wait";
    EXPECT_EQ(take_piece(copying.control_block, message).bytes, 0u);
    helper.join();
  }
}

// The sender joins at any time, often after the end of the message: it must never touch the next message.
TEST(Cooperative, BothCopyEachByteOnceWheneverTheSenderComes) {
  constexpr int kMessages = 400;
  constexpr size_t kBytesMax = 400'000;
  const unsigned seed = 20260811;
  std::mt19937 random(seed);
  Copying copying;
  copying.from.reserve(kBytesMax);
  copying.to.reserve(kBytesMax);
  std::vector<size_t> bytes(kMessages + 1);
  const auto message_number = [&](int number) {
    return message_of(static_cast<uint16_t>(number), bytes[static_cast<size_t>(number)],
                      number % 2 == 0 ? kSystemPieces : kPlainPieces);
  };
  int invited = 0;  // number of the message with the latest request to the sender
  std::thread sender([&] {
    Side side(copying);
    for (int number = 1; number <= kMessages; ++number) {
      while (atomic::load_acquire(invited) < number) std::this_thread::yield();
      if (number % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // falls behind
      EXPECT_FALSE(send_pieces(copying.control_block, message_number(number), side).refused);
    }
  });
  Side receiver(copying);
  for (int number = 1; number <= kMessages; ++number) {
    copying.draw(random() % kBytesMax + 1, random);
    bytes[static_cast<size_t>(number)] = copying.from.size();
    const Piece first = open_control_block(copying.control_block, message_number(number));
    atomic::store_release(invited, number);
    EXPECT_TRUE(receive_pieces(copying.control_block, message_number(number), first, receiver));
    ASSERT_EQ(copying.to, copying.from) << "message " << number << ", seed " << seed;
  }
  sender.join();
}

}  // namespace
}  // namespace hearth::single_copy
