#include "base/chaos.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/atomic.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::chaos {
namespace {

constexpr const char* kPoints[] = {
#define HEARTH_CHAOS_POINT(name, text) #name,
#define HEARTH_CHAOS_CALL(name, error, text)
#include "base/chaos.def"
#undef HEARTH_CHAOS_POINT
#undef HEARTH_CHAOS_CALL
};

struct CallRow {
  const char* name;
  int error;
};
constexpr CallRow kCalls[] = {
#define HEARTH_CHAOS_POINT(name, text)
#define HEARTH_CHAOS_CALL(name, error, text) {#name, error},
#include "base/chaos.def"
#undef HEARTH_CHAOS_POINT
#undef HEARTH_CHAOS_CALL
};

constexpr uint64_t kNsPerUs = 1000;

Plan plan;
int self = 0;
bool fails_here = false;
bool kills_here = false;
uint64_t passages = 0;  // of the point at which this process is to be killed
uint64_t calls = 0;     // of the kind of call that is to fail
uint64_t drawn = 0;

uint64_t mix(uint64_t word) {
  word ^= word >> 30;
  word *= 0xbf58476d1ce4e5b9;
  word ^= word >> 27;
  word *= 0x94d049bb133111eb;
  return word ^ word >> 31;
}

// This rank's sequence of pseudo-random numbers, shared by all threads.
uint64_t next_word() {
  const uint64_t number = atomic::fetch_add(drawn, uint64_t{1});
  return mix(mix(plan.seed + 0x9e3779b97f4a7c15 * static_cast<uint64_t>(self + 3)) + number);
}

std::string who() {
  return self == Plan::kLauncher ? "mpiexec" : "rank " + std::to_string(self);
}

bool take_count(std::string_view text, uint64_t& count) {
  if (text.empty() || text.size() > 18) return false;
  count = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    count = count * 10 + static_cast<uint64_t>(digit - '0');
  }
  return true;
}

Status unreadable(const std::string& word) {
  return fail(MPI_ERR_ARG,
              "'%s' is nothing to disturb a job with; there are seed=N, fail=KIND:n, kill=POINT:n and "
              "rank=R, by commas (docs/design/reliability.md)",
              word.c_str());
}

// "name:count"
bool take_pair(const std::string& value, std::string& name, uint64_t& count) {
  const size_t colon = value.find(':');
  if (colon == std::string::npos) return false;
  name = value.substr(0, colon);
  return take_count(std::string_view(value).substr(colon + 1), count) && count > 0;
}

Status take_failure(const std::string& word, const std::string& value, Plan& read) {
  std::string name;
  if (!take_pair(value, name, read.fail_at)) return unreadable(word);
  if (name == "any") return {};
  for (size_t i = 0; i < std::size(kCalls); ++i) {
    if (name == kCalls[i].name) return read.fail = static_cast<Call>(i), Status();
  }
  std::string known = "any";
  for (const CallRow& call : kCalls) known += std::string(", ") + call.name;
  return fail(MPI_ERR_ARG, "'%s' is no kind of call; there are %s", name.c_str(), known.c_str());
}

Status take_kill(const std::string& word, const std::string& value, Plan& read) {
  std::string name;
  if (!take_pair(value, name, read.kill_at)) return unreadable(word);
  for (size_t i = 0; i < std::size(kPoints); ++i) {
    if (name == kPoints[i]) return read.kill = static_cast<Point>(i), Status();
  }
  std::string known;
  for (const char* point : kPoints) known += (known.empty() ? "" : ", ") + std::string(point);
  return fail(MPI_ERR_ARG, "'%s' is no point; there are %s", name.c_str(), known.c_str());
}

Status take_word(const std::string& word, Plan& read) {
  const size_t equals = word.find('=');
  const std::string name = equals == std::string::npos ? "seed" : word.substr(0, equals);
  const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
  if (name == "fail") return take_failure(word, value, read);
  if (name == "kill") return take_kill(word, value, read);
  uint64_t number = 0;
  if (name == "rank" && value == "mpiexec") return read.rank = Plan::kLauncher, Status();
  if (!take_count(value, number)) return unreadable(word);
  if (name == "rank" && number <= INT32_MAX) return read.rank = static_cast<int>(number), Status();
  if (name != "seed") return unreadable(word);
  read.disorder = true;
  read.seed = number;
  return {};
}

// Extreme values of parameters. Parameters that must be equal in all processes of a job depend on the seed
// only.

struct Choice {
  param::Id id;
  bool alike;
  int64_t values[4];
};
constexpr int64_t kAsItIs = -2;
constexpr int64_t KiB = 1024;
constexpr int64_t kUs = 1000;

