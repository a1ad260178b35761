#include "launch/snapshot.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "base/os_io.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "hearth_calls.h"
#include "launch/base_name.h"
#include "launch/stack_guess.h"
#include "launch/thread_states.h"
#include "mpi.h"
#include "shm/ring.h"

namespace hearth::launch {
namespace {

constexpr int kTriesMax = 1000;
// Time between two samples: twice the longest sleep of a rank that is not woken.
constexpr uint64_t kBetweenSamplesNs = 200'000'000;
constexpr int kMoreLooksMax = 4;
// Clock ticks of /proc/PID/stat: Linux reports 100 per second on all architectures.
constexpr uint64_t kNsPerTick = 10'000'000;

std::string proc(int pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

bool is_mpi_name(const std::string& name) {
  return name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with("mpi_") ||
         name.starts_with("pmpi_");
}

/// "exchange+0x1c <- step+0x40 <- main+0x2b in solver": consecutive frames in one file, which is named once.
void name_site(const shm::WaitEntry& entry, uint32_t first, const ProcessCode& code, std::string& site) {
  constexpr uint32_t kShown = 3;
  const uint32_t last =
      std::min({entry.caller_count, static_cast<uint32_t>(shm::kCallersMax), first + kShown});
  std::string file;
  for (uint32_t i = first; i < last; ++i) {
    const CodePlace place = code.find(entry.callers[i] - 1);
    // Stop at code that starts the program, and at calls from system libraries.
    if (place.file.empty() || (!file.empty() && place.file != file)) break;
    site += (site.empty() ? "" : " <- ") + words_of(place, false);
    file = place.file;
    if (place.function == "main") break;
  }
  if (!file.empty()) site += " in " + base_of(file);
}

/// Walks the frames outwards. The outermost library function is the one that the program called; a tool or
/// language binding may lie in between. The frames after it are the call site.
void name_callers(const shm::WaitEntry& entry, const ProcessCode& code, SeenWait& wait) {
  const uint32_t count = std::min<uint32_t>(entry.caller_count, shm::kCallersMax);
  for (uint32_t i = 0; i < count; ++i) {
    const CodePlace place = code.find(entry.callers[i] - 1);  // the call instruction, not the return address
    if (place.in_library || (i > 0 && is_mpi_name(place.function))) {
      const std::string name = place.function.substr(0, place.function.find_first_of(".@"));
      if (is_mpi_name(name)) wait.function = name.starts_with("PMPI_") ? name.substr(1) : name;
      continue;
    }
    name_site(entry, i, code, wait.site);
    return;
  }
}

const char* type_name(uint32_t handle) {
  const abi::NamedHandle* end = abi::handle_names + abi::handle_name_count;
  const abi::NamedHandle* found =
      std::lower_bound(abi::handle_names, end, handle,
                       [](const abi::NamedHandle& row, uint32_t wanted) { return row.value < wanted; });
  return handle != 0 && found != end && found->value == handle ? found->name : nullptr;
}

SeenWait read_wait(const shm::WaitEntry& entry, const ProcessCode* code) {
  SeenWait wait;
  wait.kind = static_cast<shm::WaitKind>(entry.kind);
  wait.thread = static_cast<int>(entry.thread);
  wait.any_suffices = entry.any_suffices != 0;
  wait.since_ns = entry.since_ns;
  wait.beat_ns = entry.beat_ns;
  wait.operation_count = entry.operation_count;
  for (uint32_t i = 0; i < std::min<uint32_t>(entry.operation_count, shm::kOperationsMax); ++i) {
    const shm::AwaitedOperation& from = entry.operations[i];
    wait.operations.push_back(
        {static_cast<shm::WaitKind>(from.kind), from.peer, from.peer_rank, from.tag, from.context, from.bytes,
         type_name(from.type),
         std::string(from.collective, strnlen(from.collective, sizeof from.collective))});
  }
  wait.missing_count = entry.missing_count;
  for (uint32_t i = 0; i < std::min<uint32_t>(entry.missing_count, shm::kMissingMax); ++i) {
    wait.missing.push_back(entry.missing[i]);
  }
  if (code != nullptr) name_callers(entry, *code, wait);
  return wait;
}

SeenComm read_comm(const shm::ShownComm& shown) {
  SeenComm comm;
  comm.context = shown.context;
  comm.size = shown.size;
  comm.kind = static_cast<shm::CommKind>(shown.kind);
  comm.name.assign(shown.name, strnlen(shown.name, sizeof shown.name));
  for (int process = 0; process < shm::kMemberWords * 64; ++process) {
    if ((shown.members[process / 64] >> process % 64 & 1) != 0) comm.members.push_back(process);
  }
  return comm;
}

std::vector<SeenMessage> read_queue(const shm::QueuedMessage* queue, uint32_t count) {
  std::vector<SeenMessage> messages;
  for (uint32_t i = 0; i < std::min<uint32_t>(count, shm::kQueuedMax); ++i) {
    messages.push_back({queue[i].peer, queue[i].tag, queue[i].context, queue[i].bytes});
  }
  return messages;
}

}  // namespace

bool has_polled(const SeenWait& wait, uint64_t before_ns) {
  // The thread may lose the processor between its poll and its reading of the clock.
  constexpr uint64_t kMarginNs = 10'000'000;
  return wait.beat_ns >= before_ns + kMarginNs;
}

bool copy_record(const shm::WaitRecord& record, shm::WaitRecord& copy) {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    // Pairs with Writing (p2p/wait_diagnostics.cpp): the same even number before and after means that no
    // write overlapped.
    const uint32_t before = atomic::load_acquire(record.version);
    if (before % 2 == 0) {
      std::memcpy(&copy, &record, sizeof copy);
      atomic::fence_full();
      if (atomic::load_relaxed(record.version) == before) return true;
    }
    os::yield_processor();
  }
  return false;
}

SeenRank read_rank(const shm::RankBlock& block, const ProcessCode* code) {
  SeenRank rank;
  rank.phase = static_cast<shm::RankPhase>(atomic::load_acquire(block.phase));
  rank.process.pid = static_cast<int>(block.pid);
  rank.process.ended = atomic::load_acquire(block.dead) != 0;
  shm::WaitRecord record;
  if (rank.phase != shm::RankPhase::initialized || !copy_record(block.waiting, record)) return rank;
  rank.threads_multiple = record.threads_multiple != 0;
  rank.waits_left_out = record.waits_left_out;
  const shm::WaitEntry* last = nullptr;
  for (const shm::WaitEntry& entry : record.waits) {
    if (static_cast<shm::WaitKind>(entry.kind) == shm::WaitKind::none) {
      if (entry.beat_ns != 0 && (last == nullptr || entry.beat_ns > last->beat_ns)) last = &entry;
      continue;
    }
    SeenWait wait = read_wait(entry, code);
    // If a callback of a blocked call blocks in a call of its own, the inner call counts.
    const auto same = std::find_if(rank.waits.begin(), rank.waits.end(),
                                   [&wait](const SeenWait& other) { return other.thread == wait.thread; });
    if (same == rank.waits.end()) {
      rank.waits.push_back(std::move(wait));
    } else if (same->since_ns < wait.since_ns) {
      *same = std::move(wait);
    }
  }
  if (last != nullptr) rank.last_wait = read_wait(*last, code);
  if (static_cast<shm::WaitKind>(record.polling.kind) != shm::WaitKind::none) {
    rank.polling = read_wait(record.polling, code);
  }
  // Only waiting and polling ranks keep their published queues up to date.
  if (rank.waits.empty() && !rank.polling) return rank;
  rank.unexpected_count = record.unexpected_count;
  rank.posted_count = record.posted_count;
  rank.unexpected = read_queue(record.unexpected, record.unexpected_count);
  rank.posted = read_queue(record.posted, record.posted_count);
  for (const shm::ShownComm& shown : record.comms) {
    if (shown.size > 0) rank.comms.push_back(read_comm(shown));
  }
  for (const shm::ShownPeer& shown : record.peers) {
    if (shown.peer > 0) rank.foreign.push_back({shown.peer, shown.rank, static_cast<int>(shown.pid)});
  }
  return rank;
}

Observer::Observer(const shm::Segment& segment)
    : segment_(segment),
      processes_(static_cast<size_t>(segment.rank_count())),
      times_(static_cast<size_t>(segment.rank_count())) {}

void Observer::set_process(int rank, int pid, bool ended) {
  processes_[static_cast<size_t>(rank)] = {pid, ended};
}

void Observer::sample_process(SeenProcess& process, Times& times, uint64_t now_ns) const {
  if (process.ended || process.pid <= 0) return;
  const std::string text = os::read_text(proc(process.pid, "stat").c_str());
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    process.ended = !os::read_text("/proc/self/stat").empty();  // unless /proc is not mounted
    return;
  }
  unsigned long long user = 0;
  unsigned long long system = 0;
  if (std::sscanf(text.c_str() + name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %d", &process.state,
                  &user, &system, &process.threads) < 4) {
    return;
  }
  if (process.state == 'Z' || process.state == 'X') process.ended = true;
  const uint64_t used_ns = (user + system) * kNsPerTick;
  if (times.at_ns != 0 && now_ns > times.at_ns) {
    process.processors =
        static_cast<double>(used_ns - times.used_ns) / static_cast<double>(now_ns - times.at_ns);
  }
  times = {now_ns, used_ns};
  process.blocked_in = os::read_text(proc(process.pid, "wchan").c_str());
  if (process.blocked_in == "0") process.blocked_in.clear();
}

