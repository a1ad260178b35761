// Schedules of collectives over every transport: all ranks in one process, progressed in an order determined
// by a seed, several collectives in flight, with and without a collective region. In any order, each
// collective must deliver the right data, and no barrier may complete early.
#include "coll/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "coll/coll.h"
#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "job.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"

namespace hearth::contract {
namespace {

using datatype::Type;
using objects::Comm;
using objects::Op;
using p2p::Engine;
using p2p::Request;

enum class What {
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  blocks,
  scan,
  exscan,
  count_
};

/// One collective, called alike by all ranks.
struct Call {
  What what;
  Count count;
  int root;
  bool first_wins;  // reductions: the operation that keeps its left operand; else the sum
};

/// The state of a call on one rank.
struct Part {
  std::vector<int> in;
  std::vector<int> out;
  Request* request = nullptr;
  bool started = false;
  bool done = false;
};

int value(size_t call, int rank, Count index) {
  return static_cast<int>(call * 7919 + static_cast<size_t>(rank) * 101 + static_cast<size_t>(index) % 97);
}

void keep_left(void* in, void* inout, int* count, MPI_Datatype*) {
  std::copy_n(static_cast<int*>(in), *count, static_cast<int*>(inout));
}

class Ranks {
 public:
  /// `nodes`: the machine of each rank in the communicators; empty: one machine.
  Ranks(const Case& which, int size, std::vector<int> nodes = {})
      : job_(which, size), random_(which.seed * 31 + 7), nodes_(std::move(nodes)) {
    datatype::enter_predefined_types();
    shm::process_node = which.kind == Kind::shm ? &job_.node(0) : nullptr;
    coll::use_regions(pool_.emplace(shm::process_node));
    for (int rank = 0; rank < size; ++rank) {
      p2p::EngineSetup setup;
      setup.self = rank;
      setup.size = size;
      setup.transport = &job_.endpoint(rank);
      setup.relation = [rank](objects::PeerIndex peer) {
        if (peer == rank) return topo::Relation::self;
        return (rank + peer) % 2 == 1 ? topo::Relation::package : topo::Relation::l3;
      };
      setup.warn = [](const char* text) { ADD_FAILURE() << text; };
      engines_.push_back(std::make_unique<Engine>(setup));
      comms_.push_back(make_comm(rank, size, nodes_));
      // With the first seed, collectives use messages only.
      if (which.kind == Kind::shm && which.seed > 1) comms_.back()->region = 0;
    }
    first_wins_ = objects::pools.ops.create();
    first_wins_->commutative = false;
    first_wins_->function = keep_left;
    sum_ = objects::pools.ops.create();
    sum_->kind = objects::OpKind::sum;
  }
  ~Ranks() {
    engines_.clear();
    p2p::process_engine = nullptr;
    objects::release(*first_wins_);
    objects::release(*sum_);
    leave_regions();
    for (Comm* comm : comms_) {
      EXPECT_EQ(comm->references, 1U) << "a schedule still holds its communicator";
      objects::pools.groups.destroy(comm->group);
      objects::pools.comms.destroy(comm);
    }
  }

  void leave_regions() {
    for (Comm* comm : comms_) {
      if (comm->region != objects::kNoRegion) objects::leave_region(*comm);
      comm->region = objects::kNoRegion;
    }
  }
  int size() const { return job_.size(); }
  std::mt19937& random() { return random_; }
  int some_rank() { return static_cast<int>(random_() % static_cast<uint32_t>(size())); }
  Engine& be(int rank) {
    p2p::process_engine = engines_[static_cast<size_t>(rank)].get();
    return *p2p::process_engine;
  }
  void step() { be(some_rank()).progress(); }