constexpr Choice kChoices[] = {
    {param::Id::shm_ring_bytes, true, {kAsItIs, 1 * KiB, 2 * KiB, 4 * KiB}},
    {param::Id::shm_buffer_bytes, true, {kAsItIs, 2 * KiB, 4 * KiB, 16 * KiB}},
    {param::Id::shm_buffer_count, true, {kAsItIs, 8, 16, 32}},
    {param::Id::coll_regions, true, {kAsItIs, kAsItIs, 2, 0}},
    {param::Id::coll_pipeline_bytes, true, {kAsItIs, 64 * KiB, 64 * KiB, 128 * KiB}},
    {param::Id::coll_same_bits, true, {0, 0, 0, 1}},
    {param::Id::p2p_eager_bytes_max, false, {kAsItIs, 0, 48, 512}},
    {param::Id::p2p_fragments_in_flight, false, {kAsItIs, 1, 2, 3}},
    {param::Id::p2p_single_copy, false, {1, 1, 1, 0}},
    {param::Id::p2p_single_copy_bytes_min, false, {kAsItIs, 1, 4 * KiB, 64 * KiB}},
    {param::Id::p2p_single_copy_measured_bytes_min, false, {kAsItIs, kAsItIs, 1, 64 * KiB}},
    {param::Id::p2p_single_copy_cooperative_bytes_min, false, {kAsItIs, 1, 16 * KiB, 64 * KiB}},
    {param::Id::p2p_single_copy_write_bytes_min, false, {kAsItIs, kAsItIs, 1, 32 * KiB}},
    {param::Id::p2p_single_copy_readers, false, {kAsItIs, 1, 1, 2}},
    {param::Id::p2p_arena_bytes_min, false, {kAsItIs, 1, 1, 16 * KiB}},
    {param::Id::p2p_arena_measured_bytes_min, false, {kAsItIs, kAsItIs, 1, 16 * KiB}},
    {param::Id::p2p_cooperative_bytes_min, false, {kAsItIs, 1, 4 * KiB, 32 * KiB}},
    {param::Id::p2p_first_fragment_bytes, false, {kAsItIs, 2 * KiB, 2 * KiB, 4 * KiB}},
    {param::Id::p2p_fragment_bytes_max, false, {kAsItIs, 2 * KiB, 4 * KiB, 16 * KiB}},
    {param::Id::p2p_skew, false, {1, 1, 1, 0}},
    {param::Id::p2p_prefault, false, {1, 1, 1, 0}},
    {param::Id::p2p_prefetch_for_write, false, {1, 1, 1, 0}},
    {param::Id::p2p_unexpected_bytes_max, false, {kAsItIs, 1024 * KiB, 64 * KiB, 1 * KiB}},
    {param::Id::wait_spin, false, {kAsItIs, kAsItIs, 0, 1 * kUs}},
    {param::Id::wait_yield, false, {kAsItIs, 0, 0, 20 * kUs}},
};

void disturb_parameters() {
  for (const Choice& choice : kChoices) {
    const auto id = static_cast<uint64_t>(choice.id);
    const uint64_t rank = choice.alike ? 0 : static_cast<uint64_t>(self + 3);
    const int64_t value = choice.values[mix(mix(plan.seed * 31 + rank) + id) % std::size(choice.values)];
    if (value != kAsItIs && std::strcmp(param::source(choice.id), "default") == 0) {
      param::disturb(choice.id, value);
    }
  }
}

}  // namespace

Status parse(const std::string& text, Plan& read) {
  read = {};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    HEARTH_TRY(take_word(text.substr(begin, end - begin), read));
    begin = end + 1;
  }
  return {};
}

void begin(const Plan& wanted, int rank) {
  plan = wanted;
  self = rank;
  passages = calls = drawn = 0;
  const bool every = plan.rank == Plan::kEveryRank;
  fails_here = plan.fail_at != 0 && (plan.rank == rank || (every && rank != Plan::kLauncher));
  kills_here = plan.kill_at != 0 && (plan.rank == rank || (every && rank == 0));
  detail::armed = plan.disorder || fails_here || kills_here;
  if (plan.disorder) disturb_parameters();
}

void begin(int rank, const std::string& instead) {
  const std::string& text = instead.empty() ? param::get_text(param::Id::chaos) : instead;
  if (text.empty()) return;
  Plan read;
  if (!parse(text, read).ok()) {
    if (rank <= 0) std::fprintf(stderr, "hearth: HEARTH_CHAOS: %s\n", last_failure_text());
    return;
  }
  begin(read, rank);
  // Printed once per job: by mpiexec, or by rank 0 if there is no mpiexec.
  const bool first = rank == Plan::kLauncher || (rank == 0 && std::getenv("HEARTH_SEGMENT") == nullptr);
  if (plan.disorder && first) {
    std::fprintf(stderr, "chaos: seed %llu (replay with --chaos seed=%llu)\n",
                 static_cast<unsigned long long>(plan.seed), static_cast<unsigned long long>(plan.seed));
  }
}

bool disables_fast_path() {
  return detail::armed && (kills_here || (plan.disorder && mix(plan.seed + 7) % 2 == 0));
}

namespace detail {

void pass(Point point) {
  if (kills_here && point == plan.kill && atomic::fetch_add(passages, uint64_t{1}) + 1 == plan.kill_at) {
    std::fprintf(stderr, "chaos: %s is killed at %s, passage %llu\n", who().c_str(),
                 kPoints[static_cast<size_t>(point)], static_cast<unsigned long long>(plan.kill_at));
    os::signal_process(os::process_id(), SIGKILL);
  }
  if (!plan.disorder) return;
  const uint64_t word = next_word();
  switch (word % 64) {
    case 0:
      return os::sleep_ns(word >> 6 & 0xf'ffff);  // up to a millisecond
    case 1:
    case 2:
    case 3:
      return os::sleep_ns((word >> 6) % (50 * kNsPerUs));
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
      return os::yield_processor();
    case 12:
    case 13:
    case 14:
    case 15:
      for (uint64_t turn = word >> 6 & 0xfff; turn > 0; --turn) atomic::cpu_relax();
      return;
    default:
      return;
  }
}

bool refuse(Call call) {
  if (!fails_here || (plan.fail != Call::count_ && plan.fail != call)) return false;
  if (atomic::fetch_add(calls, uint64_t{1}) + 1 != plan.fail_at) return false;
  const CallRow& row = kCalls[static_cast<size_t>(call)];
  std::fprintf(stderr, "chaos: %s: call %llu, %s, fails with %s\n", who().c_str(),
               static_cast<unsigned long long>(plan.fail_at), row.name, std::strerror(row.error));
  errno = row.error;
  return true;
}

size_t draw_below(size_t end) {
  return plan.disorder && end > 1 ? next_word() % end : 0;
}

}  // namespace detail

}  // namespace hearth::chaos