void Observer::sample_traffic(Snapshot& now) {
  const auto ranks = static_cast<size_t>(segment_.rank_count());
  Carried carried = {now.now_ns, {}, {}, {}, {}, std::vector<uint32_t>(ranks * ranks)};
  std::vector<double> in(ranks);
  std::vector<double> out(ranks);
  const bool known = carried_.at_ns != 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const shm::LongTraffic& traffic = segment_.rank(static_cast<int>(rank)).traffic;
    carried.sent.push_back(atomic::load_relaxed(traffic.sent));
    carried.received.push_back(atomic::load_relaxed(traffic.received));
    carried.read.push_back(atomic::load_relaxed(traffic.file_read));
    carried.written.push_back(atomic::load_relaxed(traffic.file_written));
    if (!known) continue;
    in[rank] += static_cast<double>(carried.received[rank] - carried_.received[rank]);
    out[rank] += static_cast<double>(carried.sent[rank] - carried_.sent[rank]);
  }
  for (size_t to = 0; to < ranks; ++to) {
    for (size_t from = 0; from < ranks; ++from) {
      const uint32_t number =
          atomic::load_acquire(segment_.ring_number(static_cast<int>(to), static_cast<int>(from)));
      // An observer must not trust the number: a corrupt one is skipped.
      if (number == 0 || number > segment_.ring_count_max()) continue;
      uint32_t& slots = carried.slots[to * ranks + from];
      slots = shm::slots_consumed(segment_.ring_memory(number - 1));
      if (!known) continue;
      const double bytes = static_cast<double>(slots - carried_.slots[to * ranks + from]) * shm::kSlotBytes;
      in[to] += bytes;
      out[from] += bytes;
    }
  }
  const double seconds = static_cast<double>(now.now_ns - carried_.at_ns) / 1e9;
  for (size_t rank = 0; known && seconds > 0 && rank < ranks; ++rank) {
    const auto files = [rank, seconds](const std::vector<uint64_t>& after,
                                       const std::vector<uint64_t>& before) {
      return static_cast<double>(after[rank] - before[rank]) / seconds;
    };
    now.ranks[rank].traffic = {in[rank] / seconds, out[rank] / seconds, files(carried.read, carried_.read),
                               files(carried.written, carried_.written)};
  }
  carried_ = std::move(carried);
}

