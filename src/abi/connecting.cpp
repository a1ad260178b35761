#include "abi/connecting.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "abi/comm_making.h"
#include "abi/runtime.h"
#include "base/chaos.h"
#include "base/lock.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "coll/coll.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::abi {
namespace {

using objects::PeerIndex;

constexpr size_t kTextBytes = 512;
constexpr uint64_t kFetchNs = 10'000'000'000;
constexpr int kAttempts = 64;

/// The accepting root's answer; the names of the accepting group and then of the connecting group follow.
struct Answer {
  int32_t error_class;  // MPI_SUCCESS, or why there is no connection
  uint32_t number;      // of the connection
  uint32_t context;     // of the intercommunicator
  uint32_t accepting;   // processes
  uint32_t connecting;
  uint32_t has_bridge;  // 0: all processes are of one job
  char text[kTextBytes];
};

/// A group's outcome of an attempt; the larger one is the outcome of both groups.
enum Outcome : int { kAttached, kTaken, kFailed };

template <class Packet>
std::span<std::byte> bytes_of(Packet& packet) {
  return {reinterpret_cast<std::byte*>(&packet), sizeof packet};
}

/// One of the two roots, or another process of a group.
class Connecting {
 public:
  Connecting(objects::Comm& comm, int root, bool accepts) : comm_(comm), root_(root), accepts_(accepts) {}
  ~Connecting() {
    if (bridge_ != nullptr) bridge_->being_made = false;
  }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;

  Status run(const Meet& meet, objects::Comm*& made) {
    // The exchange below has time limits, so it starts once all processes of the group are in the call.
    HEARTH_TRY(coll::run<coll::barrier>(comm_));
    Caller caller;
    HEARTH_TRY(broadcast_outcome(comm_, root_, is_root() ? meet(caller) : Status()));
    if (is_root()) chaos::at(chaos::Point::roots_connected);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Outcome outcome = kFailed;
      HEARTH_TRY(try_once(caller, outcome));
      if (outcome == kAttached) return make(made);
    }
    return fail(MPI_ERR_OTHER, "the two groups found no number for their connection in %d attempts",
                kAttempts);
  }

 private:
  bool is_root() const { return comm_.rank == root_; }

  Status try_once(const Caller& caller, Outcome& outcome) {
    os::Descriptor bridge;
    files_.clear();
    Status status;
    if (is_root()) status = accepts_ ? offer(caller, bridge) : take_offer(caller, bridge);
    if (is_root() && status.ok() && answer_.has_bridge != 0) status = swap_files(caller);
    HEARTH_TRY(broadcast_outcome(comm_, root_, status));
    HEARTH_TRY(broadcast_answer());
    Outcome own = kAttached;
    if (answer_.has_bridge != 0) own = pass_on_and_attach(std::move(bridge), status);
    Outcome group = kAttached;
    HEARTH_TRY(agree(own, group));
    if (is_root()) outcome = swap_outcomes(caller, group, status);
    Words word = {outcome};
    HEARTH_TRY(broadcast_to_group(comm_, root_, word));
    outcome = static_cast<Outcome>(word[0]);
    if (outcome != kAttached && bridge_ != nullptr)
      runtime().bridges.detach(*std::exchange(bridge_, nullptr));
    if (outcome != kFailed) return {};
    if (!status.ok()) return status;
    return fail(MPI_ERR_OTHER,
                "another process of the two groups could not be connected: its error says why");
  }

  // The accepting root.
  Status offer(const Caller& caller, os::Descriptor& bridge) {
    Bridges& bridges = runtime().bridges;
    names_ = bridges.names_of(comm_.group->peers);
    answer_ = {};
    answer_.accepting = static_cast<uint32_t>(names_.size());
    answer_.connecting = static_cast<uint32_t>(caller.names.size());
    const Status status = make_bridge(caller, bridge);
    if (!status.ok()) {
      names_.clear();
      answer_.error_class = status.error_class();
      std::snprintf(answer_.text, sizeof answer_.text, "%s", last_failure_text());
    }
    std::vector<std::byte> packet(sizeof answer_ + names_.size() * sizeof(ProcessName));
    std::memcpy(packet.data(), &answer_, sizeof answer_);
    std::memcpy(packet.data() + sizeof answer_, names_.data(), names_.size() * sizeof(ProcessName));
    const int descriptor = bridge.number();
    const bool sent = os::send_packet(caller.socket.number(), packet,
                                      bridge.open() ? std::span(&descriptor, 1) : std::span<const int>());
    if (status.ok() && !sent) return lost_root();
    return status;
  }

