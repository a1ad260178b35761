// Threads as ranks of one collective region: shared by the tests of small and of pipelined collectives, with
// the expected result of each collective. `Rank` derives from RegionRank and defines how a call begins.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "base/os_memory.h"
#include "base/os_wait.h"
#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "mpi.h"
#include "objects/pools.h"
#include "shm/arena.h"
#include "shm/node.h"

namespace hearth::coll {

constexpr int kRanks = 4;

/// The collectives under test. All use ints; reductions are sums.
enum class What {
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  blocks,  // reduce_scatter_block
  scan,
  exscan,
  count_
};

struct Call {
  What what;
  int root;
  int count;               // elements per pair of ranks
  bool other_way = false;  // the second implementation, if there are two
};

/// Element `index` of a rank's input.
inline int value(size_t call, int rank, int index) {
  return static_cast<int>(call % 100) * 1'000'000 + rank * 100'000 + index;
}
inline int sum(size_t call, int index, int ranks = kRanks) {
  int all = 0;
  for (int rank = 0; rank < ranks; ++rank) all += value(call, rank, index);
  return all;
}

/// Element `i` of the receive buffer of `own` after the call; -1: unchanged. The root of a broadcast keeps
/// its input.
inline int expected(size_t number, const Call& call, int own, int i) {
  const int rank = i / call.count;
  const int index = i % call.count;
  const bool at_root = own == call.root;
  const bool first_block = i < call.count;
  switch (call.what) {
    case What::bcast:
      return first_block || at_root ? value(number, call.root, i) : -1;
    case What::gather:
      return at_root ? value(number, rank, index) : -1;
    case What::scatter:
      return first_block ? value(number, call.root, own * call.count + index) : -1;
    case What::allgather:
      return value(number, rank, index);
    case What::alltoall:
      return value(number, rank, own * call.count + index);
    case What::reduce:
      return first_block && at_root ? sum(number, index) : -1;
    case What::allreduce:
      return first_block ? sum(number, index) : -1;
    case What::blocks:
      return first_block ? sum(number, own * call.count + index) : -1;
    case What::scan:
      return first_block ? sum(number, index, own + 1) : -1;
    case What::exscan:
      return first_block && own > 0 ? sum(number, index, own) : -1;
    default:
      return -1;
  }
}

/// A call in flight.
template <class SharedCollective>
struct RegionPart {
  SharedCollective* shared = nullptr;
  bool over = false;
  std::span<int> in;
  std::span<int> out;
  std::vector<int> own;

  /// Both buffers lie in the arena if there is one.
  void fill(size_t number, const Call& call, int rank, shm::Arena* arena) {
    const auto count = static_cast<size_t>(kRanks * call.count);
    int* memory;
    if (arena != nullptr) {
      const size_t page = os::page_bytes();
      const size_t bytes = (2 * count * sizeof(int) + page - 1) / page * page;
      memory = reinterpret_cast<int*>(arena->grow(shm::Arena::Half::blocks, bytes, page));
      ASSERT_NE(memory, nullptr);
    } else {
      own.resize(2 * count);
      memory = own.data();
    }
    in = {memory, count};
    out = {memory + count, count};
    for (size_t i = 0; i < count; ++i) in[i] = value(number, rank, static_cast<int>(i));
    std::ranges::fill(out, -1);
    if (call.what == What::bcast && rank == call.root) std::ranges::copy(in, out.begin());
  }
};

template <class Part>
class RegionRank {
 public:
  /// `arena`: its file is attached, and some calls allocate their buffers from it; nullptr: no arena.
  RegionRank(const shm::Segment& segment, int rank, const shm::Arena* arena) : rank_(rank) {
    if (arena != nullptr) {
      os::Descriptor file = os::duplicate_out_of_the_way(arena->descriptor());
      EXPECT_TRUE(shm::Arena::attach(std::move(file), kRanks, rank, arena_).ok()) << last_failure_text();
    }
    node_.emplace(segment, rank, &arena_);
    shm::process_node = &*node_;
    use_regions(pool_.emplace(&*node_));
    group_.peers = {0, 1, 2, 3};
    group_.index(rank);
    comm_.group = &group_;
    comm_.rank = rank;
    comm_.size = comm_.peer_count = kRanks;
    comm_.peers = group_.peers.data();
    comm_.region = 0;
    CollectiveRegion::of(comm_);
    sum_.kind = objects::OpKind::sum;
  }
  virtual ~RegionRank() {
    delete comm_.region_view;
    if (shm::process_node == &*node_) shm::process_node = nullptr;
    if (process_region_pool == &*pool_) process_region_pool = nullptr;
  }
  PipelineRing& ring() { return comm_.region_view->pipeline_ring(); }
  RegionRank(const RegionRank&) = delete;
  RegionRank& operator=(const RegionRank&) = delete;