  void prepare(size_t number, const Call& call, int rank, Part& part) const {
    const auto ranks = static_cast<size_t>(size());
    const auto count = static_cast<size_t>(call.count);
    part.in.resize(count * ranks);
    part.out.assign(count * ranks, -1);
    for (size_t i = 0; i < part.in.size(); ++i) part.in[i] = value(number, rank, static_cast<Count>(i));
    if (call.what == What::bcast && rank == call.root) std::copy_n(part.in.begin(), count, part.out.begin());
  }
  /// Starts the call, or creates it if persistent.
  Status begin(const Call& call, int rank, Part& part, bool persistent) {
    be(rank);
    Comm& comm = *comms_[static_cast<size_t>(rank)];
    Type& type = *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
    Op& op = call.first_wins ? *first_wins_ : *sum_;
    return persistent ? dispatch<Form::persistent>(comm, type, op, call, part)
                      : dispatch<Form::started>(comm, type, op, call, part);
  }

  /// Checks the rank's receive buffer.
  void check(size_t number, const Call& call, int rank, const Part& part) const {
    const auto expected = [&](Count index) {
      // The expected element `index` of the result.
      const Count block = call.count == 0 ? 0 : index / call.count;
      const Count within = call.count == 0 ? 0 : index % call.count;
      const auto from = static_cast<int>(block);
      switch (call.what) {
        case What::bcast:
          return value(number, call.root, index);
        case What::gather:
        case What::allgather:
          return value(number, from, within);
        case What::scatter:
          return value(number, call.root, rank * call.count + index);
        case What::alltoall:
          return value(number, from, rank * call.count + within);
        case What::reduce:
        case What::allreduce:
          return reduction(number, call, size(), index);
        case What::blocks:
          return reduction(number, call, size(), rank * call.count + index);
        case What::scan:
          return reduction(number, call, rank + 1, index);
        case What::exscan:
          return reduction(number, call, rank, index);
        default:
          return -1;
      }
    };
    const bool all = call.what == What::gather || call.what == What::allgather || call.what == What::alltoall;
    const bool at_root = call.what == What::gather || call.what == What::reduce;
    Count length = all ? call.count * size() : call.count;
    if (call.what == What::barrier || (at_root && rank != call.root) ||
        (call.what == What::exscan && rank == 0)) {
      length = 0;
    }
    for (Count i = 0; i < static_cast<Count>(part.out.size()); ++i) {
      ASSERT_EQ(part.out[static_cast<size_t>(i)], i < length ? expected(i) : -1)
          << "call " << number << " of kind " << static_cast<int>(call.what) << ", " << call.count
          << " elements, root " << call.root << ", rank " << rank << " of " << size() << ", element " << i;
    }
  }

 private:
  enum class Form { started, persistent };

  static Comm* make_comm(int rank, int size, const std::vector<int>& nodes) {
    Comm* comm = objects::pools.comms.create();
    comm->group = objects::pools.groups.create();
    for (int peer = 0; peer < size; ++peer) comm->group->peers.push_back(peer);
    comm->group->index(rank);
    if (!nodes.empty()) comm->group->machines = objects::divide(comm->group->peers, rank, nodes);
    comm->region_agreed = true;
    comm->rank = rank;
    comm->size = comm->peer_count = size;
    comm->peers = comm->group->peers.data();
    return comm;
  }

  int reduction(size_t number, const Call& call, int ranks, Count index) const {
    if (call.first_wins) return value(number, 0, index);
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += value(number, rank, index);
    return sum;
  }

  template <Form form, auto build, class... Arguments>
  static Status make(Comm& comm, Request*& request, Arguments&&... arguments) {
    if constexpr (form == Form::started) return coll::start<build>(comm, request, arguments...);
    return coll::prepare<build>(comm, request, arguments...);
  }

