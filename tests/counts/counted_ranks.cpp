#include "counted_ranks.h"

#include <algorithm>
#include <bitset>
#include <deque>
#include <unordered_map>

#include "coll/access_counters.h"
#include "coll/collective_region.h"
#include "coll/select.h"
#include "datatype/predefined.h"
#include "datatype/reduce.h"
#include "shm/ring.h"

namespace hearth::coll {
namespace {

constexpr int kRanksMax = 256;
constexpr uint32_t kContext = 40;

/// One line of shared memory.
struct Line {
  std::bitset<kRanksMax> has;  // the ranks whose caches have it
  int writer = -1;
  uint64_t written_in = 0;  // the collective
  int depth = 0;  // length of the chain of lines that led to it, each read before the next was written
};

/// State of the simulation.
struct State {
  std::unordered_map<uintptr_t, Line> lines;
  uint64_t collective = 0;
  std::vector<Counts> counts;
  std::vector<int> depths;  // of each rank, in this collective
  int rank = 0;             // the running one

  Counts& own() { return counts[static_cast<size_t>(rank)]; }
  int& depth() { return depths[static_cast<size_t>(rank)]; }
  void reach(int other_depth) {
    if (other_depth + 1 <= depth()) return;
    depth() = other_depth + 1;
    own().waits += 1;
  }
};
State state;

template <class Each>
void each_line(const void* address, int64_t bytes, const Each& each) {
  if (bytes <= 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t last = (begin + static_cast<uintptr_t>(bytes) - 1) / shm::kLineBytes;
  for (uintptr_t line = begin / shm::kLineBytes; line <= last; ++line) each(state.lines[line]);
}

int64_t lines_of_message(int64_t bytes) {
  return (static_cast<int64_t>(shm::kHeaderBytes) + bytes + 63) / 64;
}

}  // namespace

namespace access_counters {

void wrote(const void* address, int64_t bytes) {
  each_line(address, bytes, [](Line& line) {
    line.has.reset();
    line.has.set(static_cast<size_t>(state.rank));
    line.writer = state.rank;
    line.written_in = state.collective;
    line.depth = state.depth();
    state.own().lines_written += 1;
  });
}

void read(const void* address, int64_t bytes) {
  each_line(address, bytes, [](Line& line) {
    if (line.has.test(static_cast<size_t>(state.rank))) return;
    line.has.set(static_cast<size_t>(state.rank));
    state.own().lines_read += 1;
    if (line.writer >= 0 && line.written_in == state.collective) state.reach(line.depth);
  });
}

void copied(int64_t bytes) {
  state.own().copied += static_cast<double>(bytes);
}
void reduced(int64_t bytes) {
  state.own().reduced += static_cast<double>(bytes);
}
void woke() {
  state.own().bells += 1;
}

}  // namespace access_counters

template <class Each>
void Counts::with(const Counts& other, const Each& each) {
  each(lines_written, other.lines_written);
  each(lines_read, other.lines_read);
  each(bells, other.bells);
  each(messages, other.messages);
  each(copied, other.copied);
  each(reduced, other.reduced);
  each(waits, other.waits);
  each(chain, other.chain);
}

Counts& Counts::operator+=(const Counts& other) {
  with(other, [](double& own, double theirs) { own += theirs; });
  return *this;
}

Counts& Counts::operator/=(double parts) {
  with(*this, [parts](double& own, double) { own /= parts; });
  return *this;
}

void Counts::raise_to(const Counts& other) {
  with(other, [](double& own, double theirs) { own = std::max(own, theirs); });
}

/// One rank and its progress through the steps of a collective.
struct CountedRanks::Rank {
  struct Message {
    std::vector<std::byte> data;
    int depth;
  };

  int number = 0;
  objects::Group group;
  objects::Comm comm;
  Schedule* schedule = nullptr;
  size_t next = 0;
  std::vector<Schedule::Step> receives;               // posted, not complete
  std::vector<std::deque<Message>> incoming;          // by sender
  std::vector<std::unique_ptr<Rank>>* all = nullptr;  // by number

  void send(const Schedule::Step& step) {
    const int64_t bytes = step.from_count * step.from_type->size;
    Message message{std::vector<std::byte>(static_cast<size_t>(bytes)), state.depth()};
    datatype::pack(*step.from_type, step.from, 0, message.data.data(), message.data.size());
    (*all)[static_cast<size_t>(step.peer)]->incoming[static_cast<size_t>(number)].push_back(
        std::move(message));
    state.own().messages += 1;
    state.own().lines_written += static_cast<double>(lines_of_message(bytes));
    access_counters::copies(bytes);
  }

  /// Whether all receives are complete.
  bool receive_all() {
    while (!receives.empty()) {
      const auto ready = std::find_if(receives.begin(), receives.end(), [this](const Schedule::Step& step) {
        return !incoming[static_cast<size_t>(step.peer)].empty();
      });
      if (ready == receives.end()) return false;
      auto& from = incoming[static_cast<size_t>(ready->peer)];
      const Message& message = from.front();
      datatype::unpack(*ready->to_type, ready->to, 0, message.data.data(), message.data.size());
      const auto bytes = static_cast<int64_t>(message.data.size());
      state.own().lines_read += static_cast<double>(lines_of_message(bytes));
      access_counters::copies(bytes);
      state.reach(message.depth);
      from.pop_front();
      receives.erase(ready);
    }
    return true;
  }