  Status make_bridge(const Caller& caller, os::Descriptor& bridge) {
    for (const ProcessName& name : caller.names) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
        return fail(MPI_ERR_COMM,
                    "a process is in both groups that are to be connected (rank %llu of its MPI_COMM_WORLD)",
                    static_cast<unsigned long long>(name.rank));
      }
    }
    names_.insert(names_.end(), caller.names.begin(), caller.names.end());
    if (names_.size() > kConnectedMax) {
      return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                  "the two groups have %zu processes: Hearth connects groups of at most %zu together",
                  names_.size(), kConnectedMax);
    }
    const bool one_job = std::all_of(names_.begin(), names_.end(),
                                     [this](const ProcessName& name) { return name.job == names_[0].job; }) &&
                         !Bridges::has_foreign(comm_.group->peers);
    if (one_job) {
      answer_.context = p2p::engine().processes().new_context(comm_.group->peers);
      return {};
    }
    shm::Segment segment;
    HEARTH_TRY(Bridges::make_segment(names_.size(), std::min(own_ring_lines(), caller.ring_lines), segment));
    answer_.number = runtime().bridges.propose_number();
    answer_.has_bridge = 1;
    const uint32_t counted = segment.job().next_context - kFirstFreeContext;
    segment.job().next_context += kContextsEach;
    answer_.context = joint_context_block(answer_.number, counted);
    bridge = os::duplicate_out_of_the_way(segment.descriptor());
    return bridge.open() ? Status()
                         : fail(MPI_ERR_NO_MEM, "no descriptor for the connection: %s", std::strerror(errno));
  }

  // The connecting root.
  Status take_offer(const Caller& caller, os::Descriptor& bridge) {
    std::vector<std::byte> packet(sizeof answer_ + kConnectedMax * sizeof(ProcessName));
    std::vector<os::Descriptor> descriptors;
    const intptr_t bytes = receive(caller, packet, descriptors);
    if (bytes < static_cast<intptr_t>(sizeof answer_)) {
      return fail(
          MPI_ERR_PORT,
          "the process behind the port did not accept this group. Likely cause: it has closed the port or "
          "ended, or the name of the port is wrong or belongs to another version of Hearth");
    }
    std::memcpy(&answer_, packet.data(), sizeof answer_);
    if (answer_.error_class != MPI_SUCCESS) {
      answer_.text[kTextBytes - 1] = 0;
      return fail(answer_.error_class, "%s", answer_.text);
    }
    const size_t processes = size_t{answer_.accepting} + answer_.connecting;
    if (static_cast<size_t>(bytes) != sizeof answer_ + processes * sizeof(ProcessName) ||
        answer_.connecting != comm_.group->peers.size() || descriptors.size() != answer_.has_bridge) {
      return fail(MPI_ERR_PORT, "the accepting process answered with an invalid packet of %lld bytes",
                  static_cast<long long>(bytes));
    }
    names_.resize(processes);
    std::memcpy(names_.data(), packet.data() + sizeof answer_, processes * sizeof(ProcessName));
    if (!descriptors.empty()) bridge = std::move(descriptors[0]);
    return {};
  }

  // The roots exchange the files of their groups' jobs. The bridge works without files, but the other root
  // waits for a packet.
  Status swap_files(const Caller& caller) {
    Bridges& bridges = runtime().bridges;
    const int socket = caller.socket.number();
    if (!send_job_files(socket, {}, bridges.files_of(bridges.names_of(comm_.group->peers))) &&
        !send_job_files(socket, {}, {})) {
      return lost_root();
    }
    std::vector<std::byte> packet(kJobFilesBytesMax);
    std::vector<os::Descriptor> descriptors;
    const intptr_t bytes = receive(caller, packet, descriptors);
    if (bytes <= 0) return lost_root(bytes);
    files_ = received_job_files(std::span(packet).first(static_cast<size_t>(bytes)), descriptors);
    return {};
  }

  /// Bytes of the packet; 0 if the other side has closed the socket; negative with errno.
  intptr_t receive(const Caller& caller, std::span<std::byte> packet,
                   std::vector<os::Descriptor>& descriptors) {
    intptr_t bytes = 0;
    int error = 0;
    const bool done = wait_for_sockets(
        comm_, [&caller](std::vector<int>& waited) { waited.push_back(caller.socket.number()); },
        [&] {
          bytes = os::receive_packet(caller.socket.number(), packet, descriptors);
          error = bytes < 0 ? errno : 0;
          return error != EAGAIN && error != EWOULDBLOCK;
        },
        caller.timeout_ns);
    errno = done ? error : ETIMEDOUT;
    return done ? bytes : -1;
  }

  /// After a call on the socket that returned `result` with errno.
  static Status lost_root(intptr_t result = -1) {
    return fail(MPI_ERR_PORT,
                "the root of the other group has ended while the groups were being connected (%s)",
                result < 0 ? std::strerror(errno) : "it closed the socket");
  }

  // All processes of a group.
  Status broadcast_answer() {
    Words words;
    if (is_root()) {
      words = {static_cast<int>(answer_.number), static_cast<int>(answer_.context),
               static_cast<int>(answer_.accepting), static_cast<int>(answer_.connecting),
               static_cast<int>(answer_.has_bridge)};
      for (const ProcessName& name : names_) append_name(name, words);
    }
    HEARTH_TRY(broadcast_to_group(comm_, root_, words));
    if (is_root()) return {};
    answer_ = {};
    answer_.number = static_cast<uint32_t>(words[0]);
    answer_.context = static_cast<uint32_t>(words[1]);
    answer_.accepting = static_cast<uint32_t>(words[2]);
    answer_.connecting = static_cast<uint32_t>(words[3]);
    answer_.has_bridge = static_cast<uint32_t>(words[4]);
    names_ = names_in(words, 5);
    return {};
  }

  /// The descriptors go from the root to the other processes of the group over local sockets.
  Outcome pass_on_and_attach(os::Descriptor bridge, Status& status) {
    status = pass_on(bridge);
    shm::Segment segment;
    if (status.ok()) status = shm::Segment::attach(bridge.release(), segment);
    bool taken = false;
    if (status.ok()) {
      status = runtime().bridges.attach(std::move(segment), answer_.number, names_, std::move(files_), taken,
                                        bridge_);
    }
    if (taken) return kTaken;
    if (status.ok()) chaos::at(chaos::Point::bridge_attached);
    return status.ok() ? kAttached : kFailed;
  }

  Status pass_on(os::Descriptor& bridge) {
    if (comm_.size == 1) return {};
    Port port;
    Words words;
    Status opened;
    if (is_root()) {
      opened = Port::open(port);
      for (const char letter : port.name()) words.push_back(letter);
    }
    HEARTH_TRY(broadcast_to_group(comm_, root_, words));
    HEARTH_TRY(opened);
    if (words.empty()) return fail(MPI_ERR_OTHER, "the root could not pass the connection on");
    const std::string name(words.begin(), words.end());
    if (is_root()) return hand_out(port, bridge);
    // A second attempt, because after a refused packet the root waits for this process until kFetchNs.
    return fetch(name, bridge).ok() ? Status() : fetch(name, bridge);
  }

  Status hand_out(Port& port, const os::Descriptor& bridge) {
    int missing = comm_.size - 1;
    const int descriptor = bridge.number();
    std::vector<JobFileNumbers> files;
    for (const JobFiles& one : files_) {
      if (one.segment.open()) {
        files.push_back({one.job, one.segment.number(), one.arena.open() ? one.arena.number() : -1});
      }
    }
    const bool served = wait_for_sockets(
        comm_, [&port](std::vector<int>& waited) { port.append_descriptors(waited); },
        [&] {
          Caller caller;
          while (missing > 0 && port.next_caller(caller)) {
            static_cast<void>(send_job_files(caller.socket.number(), std::span(&descriptor, 1), files));
            --missing;
          }
          return missing == 0;
        },
        kFetchNs);
    return served ? Status()
                  : fail(MPI_ERR_OTHER, "%d processes of the group did not fetch the connection", missing);
  }

  Status fetch(const std::string& port, os::Descriptor& bridge) {
    Caller caller;
    HEARTH_TRY(call_port(port, {runtime().bridges.name_of(p2p::engine().self())}, 0, caller.socket));
    std::vector<std::byte> packet(kJobFilesBytesMax);
    std::vector<os::Descriptor> descriptors;
    const intptr_t bytes = receive(caller, packet, descriptors);
    if (bytes <= 0 || descriptors.empty()) {
      return fail(MPI_ERR_OTHER, "the root of the group did not pass the connection on");
    }
    bridge = std::move(descriptors[0]);
    files_ = received_job_files(std::span(packet).first(static_cast<size_t>(bytes)),
                                std::span(descriptors).subspan(1));
    return {};
  }

  Status agree(Outcome own, Outcome& group) {
    Words all;
    std::vector<int> ends;
    HEARTH_TRY(gather_words(comm_, {own}, all, ends));
    group = static_cast<Outcome>(*std::max_element(all.begin(), all.end()));
    return {};
  }

  // If this fails, the other root may have this group's outcome already and use the connection; detach()
  // tells its group then.
  Outcome swap_outcomes(const Caller& caller, Outcome own, Status& status) {
    int32_t theirs = kFailed;
    int32_t mine = own;
    std::vector<os::Descriptor> none;
    const bool sent = os::send_packet(caller.socket.number(), bytes_of(mine), {});
    const intptr_t bytes = sent ? receive(caller, bytes_of(theirs), none) : -1;
    if (bytes == static_cast<intptr_t>(sizeof theirs)) return static_cast<Outcome>(std::max(mine, theirs));
    if (status.ok()) status = lost_root(bytes);
    return kFailed;
  }

  Status make(objects::Comm*& made) {
    chaos::at(chaos::Point::bridge_agreed);
    Bridges& bridges = runtime().bridges;
    Peers remote_peers;
    const size_t begin = accepts_ ? answer_.accepting : 0;
    const size_t end = accepts_ ? names_.size() : answer_.accepting;
    for (size_t i = begin; i < end; ++i) remote_peers.push_back(bridges.find(names_[i]));
    Group* remote = nullptr;
    HEARTH_TRY(make_group(std::move(remote_peers), comm_.group->session, remote));
    objects::retain(*comm_.group);
    return make_intercomm(*comm_.errhandler, answer_.context, comm_.group, remote, made);
  }

  objects::Comm& comm_;
  const int root_;
  const bool accepts_;
  Answer answer_ = {};
  std::vector<ProcessName> names_;
  std::vector<JobFiles> files_;  // of the jobs of the other group
  Bridge* bridge_ = nullptr;
};

}  // namespace