  /// Begins a call.
  std::unique_ptr<Part> start(const Call& call, size_t number, bool lends) {
    std::unique_ptr<Part> part = make();
    part->fill(number, call, rank_, lends && arena_.usable() ? &arena_ : nullptr);
    set_up(call, *part);
    part->shared->begin();
    return part;
  }

  /// Runs all calls, up to `ahead` of them in flight, in an order determined by the seed.
  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::mt19937 random(seed + static_cast<uint32_t>(rank_));
    size_t begun = 0;
    size_t over = 0;
    std::vector<std::unique_ptr<Part>> parts(calls.size());
    while (over < calls.size()) {
      if (begun < calls.size() && begun < over + ahead && random() % 2 == 0) {
        // Some ranks expose their buffers without copying, the rest do not.
        parts[begun] = start(calls[begun], begun, (begun + static_cast<size_t>(rank_)) % 4 != 0);
        ++begun;
      }
      bool moved = false;
      for (size_t call = over; call < begun; ++call) {
        Part& part = *parts[call];
        // Skipped at random, like a rank that computes.
        if (part.over || random() % 8 == 0 || !part.shared->advance()) continue;
        part.over = moved = true;
        EXPECT_TRUE(part.shared->outcome.ok());
        check(call, calls[call], part);
      }
      while (over < begun && parts[over]->over) parts[over++].reset();
      if (!moved) os::yield_processor();
    }
  }

 protected:
  virtual std::unique_ptr<Part> make() = 0;
  /// Starts the call on the part's collective operation.
  virtual void set_up(const Call& call, Part& part) = 0;

  static datatype::Type& int_type() {
    return *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
  }

  void check(size_t number, const Call& call, const Part& part) const {
    for (int i = 0; i < kRanks * call.count; ++i) {
      ASSERT_EQ(part.out[static_cast<size_t>(i)], expected(number, call, rank_, i))
          << "call " << number << " of kind " << static_cast<int>(call.what) << ", root " << call.root << ", "
          << call.count << " elements, rank " << rank_ << ", element " << i;
    }
  }

  const int rank_;
  shm::Arena arena_;
  std::optional<shm::Node> node_;
  std::optional<RegionPool> pool_;
  objects::Group group_;
  objects::Comm comm_;
  objects::Op sum_;
};

template <class Rank>
class RegionRanks : public testing::Test {
 protected:
  /// `pipeline_bytes`: memory of each rank for pipeline buffers.
  /// `processors`: what the job may use.
  void set_up(uint64_t pipeline_bytes, bool with_arena = false, uint32_t processors = 0) {
    datatype::enter_predefined_types();
    shm::SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    plan.region_count = 1;
    plan.pipeline_bytes = pipeline_bytes;
    ASSERT_TRUE(shm::Segment::create(plan, segment_).ok()) << last_failure_text();
    if (processors != 0) segment_.job().usable_processors = processors;
    if (with_arena) make_arena();
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(segment_, rank, with_arena ? &arena_ : nullptr));
    }
  }

  /// Random calls: kinds from `first` on, any root, counts from `length`.
  template <class Length>
  static std::vector<Call> mixture(size_t calls, uint32_t seed, What first, Length length) {
    std::mt19937 random(seed);
    std::vector<Call> all(calls);
    const auto kinds = static_cast<uint32_t>(What::count_) - static_cast<uint32_t>(first);
    for (Call& call : all) {
      call.what = static_cast<What>(static_cast<uint32_t>(first) + random() % kinds);
      call.root = static_cast<int>(random() % kRanks);
      call.count = length(random);
      call.other_way = random() % 2 == 0;
    }
    return all;
  }

  /// A small arena, because an emulator keeps a record for each page of the slices.
  void make_arena() {
    rlimit usual;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
    rlimit small = usual;
    small.rlim_cur = kRanks * (uint64_t{128} << 20);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_TRUE(shm::Arena::create(kRanks, arena_).ok()) << last_failure_text();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  }

  Rank& rank(int number) { return *ranks_[static_cast<size_t>(number)]; }

  void run(const std::vector<Call>& calls, size_t ahead, uint32_t seed) {
    std::vector<std::thread> threads;
    for (auto& rank : ranks_) threads.emplace_back([&] { rank->run(calls, ahead, seed); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  shm::Segment segment_;
  shm::Arena arena_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::coll