void Observer::keep() {
  kept_.clear();
  kept_ns_ = os::now_ns();
  kept_.reserve(static_cast<size_t>(segment_.rank_count()));
  for (int index = 0; index < segment_.rank_count(); ++index) kept_.push_back(segment_.rank(index));
}

void Observer::sample(bool stacks) {
  Snapshot now;
  now.now_ns = kept_.empty() ? os::now_ns() : kept_ns_;
  for (int index = 0; index < segment_.rank_count(); ++index) {
    const auto at = static_cast<size_t>(index);
    const Known& known = processes_[at];
    const shm::RankBlock& block = kept_.empty() ? segment_.rank(index) : kept_[at];
    // Prefer the pid that the rank published: mpiexec may have started a shell around the rank.
    const bool same_numbers =
        block.pid != 0 && os::same_numbering(block.pid_numbering, os::process_numbering());
    const int pid = same_numbers ? static_cast<int>(block.pid) : known.pid;
    const bool waits = atomic::load_relaxed(block.waiting.version) != 0 && pid > 0 && !known.ended;
    SeenRank rank;
    if (waits) {
      const ProcessCode code(pid, tables_);
      rank = read_rank(block, &code);
    } else {
      rank = read_rank(block, nullptr);
    }
    rank.process.pid = pid;
    rank.process.ended = rank.process.ended || known.ended;
    sample_process(rank.process, times_[at], now.now_ns);
    if (rank.threads_multiple && !rank.waits.empty() && !rank.process.ended) {
      std::vector<int> waiting;
      for (const SeenWait& wait : rank.waits) waiting.push_back(wait.thread);
      rank.process.acting_threads = count_acting_threads(pid, waiting);
    }
    // The ranks were alive when the copy was taken, unless mpiexec knew otherwise.
    if (!kept_.empty()) rank.process.ended = known.ended;
    const bool sleeps = rank.process.state == 'S' || rank.process.state == 'D';
    if (stacks && sleeps && rank.waits.empty() && rank.phase == shm::RankPhase::initialized) {
      rank.process.called_from = guess_callers(pid, ProcessCode(pid, tables_));
    }
    now.ranks.push_back(std::move(rank));
  }
  sample_traffic(now);
  kept_.clear();
  latest_ = std::move(now);
}

