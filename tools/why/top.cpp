#include "top.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "base/os_inspect.h"
#include "base/os_io.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "launch/why_words.h"
#include "mpi.h"
#include "pretty.h"
#include "running.h"

namespace hearth::tools {
namespace {

using launch::SeenOperation;
using launch::SeenRank;
using launch::SeenWait;
using launch::Snapshot;

constexpr uint64_t kFirstLookNs = 200'000'000;
// The alternate screen, which restores the shell's text at the end. The cursor is hidden.
constexpr const char* kEnterScreen = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeaveScreen = "\x1b[?25h\x1b[?1049l";
constexpr const char* kFromTop = "\x1b[H";
constexpr const char* kEndLine = "\x1b[K";
constexpr const char* kClearBelow = "\x1b[J";

/// The wait that a rank is in; nullptr if there is none.
const SeenWait* present_wait(const SeenRank& rank, uint64_t now_ns) {
  if (!rank.waits.empty()) return &rank.waits[0];
  return launch::polls(rank, now_ns) ? &*rank.polling : nullptr;
}

double waits_for(const SeenRank& rank, uint64_t now_ns) {
  const SeenWait* wait = present_wait(rank, now_ns);
  return wait == nullptr || now_ns < wait->since_ns ? 0 : static_cast<double>(now_ns - wait->since_ns) / 1e9;
}

/// Bytes per second from and to files.
double files_of(const SeenRank& rank) {
  return rank.traffic.read < 0 ? -1 : rank.traffic.read + rank.traffic.written;
}

std::vector<size_t> order_of(const Snapshot& snapshot, const std::string& sort) {
  std::vector<size_t> order(snapshot.ranks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t index) -> double {
    const SeenRank& rank = snapshot.ranks[index];
    if (sort == "cpu") return -rank.process.processors;
    if (sort == "wait") return -waits_for(rank, snapshot.now_ns);
    if (sort == "unexpected") return -static_cast<double>(rank.unexpected_count);
    if (sort == "in") return -rank.traffic.in;
    if (sort == "out") return -rank.traffic.out;
    if (sort == "files") return -files_of(rank);
    return 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (sort != "state") return key(a) < key(b);
    return std::string(state_name(snapshot.ranks[a], snapshot.now_ns)) <
           state_name(snapshot.ranks[b], snapshot.now_ns);
  });
  return order;
}

std::string peers_text(const SeenWait& wait) {
  if (!wait.missing.empty()) {
    std::string text = launch::ranks_words(wait.missing);
    return text.substr(text.find(' ') + 1);
  }
  if (wait.operation_count > 1) return fmt::format("{} operations", wait.operation_count);
  if (wait.operations.empty()) return "-";
  const int peer = wait.operations[0].peer;
  return peer == MPI_ANY_SOURCE ? "any" : peer < 0 ? "-" : std::to_string(peer);
}

std::string tag_text(const SeenWait& wait) {
  if (wait.operation_count != 1 || wait.operations.empty()) return "-";
  const SeenOperation& operation = wait.operations[0];
  if (!launch::is_message(operation.kind)) return "-";
  return operation.tag == MPI_ANY_TAG ? "any" : std::to_string(operation.tag);
}

/// In bytes per second.
std::string rate_text(double rate) {
  return rate < 0 ? "-" : bytes_text(static_cast<uint64_t>(rate)) + "/s";
}

void add_row(const Snapshot& snapshot, size_t index, TextTable& table) {
  const SeenRank& rank = snapshot.ranks[index];
  const SeenWait* wait = present_wait(rank, snapshot.now_ns);
  const bool has_comm = wait != nullptr && !wait->operations.empty();
  table.add({std::to_string(index), rank.process.pid > 0 ? std::to_string(rank.process.pid) : "-",
             state_name(rank, snapshot.now_ns),
             rank.process.processors < 0 ? "-" : fmt::format("{:.0f} %", rank.process.processors * 100),
             rate_text(rank.traffic.in), rate_text(rank.traffic.out), rate_text(files_of(rank)),
             wait == nullptr ? "-" : fmt::format("{:.1f} s", waits_for(rank, snapshot.now_ns)),
             wait == nullptr ? "-" : std::to_string(rank.unexpected_count),
             wait == nullptr ? "-" : launch::call_words(*wait), wait == nullptr ? "-" : peers_text(*wait),
             wait == nullptr ? "-" : tag_text(*wait),
             has_comm ? launch::comm_words(rank, wait->operations[0].context) : "-"});
}

std::string table_of(const Snapshot& snapshot, const std::string& sort, size_t rows_max) {
  TextTable table({"rank", "process", "state", "cpu", "in", "out", "files", "wait", "unexpected", "call",
                   "peer", "tag", "communicator"});
  size_t rows = 0;
  for (const size_t index : order_of(snapshot, sort)) {
    if (rows++ == rows_max) break;
    add_row(snapshot, index, table);
  }
  return table.text(0);
}

std::string head_of(const launch::RunningJob& job, const Snapshot& snapshot, const std::string& sort) {
  size_t waiting = 0;
  double processors = 0;
  for (const SeenRank& rank : snapshot.ranks) {
    if (!rank.waits.empty()) ++waiting;
    processors += std::max(0.0, rank.process.processors);
  }
  return fmt::format("job {}: {} ranks, {} waiting, {:.1f} of {} processors in use; by {}\n", job.pid,
                     snapshot.ranks.size(), waiting, processors, job.segment.job().usable_processors, sort);
}

bool is_over(const Snapshot& snapshot) {
  return std::all_of(snapshot.ranks.begin(), snapshot.ranks.end(),
                     [](const SeenRank& rank) { return rank.process.ended; });
}

/// The part of the text that fits into the window, with each line cut to its width.
std::string fit(const std::string& text, const os::TerminalSize& size) {
  std::string fitted = kFromTop;
  int lines = 0;
  for (size_t begin = 0; begin < text.size() && lines < size.lines; ++lines) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (lines > 0) fitted += "\r\n";
    fitted += text.substr(begin, std::min(end - begin, static_cast<size_t>(size.columns))) + kEndLine;
    begin = end + 1;
  }
  return fitted + kClearBelow;
}