bool wait_for_sockets(const objects::Comm& comm, const std::function<void(std::vector<int>&)>& descriptors,
                      const std::function<bool()>& done, uint64_t timeout_ns) {
  p2p::Engine& engine = p2p::engine();
  const uint64_t begun = os::now_ns();
  std::vector<int> waited;
  while (!done()) {
    engine.progress_once();
    if (engine.failures().has_dead(comm.group->peers)) return false;
    const uint64_t elapsed = os::now_ns() - begun;
    if (timeout_ns != 0 && elapsed > timeout_ns) return false;
    check_processes();
    waited.clear();
    descriptors(waited);
    // Data on a socket end this wait at once; messages of other communicators wait until its end.
    const int wait_ms = static_cast<int>(std::clamp<uint64_t>(elapsed / 100'000'000, 1, 10));
    const uint32_t depth = LibraryLock::release_all();
    os::wait_readable(waited, wait_ms);
    LibraryLock::acquire_all(depth);
  }
  return true;
}

bool receive_all(const objects::Comm& comm, int socket, void* to, size_t bytes) {
  auto* next = static_cast<std::byte*>(to);
  bool ended = false;
  const bool came = wait_for_sockets(
      comm, [socket](std::vector<int>& waited) { waited.push_back(socket); },
      [&] {
        while (bytes > 0 && !ended && os::wait_readable(std::span(&socket, 1), 0)) {
          const intptr_t got = os::read_some(socket, next, bytes);
          ended = got <= 0;
          if (got > 0) next += got;
          if (got > 0) bytes -= static_cast<size_t>(got);
        }
        return bytes == 0 || ended;
      });
  return came && bytes == 0;
}