bool Observer::all_have_polled(uint64_t before_ns) const {
  return std::all_of(latest_.ranks.begin(), latest_.ranks.end(), [before_ns](const SeenRank& rank) {
    return rank.process.ended ||
           std::all_of(rank.waits.begin(), rank.waits.end(),
                       [before_ns](const SeenWait& wait) { return has_polled(wait, before_ns); });
  });
}

const Snapshot& Observer::sample_twice(bool has_time) {
  sample();
  const Snapshot before = latest_;
  for (int more = has_time ? kMoreLooksMax : 0;; --more) {
    os::sleep_ns(kBetweenSamplesNs);
    sample(true);
    if (more == 0 || all_have_polled(before.now_ns)) break;
  }
  latest_.before_ns = before.now_ns;
  for (size_t index = 0; index < latest_.ranks.size(); ++index) {
    SeenRank& rank = latest_.ranks[index];
    const SeenRank& earlier = before.ranks[index];
    rank.process.acting_threads = std::max(rank.process.acting_threads, earlier.process.acting_threads);
    rank.settled = rank.phase == earlier.phase && rank.process.ended == earlier.process.ended;
    const size_t dropped = std::erase_if(rank.waits, [&earlier](const SeenWait& wait) {
      return std::none_of(earlier.waits.begin(), earlier.waits.end(), [&wait](const SeenWait& other) {
        return other.thread == wait.thread && other.since_ns == wait.since_ns;
      });
    });
    rank.waits_briefly = dropped > 0 && rank.waits.empty();
  }
  return latest_;
}

}  // namespace hearth::launch
