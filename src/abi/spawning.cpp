#include "abi/spawning.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "abi/children.h"
#include "abi/comm_making.h"
#include "abi/connecting.h"
#include "abi/handle.h"
#include "abi/runtime.h"
#include "base/chaos.h"
#include "base/contexts.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "base/split.h"
#include "launch/bootstrap_spawn.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

using launch::SpawnedProgram;
using launch::SpawnOrder;
using objects::Comm;
using objects::Info;

constexpr const char* kParentVariable = "HEARTH_PARENT";
constexpr int kRanksMax = 1 << 16;

Comm* the_parent = nullptr;

std::string text_of(const Info* info, std::string_view key) {
  const std::string* value = value_of(info, key);
  return value == nullptr ? "" : *value;
}

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// The largest number of the key `soft`, a list of triplets first:last:stride, that is at most `ranks_max`; 0
/// if there is none (MPI 5.0 section 11.8.4).
Status most_of_soft(const std::string& soft, int ranks_max, int& most) {
  most = 0;
  bool valid = true;
  split(soft, ',', [&](std::string_view triplet) {
    int numbers[3] = {0, 0, 1};
    size_t count = 0;
    split(triplet, ':', [&](std::string_view word) {
      if (count > 3) return;
      count = count < 3 && parse_number(word, numbers[count]) ? count + 1 : 4;
    });
    if (count == 1) numbers[1] = numbers[0];
    if (count == 0 || count > 3 || numbers[2] == 0) {
      valid = false;
      return;
    }
    for (int64_t n = numbers[0]; numbers[2] > 0 ? n <= numbers[1] : n >= numbers[1]; n += numbers[2]) {
      if (n >= 0 && n <= ranks_max) most = std::max(most, static_cast<int>(n));
      if (numbers[2] > 0 && n > ranks_max) break;
    }
  });
  if (!valid) {
    return fail(MPI_ERR_SPAWN,
                "the info key soft is '%.100s': it must be a list of N, FIRST:LAST or "
                "FIRST:LAST:STRIDE, separated by commas",
                soft.c_str());
  }
  if (most > 0) return {};
  return fail(MPI_ERR_SPAWN, "the info key soft is '%.100s', which has no number from 1 to maxprocs=%d",
              soft.c_str(), ranks_max);
}

// Lines NAME=VALUE.
void read_variables(const std::string& lines, SpawnedProgram& program) {
  split(lines, '\n', [&](std::string_view line) {
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      program.variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
  });
}

Status describe(const SpawnRequest& request, SpawnedProgram& program, SpawnOrder& order) {
  if (request.command == nullptr || *request.command == 0) return fail(MPI_ERR_ARG, "command is empty");
  if (request.ranks_max <= 0 || request.ranks_max > kRanksMax) {
    return fail(MPI_ERR_ARG, "maxprocs is %d for '%.100s': it must be from 1 to %d", request.ranks_max,
                request.command, kRanksMax);
  }
  program.ranks = request.ranks_max;
  program.command.emplace_back(request.command);
  for (char** word = request.argv; word != nullptr && *word != nullptr; ++word)
    program.command.emplace_back(*word);
  program.folder = text_of(request.info, "wdir");
  program.search_path = text_of(request.info, "path");
  read_variables(text_of(request.info, "env"), program);
  if (const std::string* soft = value_of(request.info, "soft"); soft != nullptr) {
    HEARTH_TRY(most_of_soft(*soft, request.ranks_max, program.ranks));
  }
  // These keys apply to the whole job: the first command that has the key determines its value.
  const auto take = [&request](const char* key, std::string& value) {
    if (value.empty()) value = text_of(request.info, key);
  };
  take("map_by", order.map_by);
  take("bind_to", order.bind_to);
  take("mpi_initial_errhandler", order.errhandler);
  for (const char* key : {"host", "add-host"}) {
    if (const std::string* hosts = value_of(request.info, key); hosts != nullptr) {
      order.hosts += (order.hosts.empty() ? "" : ",") + *hosts;
    }
  }
  return {};
}

/// Fails if the started processes and the `spawning` ones are too many for a connection.
Status check_count(const SpawnOrder& order, size_t spawning) {
  size_t started = 0;
  for (const SpawnedProgram& program : order.programs) started += static_cast<size_t>(program.ranks);
  const size_t limit = std::min(kConnectingMax, kConnectedMax - std::min(kConnectedMax, spawning));
  if (started <= limit) return {};
  return fail(MPI_ERR_SPAWN,
              "the call is to start %zu processes from a communicator of %zu: at most %zu can be connected "
              "to it at once. Remedy: several calls, each for fewer processes",
              started, spawning, limit);
}

Status make_order(const std::vector<SpawnRequest>& requests, const Port& port, size_t spawning,
                  SpawnOrder& order) {
  if (requests.empty()) return fail(MPI_ERR_ARG, "there is no command: count must be at least 1");
  order.port = port.name();
  order.launcher = runtime().job.segment.job().launcher_pid;
  order.others = static_cast<uint64_t>(runtime().job.size);
  for (const SpawnRequest& request : requests)
    HEARTH_TRY(describe(request, order.programs.emplace_back(), order));
  return check_count(order, spawning);
}