Status broadcast_outcome(objects::Comm& comm, int root, Status status) {
  Words words;
  if (comm.rank == root) {
    words = {status.ok() ? MPI_SUCCESS : status.error_class()};
    if (!status.ok()) {
      for (const char* letter = last_failure_text(); *letter != 0; ++letter) words.push_back(*letter);
    }
  }
  HEARTH_TRY(broadcast_to_group(comm, root, words));
  if (words[0] == MPI_SUCCESS) return {};
  const std::string text(words.begin() + 1, words.end());
  return fail(words[0], "%s", text.c_str());
}

Status check_connectable(const objects::Comm& comm) {
  if (comm.is_inter()) {
    return fail(MPI_ERR_COMM, "comm is an intercommunicator: only an intracommunicator can be connected");
  }
  const bool here = std::all_of(comm.group->peers.begin(), comm.group->peers.end(), [](PeerIndex peer) {
    return Bridges::is_foreign(peer) || shm::node().has(peer);
  });
  if (here) return {};
  return fail(
      MPI_ERR_UNSUPPORTED_OPERATION,
      "the processes of comm are on several machines: connections to other jobs work between processes "
      "of one machine only. Remedy: use a communicator of the processes of one machine "
      "(MPI_Comm_split_type with MPI_COMM_TYPE_SHARED)");
}

uint32_t own_ring_lines() {
  return runtime().job.segment.geometry().ring_lines;
}

Status accept_group(objects::Comm& comm, int root, const Meet& meet, objects::Comm*& made) {
  return Connecting(comm, root, true).run(meet, made);
}

Status connect_group(objects::Comm& comm, int root, const Meet& meet, objects::Comm*& made) {
  return Connecting(comm, root, false).run(meet, made);
}

}  // namespace hearth::abi
