#include "abi/children.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/os_file.h"
#include "base/os_library.h"
#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "base/split.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

using launch::SpawnReport;
using launch::SpawnWord;

/// mpiexec of the installation that this library belongs to, never another one in the PATH; "" if there is
/// none.
std::string own_mpiexec() {
  std::string path = os::real_path(os::library_of(reinterpret_cast<const void*>(&own_mpiexec)).path);
  if (path.empty()) return "";
  const auto remove_last_name = [&path] { path.resize(path.rfind('/')); };
  remove_last_name();
  split(HEARTH_LIBDIR, '/', [&](std::string_view) { remove_last_name(); });
  path += "/bin/mpiexec";
  return os::is_executable(path.c_str()) ? path : "";
}

Status cannot_start(const char* why) {
  return fail(MPI_ERR_SPAWN, "cannot start processes: %s", why);
}

bool send_order(int socket, const std::string& bytes) {
  const uint64_t length = bytes.size();
  const std::span words = std::as_bytes(std::span(bytes));
  if (!os::send_packet(socket, std::as_bytes(std::span(&length, 1)), {})) return false;
  for (size_t begin = 0; begin < words.size(); begin += launch::kSpawnPieceBytes) {
    const size_t piece = std::min(launch::kSpawnPieceBytes, words.size() - begin);
    if (!os::send_packet(socket, words.subspan(begin, piece), {})) return false;
  }
  return true;
}

}  // namespace

Status Child::start(const launch::SpawnOrder& order, Child& child) {
  const std::string path = own_mpiexec();
  if (path.empty()) {
    return cannot_start(
        "bin/mpiexec of this installation is missing beside its library. Remedy: install Hearth whole");
  }
  os::Descriptor theirs;
  if (!os::make_socket_pair(child.control_, theirs)) {
    return cannot_start((std::string("no socket: ") + std::strerror(errno) +
                         ". Remedy: raise the limit on open files (ulimit -n)")
                            .c_str());
  }
  std::string words[] = {path, "--spawned-by", std::to_string(theirs.number())};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  child.pid_ = os::start_helper(path.c_str(), arguments, os::own_environment(), theirs.number());
  if (child.pid_ < 0) {
    return cannot_start(
        (path + ": " + std::strerror(errno) + ". Remedy: raise the limit on processes (ulimit -u)").c_str());
  }
  theirs.reset();
  // If mpiexec has ended, has_failed() returns its report. Otherwise the end of the socket ends it.
  if (!send_order(child.control_.number(), to_bytes(order))) os::end_sending(child.control_.number());
  os::set_nonblocking(child.control_.number(), true);
  return {};
}

bool Child::has_failed(Status& why) {
  SpawnReport report = {};
  std::vector<os::Descriptor> none;
  const intptr_t bytes =
      os::receive_packet(control_.number(), std::as_writable_bytes(std::span(&report, 1)), none);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (bytes == static_cast<intptr_t>(sizeof report)) {
    report.text[sizeof report.text - 1] = 0;
    why = fail(MPI_ERR_SPAWN, "%s", report.text);
  } else {
    why = fail(MPI_ERR_SPAWN, "the mpiexec that was to start the processes has ended without a report");
  }
  return true;
}

void Child::say(SpawnWord word) const {
  static_cast<void>(os::send_packet(control_.number(), std::as_bytes(std::span(&word, 1)), {}));
}

bool Child::is_over() const {
  return pid_ < 0 || os::try_reap(pid_);
}

void Children::add(Child child, uint32_t connection) {
  child.say(SpawnWord::connected);
  child.connection = connection;
  connected_.push_back(std::move(child));
  reap();
}

void Children::drop(Child child) {
  child.close();
  closed_.push_back(std::move(child));
  reap();
}

void Children::parted(uint32_t connection) {
  for (size_t i = 0; i < connected_.size();) {
    if (connected_[i].connection != connection) {
      ++i;
      continue;
    }
    connected_[i].say(SpawnWord::parted);
    drop(std::exchange(connected_[i], std::move(connected_.back())));
    connected_.pop_back();
  }
}

void Children::part_all() {
  while (!connected_.empty()) parted(connected_.back().connection);
}

void Children::reap() {
  std::erase_if(closed_, [](const Child& child) { return child.is_over(); });
}

}  // namespace hearth::abi