/// Runs until q is pressed, a signal arrives or the job ends.
void show_live(const launch::RunningJob& job, launch::Observer& observer, const TopOptions& options) {
  constexpr int kInput = 0;
  constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
  os::SignalInbox signals(kSignals);
  os::Poller poller;
  poller.add(kInput, 0, true, false);
  poller.add(signals.descriptor(), 1, true, false);
  const os::KeyByKey keys(kInput);
  std::fputs(kEnterScreen, stdout);
  std::string sort = options.sort;
  const auto between_ns = static_cast<uint64_t>(options.seconds * 1e9);
  uint64_t next_ns = os::now_ns() + std::min(between_ns, kFirstLookNs);
  for (bool goes_on = true; goes_on;) {
    const os::TerminalSize size = os::size_of_terminal(1);
    const Snapshot& seen = observer.latest();
    std::string text =
        head_of(job, seen, sort) +
        "q: end; order: r rank, s state, c cpu, w wait, u unexpected, i in, o out, f files\n\n";
    text += table_of(seen, sort, static_cast<size_t>(std::max(size.lines - 4, 1)));
    std::fputs(fit(text, size).c_str(), stdout);
    std::fflush(stdout);
    if (is_over(seen)) break;
    const uint64_t now = os::now_ns();
    const int wait_ms = next_ns > now ? static_cast<int>((next_ns - now) / 1'000'000 + 1) : 0;
    for (const os::Poller::Event& event : poller.wait(wait_ms)) {
      if (event.token == 1) {
        const int signal = signals.next();
        if (signal != 0 && signal != SIGWINCH) goes_on = false;
        continue;
      }
      char key = 'q';  // also if the terminal is gone
      os::read_some(kInput, &key, 1);
      if (key == 'q') goes_on = false;
      for (const char* const order : kTopOrders) {
        if (order[0] == key) sort = order;
      }
    }
    if (os::now_ns() < next_ns) continue;
    observer.sample();
    next_ns = os::now_ns() + between_ns;
  }
  std::fputs(kLeaveScreen, stdout);
  std::fflush(stdout);
}

}  // namespace

Status run_top(const TopOptions& options) {
  launch::RunningJob job;
  HEARTH_TRY(choose_job(options.pid, job));
  launch::Observer observer(job.segment);
  observer.sample();
  if (!options.once) {
    if (!os::is_terminal(0) || !os::is_terminal(1)) {
      return fail(MPI_ERR_OTHER, "this is no terminal. Remedy: hearth top --once");
    }
    show_live(job, observer, options);
    return {};
  }
  // The use of processors is the difference of two samples.
  os::sleep_ns(kFirstLookNs);
  observer.sample();
  const Snapshot& seen = observer.latest();
  if (!options.json) {
    fmt::print("{}{}", head_of(job, seen, options.sort), table_of(seen, options.sort, seen.ranks.size()));
    return {};
  }
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const size_t index : order_of(seen, options.sort)) ranks.push_back(rank_json(seen, index));
  const nlohmann::ordered_json document = {{"job", job.pid}, {"ranks", ranks}};
  fmt::print("{}\n", document.dump(1));
  return {};
}

}  // namespace hearth::tools