  /// Runs as far as possible; true if it has finished. `moved`: a step was completed.
  bool go_on(bool& moved, bool& failed) {
    state.rank = number;
    for (; next < schedule->steps().size(); ++next, moved = true) {
      const Schedule::Step& step = schedule->steps()[next];
      switch (step.kind) {
        case Schedule::Step::Kind::send:
          send(step);
          break;
        case Schedule::Step::Kind::receive:
          receives.push_back(step);
          break;
        case Schedule::Step::Kind::copy:
          failed |= !datatype::copy(step.from, step.from_count, *step.from_type, step.to, step.to_count,
                                    *step.to_type)
                         .ok();
          access_counters::copies(step.from_count * step.from_type->size);
          break;
        case Schedule::Step::Kind::reduce:
          failed |= !datatype::reduce(*step.op, *step.from_type, step.from, step.to, step.from_count).ok();
          access_counters::reduces(step.from_count * step.from_type->size);
          break;
        case Schedule::Step::Kind::next_round:
          if (!receive_all()) return false;
          break;
        case Schedule::Step::Kind::shared:
          if (!step.shared->advance()) return false;
          failed |= !step.shared->outcome.ok();
          break;
      }
    }
    return receive_all();
  }
};

CountedRanks::CountedRanks(int ranks) : size_(ranks) {
  datatype::enter_predefined_types();
  shm::SegmentPlan plan = shm::SegmentPlan::for_ranks(static_cast<uint32_t>(ranks));
  plan.ring_lines = 64;
  plan.buffer_bytes = 4096;
  plan.buffer_count = 4;
  plan.region_count = 1;
  if (!shm::Segment::create(plan, segment_).ok()) return;
  // Each rank has its own processor.
  segment_.job().usable_processors = static_cast<uint32_t>(ranks);
  node_.emplace(segment_, 0);
  shm::process_node = &*node_;
  use_regions(pool_.emplace(&*node_));
  state = {};
  state.depths.assign(static_cast<size_t>(ranks), 0);
  for (int number = 0; number < ranks; ++number) {
    auto rank = std::make_unique<Rank>();
    rank->number = number;
    rank->all = &ranks_;
    rank->incoming.resize(static_cast<size_t>(ranks));
    for (int peer = 0; peer < ranks; ++peer) rank->group.peers.push_back(peer);
    rank->group.index(number);
    objects::Comm& comm = rank->comm;
    comm.context = kContext;
    comm.group = &rank->group;
    comm.rank = number;
    comm.size = comm.peer_count = ranks;
    comm.peers = rank->group.peers.data();
    comm.region = 0;
    ranks_.push_back(std::move(rank));
  }
}

CountedRanks::~CountedRanks() {
  wish("");
  for (const auto& rank : ranks_) delete rank->comm.region_view;
}

void CountedRanks::wish(const std::string& algorithms) {
  (void)set_wishes(kContext, algorithms);
  for (const auto& rank : ranks_) {
    if (CollectiveRegion* region = CollectiveRegion::of(rank->comm)) region->update_limits();
  }
}

bool CountedRanks::run_once(const Build& build) {
  ++state.collective;
  std::fill(state.depths.begin(), state.depths.end(), 0);
  bool failed = false;
  for (const auto& rank : ranks_) {
    state.rank = rank->number;
    rank->next = 0;
    failed |= !Schedule::make(rank->comm, "counted", false, rank->schedule).ok() ||
              !build(*rank->schedule, rank->number).ok();
  }
  size_t over = 0;
  uint64_t last = 0;
  for (bool moved = true; over < ranks_.size() && moved && !failed;) {
    moved = false;
    over = 0;
    for (const auto& rank : ranks_) {
      const size_t receives = rank->receives.size();
      if (rank->go_on(moved, failed)) ++over;
      moved |= rank->receives.size() != receives;
    }
    // A shared-memory collective operation that is not complete may have made progress: the counters of lines
    // show it.
    uint64_t now = 0;
    for (const Counts& counts : state.counts)
      now += static_cast<uint64_t>(counts.lines_read + counts.lines_written);
    moved |= now != last;
    last = now;
  }
  for (const auto& rank : ranks_) {
    rank->schedule->let_go();
    const auto number = static_cast<size_t>(rank->number);
    state.counts[number].chain += state.depths[number];
  }
  return over == ranks_.size() && !failed;
}

bool CountedRanks::run(const Build& build, int times, std::vector<Counts>& counts) {
  if (ranks_.empty()) return false;
  // Warm-up, for work that is done only the first time.
  state.counts.assign(static_cast<size_t>(size_), {});
  if (!run_once(build)) return false;
  state.counts.assign(static_cast<size_t>(size_), {});
  for (int time = 0; time < times; ++time) {
    if (!run_once(build)) return false;
  }
  counts = state.counts;
  for (Counts& of_rank : counts) of_rank /= times;
  return true;
}

}  // namespace hearth::coll
