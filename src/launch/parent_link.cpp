#include "launch/parent_link.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "base/os_machine.h"
#include "base/os_socket.h"
#include "launch/bootstrap_spawn.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr uint64_t kOrderBytesMax = 64 << 20;

Status no_order() {
  return fail(MPI_ERR_ARG,
              "--spawned-by is for MPI_Comm_spawn: its value must be the number of the socket to the calling "
              "process");
}

bool read_order(int socket, SpawnOrder& order) {
  uint64_t length = 0;
  std::vector<os::Descriptor> none;
  const auto words = std::as_writable_bytes(std::span(&length, 1));
  if (os::receive_packet(socket, words, none) != sizeof length || length > kOrderBytesMax) return false;
  std::string bytes(length, 0);
  const auto all = std::as_writable_bytes(std::span(bytes));
  for (size_t begin = 0; begin < all.size();) {
    const intptr_t piece = os::receive_packet(socket, all.subspan(begin), none);
    if (piece <= 0) return false;
    begin += static_cast<size_t>(piece);
  }
  return from_bytes(bytes, order);
}

// The options of mpiexec's command line that the info keys name.
Status read_options(const SpawnOrder& order, JobSpec& job) {
  std::vector<std::string> words = {"--oversubscribe", "--bind-to",
                                    order.bind_to.empty() ? "none" : order.bind_to};
  const auto add = [&words](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  add("--map-by", order.map_by);
  add("--initial-errhandler", order.errhandler);
  add("--host", order.hosts);
  words.emplace_back("program");
  return parse_command_line(words, job);
}

}  // namespace

Status ParentLink::receive(int descriptor, JobSpec& job) {
  if (!os::is_socket(descriptor)) return no_order();
  socket_ = os::Descriptor(descriptor);
  os::set_close_on_exec(descriptor, true);
  SpawnOrder order;
  if (!read_order(descriptor, order)) return no_order();
  os::set_nonblocking(descriptor, true);
  os::adopt_processors_of(static_cast<int>(order.launcher));
  others_ = static_cast<int>(order.others);
  HEARTH_TRY(read_options(order, job));
  job.input_rank = -1;
  job.environment.push_back({"HEARTH_PARENT", order.port, false});
  job.programs.clear();
  for (SpawnedProgram& spawned : order.programs) {
    ProgramSpec program;
    program.ranks = spawned.ranks;
    program.folder = std::move(spawned.folder);
    program.search_path = std::move(spawned.search_path);
    program.command = std::move(spawned.command);
    for (auto& [name, value] : spawned.variables) {
      program.environment.push_back({std::move(name), std::move(value), false});
    }
    job.programs.push_back(std::move(program));
  }
  return {};
}

void ParentLink::note(const std::string& text) {
  text_ += text_.empty() ? text : "; " + text;
}

ParentLink::News ParentLink::read() {
  SpawnWord word{};
  std::vector<os::Descriptor> none;
  const intptr_t bytes =
      os::receive_packet(socket_.number(), std::as_writable_bytes(std::span(&word, 1)), none);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return News::none;
  if (bytes == static_cast<intptr_t>(sizeof word) && word == SpawnWord::connected) {
    connected_ = true;
    return News::connected;
  }
  socket_.reset();
  return bytes == static_cast<intptr_t>(sizeof word) && word == SpawnWord::parted ? News::parted : News::gone;
}

void ParentLink::report(int code) {
  if (!collects()) return;
  if (text_.empty()) {
    text_ = code == 0 ? "the processes ended without calling MPI_Init"
                      : "the processes ended with exit code " + std::to_string(code) +
                            " before they were connected";
  }
  SpawnReport report = {code, {}};
  std::snprintf(report.text, sizeof report.text, "%s", text_.c_str());
  static_cast<void>(os::send_packet(socket_.number(), std::as_bytes(std::span(&report, 1)), {}));
  socket_.reset();
}

}  // namespace hearth::launch
