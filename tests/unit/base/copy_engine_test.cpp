#include "base/copy_engine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/copy_loop.h"
#include "base/param.h"

namespace hearth::copy {
namespace {

constexpr Engine kEngines[] = {Engine::cached, Engine::four_pages, Engine::rep_movsb, Engine::non_temporal,
                               Engine::dsa};
static_assert(std::size(kEngines) == kEngineCount);

std::byte pattern(size_t index) {
  return static_cast<std::byte>((index * 2654435761u) >> 13);
}

/// Copies once and checks that the bytes around the destination are unchanged.
template <class Copy>
void expect_exact(Copy copy, size_t bytes, size_t to_offset, size_t from_offset, const std::string& what) {
  constexpr size_t kBytesMax = (size_t{1} << 20) + 128;
  constexpr size_t kMargin = 128;
  struct alignas(64) Memory {
    std::byte from[kBytesMax + 64];
    std::byte to[kMargin + 64 + kBytesMax + kMargin];
    std::byte expected[2 * kMargin + kBytesMax];
    Memory() {
      for (size_t i = 0; i < sizeof from; ++i) from[i] = pattern(i);
    }
  };
  static const auto memory = std::make_unique<Memory>();
  const std::byte* from = memory->from + from_offset;
  std::byte* around = memory->to + to_offset;
  std::memset(memory->expected, 0xA5, bytes + 2 * kMargin);
  std::memcpy(memory->expected + kMargin, from, bytes);
  std::memset(around, 0xA5, bytes + 2 * kMargin);
  copy(around + kMargin, from, bytes);
  ASSERT_EQ(std::memcmp(around, memory->expected, bytes + 2 * kMargin), 0)
      << what << ", " << bytes << " bytes, to " << to_offset << ", from " << from_offset;
}

template <class Copy>
void expect_exact_everywhere(Copy copy, size_t bytes_min, const std::string& what) {
  for (size_t bytes = bytes_min; bytes <= 300; ++bytes) {
    // Every alignment of one side with two alignments of the other, at every length.
    for (size_t offset = 0; offset <= 64; ++offset) {
      for (const size_t other : {0, 31}) {
        expect_exact(copy, bytes, offset, other, what);
        expect_exact(copy, bytes, other, offset, what);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
  // Lengths around those at which the loops start and stop prefetching, and well beyond.
  for (const size_t about : {512, 1024, 1152, 1280, 1536, 4096, 65536, 1 << 20}) {
    for (int more = -65; more <= 65; more += about > 4096 ? 13 : 1) {
      for (const size_t offset : {0, 1, 15, 16, 33, 63}) {
        expect_exact(copy, about + static_cast<size_t>(more), offset, (offset * 7) % 64, what);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CopyEngine, EveryEngineCopiesExactlyTheRange) {
  for (const Engine engine : kEngines) {
    expect_exact_everywhere(
        [engine](void* to, const void* from, size_t bytes) { run(engine, to, from, bytes); }, 0,
        name(engine));
  }
}

TEST(CopyEngine, EveryInstructionSetCopiesExactlyTheRange) {
  int sets = 0;
  for (const VectorLoops* const* loops = usable_loops(); *loops != nullptr; ++loops, ++sets) {
    expect_exact_everywhere((*loops)->cached, kLineBytes + 1, (*loops)->name);
    expect_exact_everywhere((*loops)->four_pages, kLineBytes + 1, (*loops)->name);
    if ((*loops)->streaming == nullptr) continue;
    for (size_t lines = 1; lines <= 70; ++lines) {
      for (size_t offset = 0; offset <= 64; ++offset)
        expect_exact((*loops)->streaming, lines * kLineBytes, 0, offset, (*loops)->name);
    }
  }
  EXPECT_GE(sets, 1);
}

/// Accessible pages between two inaccessible ones.
class Guarded {
 public:
  explicit Guarded(size_t pages) : page_bytes_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
    bytes_ = pages * page_bytes_;
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes_ + 2 * page_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(begin(), bytes_, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < bytes_; ++i) begin()[i] = pattern(i);
  }
  ~Guarded() { ::munmap(memory_, bytes_ + 2 * page_bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* begin() const { return memory_ + page_bytes_; }
  std::byte* end() const { return begin() + bytes_; }

 private:
  size_t page_bytes_;
  size_t bytes_;
  std::byte* memory_;
};

TEST(CopyEngine, NothingOutsideIsTouched) {
  const Guarded from(3);
  const Guarded to(3);
  for (const Engine engine : kEngines) {
    for (size_t bytes = 0; bytes <= 3000; bytes += bytes < 300 ? 1 : 37) {
      run(engine, to.begin(), from.end() - bytes, bytes);
      EXPECT_EQ(std::memcmp(to.begin(), from.end() - bytes, bytes), 0) << name(engine) << " " << bytes;
      run(engine, to.end() - bytes, from.begin(), bytes);
      EXPECT_EQ(std::memcmp(to.end() - bytes, from.begin(), bytes), 0) << name(engine) << " " << bytes;
    }
  }
}

// For such destinations `rep movsb` is correct but slow; only bench/micro shows that a loop replaces it. This
// test checks that the distance is counted within a page, and that such copies are correct.
TEST(CopyEngine, DestinationsJustBehindTheSource) {
  std::vector<std::byte> memory(5 * 4096);
  std::byte* from = memory.data();
  for (size_t i = 0; i < 4096; ++i) from[i] = pattern(i);
  for (const size_t difference : {1, 8, 15, 63, 64}) {
    for (const Engine engine : kEngines) {
      std::byte* to = from + 2 * 4096 + difference;
      EXPECT_EQ(alignment_difference(to, from), difference);
      EXPECT_EQ(alignment_difference(from, to), 4096 - difference);
      std::memset(to, 0, 4096);
      run(engine, to, from, 4096);
      EXPECT_EQ(std::memcmp(to, from, 4096), 0) << name(engine) << " " << difference;
    }
  }
}

TEST(CopyEngine, ChoosesWhatIsAvailable) {
  for (size_t bytes = 0; bytes <= size_t{1} << 32; bytes = bytes * 3 / 2 + 1) {
    for (const bool cache_shared : {false, true}) {
      EXPECT_TRUE(available(choose(bytes, cache_shared))) << bytes << " bytes";
      EXPECT_TRUE(available(choose_for_reader(bytes, cache_shared))) << bytes << " bytes";
    }
    EXPECT_TRUE(available(choose_for_piece(bytes, 3 * bytes))) << bytes << " bytes";
  }
  EXPECT_TRUE(available(Engine::cached));
  EXPECT_EQ(choose(8, true), Engine::cached);
}

TEST(CopyEngine, TheStringCopyIsChosenFromTheParameterUp) {
  if (!available(Engine::rep_movsb)) GTEST_SKIP() << "the processor does not report a fast string copy";
  const auto place = static_cast<size_t>(param::Id::copy_string_bytes_min);
  constexpr size_t kBytes = 65536;
  ASSERT_TRUE(param::set_number(place, kBytes));
  for (const bool cache_shared : {false, true}) {
    EXPECT_EQ(choose_for_reader(kBytes, cache_shared), Engine::rep_movsb);
    EXPECT_NE(choose_for_reader(kBytes - 1, cache_shared), Engine::rep_movsb);
  }
  EXPECT_EQ(choose(kBytes, false), Engine::rep_movsb);
  EXPECT_EQ(choose(kBytes, true), Engine::cached);
  EXPECT_EQ(choose_for_piece(kBytes, kBytes), Engine::rep_movsb);
  EXPECT_EQ(choose_for_piece(kBytes - 1, kBytes), Engine::cached);
  EXPECT_EQ(choose_for_piece(kBytes, uint64_t{1} << 40), Engine::cached) << "it would bypass the caches";
  ASSERT_TRUE(param::set_number(place, 0));
}

}  // namespace
}  // namespace hearth::copy