/// The root's wait for the started processes: warns once after kSilentNs, and ends after spawn_timeout.
class ChildWait {
 public:
  explicit ChildWait(const SpawnOrder& order) : order_(order) {}

  /// Whether the limit is exceeded; `failure` is then an MPI_ERR_SPAWN.
  bool is_over(Status& failure) {
    const uint64_t waited_ns = os::now_ns() - begun_ns_;
    if (limit_ns_ != 0 && waited_ns > limit_ns_) {
      failure =
          fail(MPI_ERR_SPAWN,
               "not all processes of %s have called MPI_Init within %.1f s (HEARTH_SPAWN_TIMEOUT), so they "
               "are ended. %s",
               programs().c_str(), static_cast<double>(limit_ns_) / 1e9, kCause);
      return true;
    }
    if (waited_ns < kSilentNs || warned_) return false;
    warned_ = true;
    const std::string text = "MPI_Comm_spawn has waited 10 s: not all processes of " + programs() +
                             " have called MPI_Init. " + kCause + ". HEARTH_SPAWN_TIMEOUT limits the wait";
    warn(text.c_str());
    return false;
  }

 private:
  static constexpr uint64_t kSilentNs = 10'000'000'000;
  static constexpr const char* kCause =
      "Likely cause: a program without MPI, or one that waits for something before MPI_Init";

  std::string programs() const {
    std::string text;
    for (const SpawnedProgram& program : order_.programs)
      text += (text.empty() ? "'" : ", '") + program.command[0] + "'";
    return text;
  }

  const SpawnOrder& order_;
  const uint64_t begun_ns_ = os::now_ns();
  const uint64_t limit_ns_ = param::get_time_ns(param::Id::spawn_timeout);
  bool warned_ = false;
};

/// The numbers of processes requested and started, for each command.
Words counts_of(const std::vector<SpawnRequest>& requests, const SpawnOrder& order) {
  Words counts;
  for (size_t i = 0; i < requests.size(); ++i) {
    counts.push_back(requests[i].ranks_max);
    counts.push_back(order.programs[i].ranks);
  }
  return counts;
}

void fill_codes(const Words& counts, bool started, int* codes) {
  if (codes == nullptr) return;
  for (size_t i = 0; i + 1 < counts.size(); i += 2) {
    for (int rank = 0; rank < counts[i]; ++rank) {
      *codes++ = started && rank < counts[i + 1] ? MPI_SUCCESS : MPI_ERR_SPAWN;
    }
  }
}

}  // namespace

bool is_true(const Info* info, std::string_view key) {
  const std::string* value = value_of(info, key);
  return value != nullptr && (*value == "true" || *value == "1" || *value == "yes");
}

Status spawn(Comm& comm, int root, const std::vector<SpawnRequest>& requests, Comm*& intercomm, int* codes) {
  HEARTH_TRY(check_connectable(comm));
  const bool is_root = comm.rank == root;
  Port port;
  SpawnOrder order;
  Status prepared;
  if (is_root) {
    runtime().bridges.leave_unused(false);
    prepared = Port::open(port);
    if (prepared.ok()) prepared = make_order(requests, port, static_cast<size_t>(comm.size), order);
  }
  HEARTH_TRY(broadcast_outcome(comm, root, prepared));
  Words counts;
  if (is_root) counts = counts_of(requests, order);
  HEARTH_TRY(broadcast_to_group(comm, root, counts));
  Child child;
  const auto meet = [&](Caller& caller) -> Status {
    HEARTH_TRY(Child::start(order, child));
    chaos::at(chaos::Point::children_started);
    ChildWait wait(order);
    Status failure;
    wait_for_sockets(
        comm,
        [&](std::vector<int>& waited) {
          port.append_descriptors(waited);
          waited.push_back(child.descriptor());
        },
        [&] { return port.next_caller(caller) || child.has_failed(failure) || wait.is_over(failure); });
    if (caller.socket.open()) return {};
    return failure.ok() ? p2p::engine().failures().death_among(comm.group->peers) : failure;
  };
  const Status made = accept_group(comm, root, meet, intercomm);
  fill_codes(counts, made.ok(), codes);
  if (is_root && made.ok()) {
    runtime().children.add(std::move(child), connection_of(intercomm->context));
  } else if (is_root) {
    runtime().children.drop(std::move(child));
  }
  return made;
}

Status connect_to_parent() {
  const char* variable = std::getenv(kParentVariable);
  const launch::Bootstrap& job = runtime().job;
  if (variable == nullptr) return {};
  const std::string port = variable;
  // Programs that this process starts must not connect to the port of its parents.
  ::unsetenv(kParentVariable);
  if (job.singleton || job.launcher != nullptr) return {};
  Comm& world = predefined_comm(MPI_COMM_WORLD);
  HEARTH_TRY(connect_group(
      world, 0,
      [&](Caller& caller) {
        return call_port(port, runtime().bridges.names_of(world.group->peers), own_ring_lines(),
                         caller.socket);
      },
      the_parent));
  the_parent->name = "MPI_COMM_PARENT";
  return {};
}

Comm* parent_comm() {
  return the_parent;
}

void forget_parent(const Comm& comm) {
  if (the_parent == &comm) the_parent = nullptr;
}

}  // namespace hearth::abi