  template <Form form>
  static Status dispatch(Comm& comm, Type& type, Op& op, const Call& call, Part& part) {
    const void* in = part.in.data();
    void* out = part.out.data();
    Request*& request = part.request;
    const Count count = call.count;
    switch (call.what) {
      case What::barrier:
        return make<form, coll::barrier>(comm, request);
      case What::bcast:
        return make<form, coll::bcast>(comm, request, out, count, type, call.root);
      case What::gather:
        return make<form, coll::gather>(comm, request, in, count, type, out, count, type, call.root);
      case What::scatter:
        return make<form, coll::scatter>(comm, request, in, count, type, out, count, type, call.root);
      case What::allgather:
        return make<form, coll::allgather>(comm, request, in, count, type, out, count, type);
      case What::alltoall:
        return make<form, coll::alltoall>(comm, request, in, count, type, out, count, type);
      case What::reduce:
        return make<form, coll::reduce>(comm, request, in, out, count, type, op, call.root);
      case What::allreduce:
        return make<form, coll::allreduce>(comm, request, in, out, count, type, op);
      case What::blocks:
        return make<form, coll::reduce_scatter_block>(comm, request, in, out, count, type, op);
      case What::scan:
        return make<form, coll::scan>(comm, request, in, out, count, type, op);
      default:
        return make<form, coll::exscan>(comm, request, in, out, count, type, op);
    }
  }

  Job job_;
  std::optional<coll::RegionPool> pool_;
  std::mt19937 random_;
  const std::vector<int> nodes_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Comm*> comms_;
  Op* first_wins_ = nullptr;
  Op* sum_ = nullptr;
};

/// Calls of all kinds, with about `count` elements.
std::vector<Call> some_calls(Ranks& ranks, int rounds, Count count) {
  std::vector<Call> calls;
  for (int round = 0; round < rounds; ++round) {
    for (int what = 0; what < static_cast<int>(What::count_); ++what) {
      const Count elements = round == 0 ? 0 : static_cast<Count>(ranks.random()() % (2 * count) + 1);
      calls.push_back({static_cast<What>(what), elements, ranks.some_rank(), ranks.random()() % 3 == 0});
    }
  }
  std::shuffle(calls.begin(), calls.end(), ranks.random());
  return calls;
}

class ScheduleContract : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kStepsMax = 3'000'000;

