#include "launch/bootstrap_share.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/os_machine.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kProcessorsMax = 4096;
constexpr size_t kStrangersMax = 64;  // connections without a Hello, in addition to one per rank
constexpr uint64_t kFirstWordsNs = 1'000'000'000;
constexpr uint64_t kListenerToken = 0;  // a connection's token is its index + 1

using Processors = std::array<uint64_t, kProcessorsMax / 64>;

struct Hello {
  std::array<std::byte, 16> question;
  int32_t rank;
  int32_t reserved;
  Processors processors;
};

struct Welcome {
  std::array<std::byte, 16> answer;
};

template <class Packet>
std::span<std::byte> bytes_of(Packet& packet) {
  return {reinterpret_cast<std::byte*>(&packet), sizeof packet};
}

// Constant time, so that the duration does not reveal where two secrets differ.
bool same_secret(const std::array<std::byte, 16>& a, const std::array<std::byte, 16>& b) {
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

Processors own_processors() {
  Processors bits = {};
  for (const int processor : os::allowed_processors()) {
    const auto number = static_cast<size_t>(processor);
    if (number < kProcessorsMax) bits[number / 64] |= uint64_t{1} << number % 64;
  }
  return bits;
}

// A job works without an arena, so failures are recorded as its reason and are no errors.
void attach_arena(os::Descriptor file, uint32_t ranks, int place, shm::Arena& arena) {
  if (!shm::Arena::attach(std::move(file), ranks, place, arena).ok()) arena.set_reason(last_failure_text());
}

// The lowest rank: creates the memory and serves it to the others.
class Host {
 public:
  Host(const NodeAddress& published, os::Descriptor listener, std::span<const int> locals)
      : published_(published),
        listener_(std::move(listener)),
        locals_(locals),
        visitor_of_(locals.size(), -1) {
    processors_ = own_processors();
  }

  Status collect(uint64_t timeout_ns) {
    const uint64_t deadline = os::now_ns() + timeout_ns;
    poller_.add(listener_.number(), kListenerToken, true, false);
    while (missing() > 0) {
      const uint64_t now = os::now_ns();
      if (now >= deadline) return too_late(timeout_ns);
      const int wait_ms = static_cast<int>(std::min<uint64_t>((deadline - now) / 1'000'000 + 1, 1'000));
      for (const os::Poller::Event& event : poller_.wait(wait_ms)) {
        if (event.token == kListenerToken) {
          accept_all();
        } else {
          listen_to(static_cast<size_t>(event.token - 1));
        }
      }
      if (poller_.refusal() != 0) {
        return fail(MPI_ERR_OTHER,
                    "cannot wait for the other ranks of this machine: epoll_wait: %s. Remedy: "
                    "allow it in the sandbox",
                    std::strerror(poller_.refusal()));
      }
    }
    return {};
  }

  Status hand_out(shm::Segment& segment, shm::Arena& arena) {
    const auto ranks = static_cast<uint32_t>(locals_.size());
    HEARTH_TRY(shm::Segment::create(shm::SegmentPlan::for_ranks(ranks), segment));
    segment.job().usable_processors = usable_processors();
    std::vector<int> descriptors = {segment.descriptor()};
    shm::Arena made;
    if (shm::Arena::create(ranks, made).ok()) {
      descriptors.push_back(made.descriptor());
      attach_arena(os::duplicate_out_of_the_way(made.descriptor()), ranks, 0, arena);
    } else {
      arena.set_reason(last_failure_text());
    }
    Welcome welcome = {published_.answer};
    for (const int visitor : visitor_of_) {
      // If a send fails, that rank has ended, which the launcher handles.
      if (visitor >= 0) {
        static_cast<void>(os::send_packet(visitors_[static_cast<size_t>(visitor)].number(), bytes_of(welcome),
                                          descriptors));
      }
    }
    return {};
  }

 private:
  size_t missing() const {
    return static_cast<size_t>(std::count(visitor_of_.begin() + 1, visitor_of_.end(), -1));
  }

  uint32_t usable_processors() const {
    int count = 0;
    for (const uint64_t word : processors_) count += std::popcount(word);
    if (count == 0) count = os::usable_processors();
    const int quota = os::quota_processors();
    return static_cast<uint32_t>(quota > 0 ? std::min(quota, count) : count);
  }

  Status too_late(uint64_t timeout_ns) const {
    std::string names;
    for (size_t i = 1; i < locals_.size(); ++i) {
      if (visitor_of_[i] < 0) names += (names.empty() ? "" : ", ") + std::to_string(locals_[i]);
    }
    return fail(
        MPI_ERR_OTHER,
        "rank %s did not come for the job's shared memory within %llu s. Likely cause: it ended in "
        "MPI_Init. Remedy: look for its words; on a slow machine set HEARTH_LAUNCH_JOIN_TIMEOUT higher",
        names.c_str(), static_cast<unsigned long long>(timeout_ns / 1'000'000'000));
  }

  void accept_all() {
    for (;;) {
      os::Descriptor visitor = os::accept_next(listener_.number());
      if (!visitor.open()) return;
      if (const int64_t user = os::user_behind(visitor.number()); user != os::own_user()) {
        refuse("user " + std::to_string(user));
        continue;
      }
      if (strangers_ >= kStrangersMax + locals_.size()) {
        refuse("more processes than there are ranks");
        continue;
      }
      ++strangers_;
      poller_.add(visitor.number(), visitors_.size() + 1, true, false);
      visitors_.push_back(std::move(visitor));
    }
  }

  // Reads the Hello of a connection; closes the connection unless it is an expected rank.
  void listen_to(size_t number) {
    Hello hello = {};
    std::vector<os::Descriptor> unwanted;
    const intptr_t received = os::receive_packet(visitors_[number].number(), bytes_of(hello), unwanted);
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    --strangers_;
    const bool known =
        received == static_cast<intptr_t>(sizeof hello) && same_secret(hello.question, published_.question);
    const size_t place = known ? place_of(hello.rank) : 0;
    if (place == 0 || visitor_of_[place] >= 0) {
      visitors_[number].reset();
      refuse("a process that does not know the job's secret");
      return;
    }
    poller_.remove(visitors_[number].number());
    visitor_of_[place] = static_cast<int>(number);
    for (size_t i = 0; i < processors_.size(); ++i) processors_[i] |= hello.processors[i];
  }

  // The local rank of an expected rank; 0, which is this process, for any other number.
  size_t place_of(int rank) const {
    const auto found = std::find(locals_.begin() + 1, locals_.end(), rank);
    return found == locals_.end() ? 0 : static_cast<size_t>(found - locals_.begin());
  }

  // Reports the first refusal only; the job continues.
  void refuse(const std::string& whom) {
    if (refused_++ > 0) return;
    std::fprintf(stderr, "hearth: refused %s at the socket by which this job's ranks find each other\n",
                 whom.c_str());
  }

  const NodeAddress& published_;
  os::Descriptor listener_;
  std::span<const int> locals_;
  os::Poller poller_;
  std::vector<os::Descriptor> visitors_;
  std::vector<int> visitor_of_;  // by local rank: index in visitors_, -1 before its Hello
  size_t strangers_ = 0;         // connections without a Hello
  Processors processors_ = {};   // union over all ranks
  int refused_ = 0;
};

Status lowest_rank_left(int lowest) {
  const int error = errno;
  // The lowest rank reports the reason, and its end ends the job: leave it time for that.
  os::sleep_ns(kFirstWordsNs);
  return fail(MPI_ERR_OTHER,
              "rank %d, which makes the shared memory for the ranks of this machine, has not "
              "handed it out (%s)",
              lowest, std::strerror(error));
}

// Any other rank: receives the memory from the lowest rank.
Status fetch(const NodeAddress& published, std::span<const int> locals, int self, uint64_t timeout_ns,
             shm::Segment& segment, shm::Arena& arena) {
  const int lowest = locals[0];
  const os::Descriptor socket = os::connect_to_name(published.socket, timeout_ns);
  if (!socket.open()) return lowest_rank_left(lowest);
  if (os::user_behind(socket.number()) != os::own_user()) {
    return fail(MPI_ERR_OTHER, "a process of user %lld answers in place of rank %d",
                static_cast<long long>(os::user_behind(socket.number())), lowest);
  }
  Hello hello = {published.question, self, 0, own_processors()};
  if (!os::send_packet(socket.number(), bytes_of(hello), {})) return lowest_rank_left(lowest);
  Welcome welcome = {};
  std::vector<os::Descriptor> descriptors;
  errno = ECONNRESET;
  const intptr_t received = os::receive_packet(socket.number(), bytes_of(welcome), descriptors);
  if (received <= 0) return lowest_rank_left(lowest);
  if (received != static_cast<intptr_t>(sizeof welcome) || !same_secret(welcome.answer, published.answer) ||
      descriptors.empty()) {
    return fail(MPI_ERR_OTHER, "the process that answers in place of rank %d does not know the job's secret",
                lowest);
  }
  HEARTH_TRY(shm::Segment::attach(descriptors[0].release(), segment));
  if (descriptors.size() < 2) {
    arena.set_reason("rank " + std::to_string(lowest) + " could not make one");
    return {};
  }
  const auto place = static_cast<int>(std::find(locals.begin(), locals.end(), self) - locals.begin());
  attach_arena(std::move(descriptors[1]), static_cast<uint32_t>(locals.size()), place, arena);
  return {};
}

}  // namespace

Status share_segment(const NodeAddress& published, os::Descriptor listener, std::span<const int> locals,
                     int self, shm::Segment& segment, shm::Arena& arena) {
  const uint64_t timeout_ns = param::get_time_ns(param::Id::launch_join_timeout);
  if (self != locals[0]) return fetch(published, locals, self, timeout_ns, segment, arena);
  Host host(published, std::move(listener), locals);
  HEARTH_TRY(host.collect(timeout_ns));
  return host.hand_out(segment, arena);
}

}  // namespace hearth::launch
