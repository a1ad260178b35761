#include "p2p/match.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "mpi.h"

namespace hearth::p2p {
namespace {

// The simplest possible queue, as a reference.
class Model {
 public:
  void add(MatchEntry& entry) { entries_.push_back(&entry); }
  void remove(MatchEntry& entry) { std::erase(entries_, &entry); }
  MatchEntry* first_receive_for(const MatchKey& message) const {
    for (MatchEntry* entry : entries_) {
      if (fits(entry->key, message)) return entry;
    }
    return nullptr;
  }
  MatchEntry* first_message_for(const MatchKey& pattern) const {
    for (MatchEntry* entry : entries_) {
      if (fits(pattern, entry->key)) return entry;
    }
    return nullptr;
  }

 private:
  std::vector<MatchEntry*> entries_;
};

MatchKey some_key(std::mt19937& random, bool wildcards) {
  MatchKey key = {static_cast<uint32_t>(random() % 2) * 2, static_cast<int>(random() % 4),
                  static_cast<int>(random() % 5)};
  if (wildcards && random() % 3 == 0) key.peer = MPI_ANY_SOURCE;
  if (wildcards && random() % 3 == 0) key.tag = MPI_ANY_TAG;
  return key;
}

TEST(match, fits_only_what_it_should) {
  EXPECT_TRUE(fits({4, 1, 2}, {4, 1, 2}));
  EXPECT_FALSE(fits({4, 1, 2}, {6, 1, 2}));
  EXPECT_FALSE(fits({4, 1, 2}, {4, 0, 2}));
  EXPECT_FALSE(fits({4, 1, 2}, {4, 1, 3}));
  EXPECT_TRUE(fits({4, MPI_ANY_SOURCE, 2}, {4, 7, 2}));
  EXPECT_TRUE(fits({4, MPI_ANY_SOURCE, MPI_ANY_TAG}, {4, 7, 9}));
  EXPECT_FALSE(fits({4, MPI_ANY_SOURCE, MPI_ANY_TAG}, {5, 7, 9}));
}

TEST(match, posted_receives_agree_with_the_model) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    PostedQueue queue;
    Model model;
    std::deque<MatchEntry> entries;
    bool was_binned = false;
    for (int step = 0; step < 3000; ++step) {
      // Grows for a while, then shrinks to empty, so that both representations and the transitions are used.
      const bool grow = step % 1000 < 500;
      if (random() % 10 < (grow ? 7u : 2u)) {
        MatchEntry& entry = entries.emplace_back();
        entry.key = some_key(random, true);
        queue.add(entry);
        model.add(entry);
      } else if (random() % 10 == 0 && queue.first() != nullptr) {
        MatchEntry& cancelled = *queue.first();
        model.remove(cancelled);
        queue.remove(cancelled);
      } else {
        const MatchKey message = some_key(random, false);
        MatchEntry* expected = model.first_receive_for(message);
        ASSERT_EQ(queue.take(message), expected) << "seed " << seed << " step " << step;
        if (expected != nullptr) model.remove(*expected);
      }
      was_binned |= queue.binned();
    }
    EXPECT_TRUE(was_binned) << "the test never met the bins";
  }
}

TEST(match, unexpected_messages_agree_with_the_model) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    UnexpectedQueue queue;
    Model model;
    std::deque<MatchMessage> entries;
    bool was_binned = false;
    for (int step = 0; step < 3000; ++step) {
      const bool grow = step % 1000 < 500;
      if (random() % 10 < (grow ? 7u : 2u)) {
        MatchMessage& entry = entries.emplace_back();
        entry.key = some_key(random, false);
        queue.add(entry);
        model.add(entry);
      } else {
        const MatchKey pattern = some_key(random, true);
        auto* expected = static_cast<MatchMessage*>(model.first_message_for(pattern));
        ASSERT_EQ(queue.find(pattern), expected) << "seed " << seed << " step " << step;
        if (expected != nullptr) {
          model.remove(*expected);
          queue.remove(*expected);
        }
      }
      was_binned |= queue.binned();
    }
    EXPECT_TRUE(was_binned) << "the test never met the bins";
  }
}

// A plain list needs 5,000,000,000 steps, which exceeds the time limit of the test.
TEST(match, a_hundred_thousand_messages_taken_from_the_end) {
  constexpr int kMessages = 100'000;
  UnexpectedQueue queue;
  std::vector<MatchMessage> entries(kMessages);
  for (int tag = 0; tag < kMessages; ++tag) {
    entries[static_cast<size_t>(tag)].key = {4, 1, tag};
    queue.add(entries[static_cast<size_t>(tag)]);
  }
  for (int tag = kMessages - 1; tag >= 0; --tag) {
    MatchMessage* found = queue.find({4, tag % 2 == 0 ? 1 : MPI_ANY_SOURCE, tag});
    ASSERT_EQ(found, &entries[static_cast<size_t>(tag)]);
    queue.remove(*found);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.binned());
}

TEST(match, a_hundred_thousand_receives_matched_from_the_end) {
  constexpr int kReceives = 100'000;
  PostedQueue queue;
  std::vector<MatchEntry> entries(kReceives);
  for (int tag = 0; tag < kReceives; ++tag) {
    entries[static_cast<size_t>(tag)].key = {4, tag % 2 == 0 ? 1 : MPI_ANY_SOURCE, tag};
    queue.add(entries[static_cast<size_t>(tag)]);
  }
  for (int tag = kReceives - 1; tag >= 0; --tag) {
    ASSERT_EQ(queue.take({4, 1, tag}), &entries[static_cast<size_t>(tag)]);
  }
}

}  // namespace
}  // namespace hearth::p2p