  // Each rank starts the calls in order, at random times, with up to kAheadMax in flight.
  static void run_started(Ranks& ranks, const std::vector<Call>& calls) {
    constexpr size_t kAheadMax = 7;
    const auto size = static_cast<size_t>(ranks.size());
    std::vector<std::vector<Part>> parts(size, std::vector<Part>(calls.size()));
    std::vector<size_t> next(size, 0);
    std::vector<size_t> over(size, 0);
    size_t left = size * calls.size();
    for (int steps = 0; left > 0; ++steps) {
      ASSERT_LT(steps, kStepsMax) << "stuck";
      const int rank = ranks.some_rank();
      const auto at = static_cast<size_t>(rank);
      if (next[at] < calls.size() && next[at] - over[at] < kAheadMax && ranks.random()() % 4 == 0) {
        Part& part = parts[at][next[at]];
        ranks.prepare(next[at], calls[next[at]], rank, part);
        part.started = true;
        ASSERT_TRUE(ranks.begin(calls[next[at]], rank, part, false).ok());
        ++next[at];
      } else {
        ranks.be(rank).progress();
      }
      for (size_t call = 0; call < next[at]; ++call) {
        Part& part = parts[at][call];
        if (part.done || !part.request->complete) continue;
        EXPECT_TRUE(part.request->outcome.ok());
        if (calls[call].what == What::barrier) {
          for (size_t other = 0; other < size; ++other)
            ASSERT_TRUE(parts[other][call].started) << "opened early";
        }
        ranks.check(call, calls[call], rank, part);
        if (testing::Test::HasFatalFailure()) return;
        ranks.be(rank).requests().destroy(part.request);
        part.done = true;
        ++over[at];
        --left;
      }
    }
  }
};

TEST_P(ScheduleContract, calls_under_way_together_keep_apart) {
  for (const int size : {1, 2, 3, 4, 5, 8, 9}) {
    Ranks ranks(GetParam(), size);
    run_started(ranks, some_calls(ranks, 4, 40));
    if (HasFatalFailure()) return;
  }
}

TEST_P(ScheduleContract, long_data) {
  for (const int size : {2, 3, 6}) {
    Ranks ranks(GetParam(), size);
    run_started(ranks, some_calls(ranks, 2, 60'000 / size));
    if (HasFatalFailure()) return;
  }
}

// Collectives composed of a part on each machine and a part between machines: ranks in blocks, in turns, and
// few on some machines.
TEST_P(ScheduleContract, several_machines) {
  const std::vector<int> spreads[] = {
      {0, 0, 1, 1}, {0, 1, 0, 1}, {2, 0, 1, 1, 0, 1}, {0, 0, 0, 1, 2, 2, 2}, {0, 1, 2, 0, 1, 2, 0, 1},
      {0, 1, 1},    {0, 0, 1},
  };
  const bool slow = GetParam().kind == Kind::network || GetParam().kind == Kind::mixed;
  for (const std::vector<int>& nodes : spreads) {
    for (const Count count : {3, 40, 3000}) {
      if (slow && (nodes.size() > 6 || count != 40)) continue;
      Ranks ranks(GetParam(), static_cast<int>(nodes.size()), nodes);
      run_started(ranks, some_calls(ranks, 2, count));
      if (HasFatalFailure()) return;
    }
  }
}

// More peers than messages that a schedule has in flight at once.
TEST_P(ScheduleContract, many_ranks) {
  Ranks ranks(GetParam(), 40);
  run_started(ranks, some_calls(ranks, 3, 600));
}

// Without a region: ranks agree on one while they create a persistent collective, which needs all of them at
// once, and here one thread plays one after the other. tests/multi/coll/persistent.c covers this.
TEST_P(ScheduleContract, persistent_ones_start_in_any_order) {
  for (const int size : {1, 2, 3, 5, 8}) {
    Ranks ranks(GetParam(), size);
    ranks.leave_regions();
    const std::vector<Call> calls = some_calls(ranks, 2, 300);
    std::vector<std::vector<Part>> parts(static_cast<size_t>(size), std::vector<Part>(calls.size()));
    for (int rank = 0; rank < size; ++rank) {
      for (size_t call = 0; call < calls.size(); ++call) {
        Part& part = parts[static_cast<size_t>(rank)][call];
        ranks.prepare(call, calls[call], rank, part);
        ASSERT_TRUE(ranks.begin(calls[call], rank, part, true).ok());
        ASSERT_FALSE(part.request->active);
      }
    }
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<std::pair<int, size_t>> starts;
      for (int rank = 0; rank < size; ++rank) {
        for (size_t call = 0; call < calls.size(); ++call) starts.emplace_back(rank, call);
      }
      std::shuffle(starts.begin(), starts.end(), ranks.random());
      for (const auto& [rank, call] : starts) {
        Part& part = parts[static_cast<size_t>(rank)][call];
        ranks.prepare(call, calls[call], rank, part);
        ranks.be(rank);
        ASSERT_TRUE(part.request->hooks->start(*part.request).ok());
        for (auto steps = ranks.random()() % 10; steps > 0; --steps) ranks.step();
      }
      for (const auto& [rank, call] : starts) {
        Part& part = parts[static_cast<size_t>(rank)][call];
        for (int steps = 0; !part.request->complete; ++steps) {
          ASSERT_LT(steps, kStepsMax) << "stuck";
          ranks.step();
        }
        ranks.check(call, calls[call], rank, part);
        if (HasFatalFailure()) return;
        part.request->active = false;
      }
    }
    for (int rank = 0; rank < size; ++rank) {
      for (Part& part : parts[static_cast<size_t>(rank)]) ranks.be(rank).requests().destroy(part.request);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Implementations, ScheduleContract, testing::ValuesIn(cases({3, 3, 1})),
                         [](const auto& tested) { return case_name(tested.param); });

}  // namespace
}  // namespace hearth::contract
