// The match queues while allocations fail at random: bins are created and dropped, the order of matching
// stays.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <new>
#include <random>
#include <vector>

#include "mpi.h"
#include "p2p/match.h"

namespace {

// The percentage of this thread's allocations that fail.
thread_local unsigned failing_percent = 0;
thread_local std::minstd_rand failing_random;
thread_local unsigned failed = 0;

class FailingAllocations {
 public:
  explicit FailingAllocations(unsigned percent) { failing_percent = percent; }
  ~FailingAllocations() { failing_percent = 0; }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
};

}  // namespace

// All overloads, so that the address sanitizer sees the right new for each delete.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (failing_percent != 0 && failing_random() % 100 < failing_percent) {
    ++failed;
    return nullptr;
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) {
  return operator new(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes, std::nothrow);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace hearth::p2p {
namespace {

MatchKey key_of(std::mt19937& random) {
  return {2, static_cast<int>(random() % 8), static_cast<int>(random() % 40)};
}

TEST(match_without_memory, posted_receives_stay_in_order) {
  bool was_binned = false;
  failed = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    PostedQueue queue;
    std::deque<MatchEntry> entries;
    std::vector<MatchEntry*> model;
    for (int step = 0; step < 2000; ++step) {
      if (random() % 10 < (step < 1000 ? 7u : 2u)) {
        MatchEntry& entry = entries.emplace_back(key_of(random));
        model.push_back(&entry);
        const FailingAllocations failing(seed % 4 * 5);
        queue.add(entry);
      } else {
        const MatchKey message = key_of(random);
        MatchEntry* expected = nullptr;
        for (MatchEntry* entry : model) {
          if (expected == nullptr && fits(entry->key, message)) expected = entry;
        }
        std::erase(model, expected);
        const FailingAllocations failing(seed % 4 * 5);
        ASSERT_EQ(queue.take(message), expected) << "seed " << seed << " step " << step;
      }
      ASSERT_EQ(queue.size(), model.size());
      was_binned |= queue.binned();
    }
  }
  EXPECT_TRUE(was_binned) << "the test never met the bins";
  EXPECT_GT(failed, 100u);
}

TEST(match_without_memory, unexpected_messages_stay_in_order) {
  bool was_binned = false;
  failed = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    UnexpectedQueue queue;
    std::deque<MatchMessage> entries;
    std::vector<MatchMessage*> model;
    for (int step = 0; step < 2000; ++step) {
      if (random() % 10 < (step < 1000 ? 7u : 2u)) {
        MatchMessage& entry = entries.emplace_back();
        entry.key = key_of(random);
        model.push_back(&entry);
        const FailingAllocations failing(seed % 4);
        queue.add(entry);
      } else {
        MatchKey pattern = key_of(random);
        if (random() % 3 == 0) pattern.peer = MPI_ANY_SOURCE;
        MatchMessage* expected = nullptr;
        for (MatchMessage* entry : model) {
          if (expected == nullptr && fits(pattern, entry->key)) expected = entry;
        }
        const FailingAllocations failing(seed % 4);
        ASSERT_EQ(queue.find(pattern), expected) << "seed " << seed << " step " << step;
        if (expected != nullptr) queue.remove(*expected);
        std::erase(model, expected);
      }
      was_binned |= queue.binned();
    }
  }
  EXPECT_TRUE(was_binned) << "the test never met the bins";
  EXPECT_GT(failed, 100u);
}

}  // namespace
}  // namespace hearth::p2p
