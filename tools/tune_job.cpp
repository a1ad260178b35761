#include "tune_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/os_process.h"
#include "mpi.h"
#include "tune/threshold.h"

extern char** environ;

namespace hearth::tools {
namespace {

constexpr int kRoundsMax = 40;
// "Never" as a length that fits into a control variable.
constexpr uint64_t kBeyondAll = uint64_t{1} << 60;

std::vector<std::string> environment_for_ranks() {
  std::vector<std::string> result = {"HEARTH_PROFILE=none"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    const std::vector<param::Row> rows = param::rows();
    const bool measured = std::any_of(rows.begin(), rows.end(), [&name](const param::Row& row) {
      return row.environment == name &&
             (tune::find_threshold(row.name) != nullptr || std::string_view(row.name).starts_with("coll_"));
    });
    if (!measured && name != "HEARTH_PROFILE" && name != tune::kVariable) result.emplace_back(*entry);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// "name=value name=value" of `mine`. Variables that only `others` sets get their automatic value.
std::string words_of(const std::vector<Setting>& mine, const std::vector<Setting>& others) {
  const std::vector<param::Row> rows = param::rows();
  std::string words;
  for (const Setting& setting : mine) {
    words += fmt::format(" {}={}", rows[static_cast<size_t>(setting.parameter)].name,
                         std::min(setting.value, kBeyondAll));
  }
  for (const Setting& other : others) {
    const bool named = std::any_of(mine.begin(), mine.end(), [&other](const Setting& setting) {
      return setting.parameter == other.parameter;
    });
    if (!named)
      words += fmt::format(" {}={}", rows[static_cast<size_t>(other.parameter)].name, param::kAutomatic);
  }
  return words;
}

Status gone() {
  return fail(MPI_ERR_OTHER,
              "the measuring job ended early. Likely cause: see above; remedy: `mpiexec -n 2 true`");
}

}  // namespace

Status TuneJob::start(const Installation& place, int processor_a, int processor_b, int limit_s) {
  return start({place.launcher.string(), "-n", "2", "--bind-to", "hwthread", "--no-share-heap", "--timeout",
                std::to_string(limit_s), place.tune_probe.string()},
               std::array<int, 2>{processor_a, processor_b});
}

Status TuneJob::start_collective(const Installation& place, int ranks, int limit_s) {
  return start({place.launcher.string(), "-n", std::to_string(ranks), "--timeout", std::to_string(limit_s),
                place.tune_collective_probe.string()},
               {});
}

Status TuneJob::start(std::vector<std::string> words, std::span<const int> processors) {
  // Reports a job that ends early as an error, instead of dying by SIGPIPE.
  static os::SignalInbox no_signals({});
  os::Pipe in, out;
  if (!os::make_pipe(in) || !os::make_pipe(out))
    return fail(MPI_ERR_OTHER, "cannot make a pipe: %s", std::strerror(errno));
  std::vector<std::string> environment = environment_for_ranks();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  os::SpawnPlan plan;
  plan.program = arguments[0];
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  plan.standard_input = in.read_end.number();
  plan.standard_output = out.write_end.number();
  plan.processors = processors;
  process_ = os::spawn(plan);
  if (process_ < 0) return fail(MPI_ERR_OTHER, "cannot start '%s': %s", arguments[0], std::strerror(errno));
  questions_ = std::move(in.write_end);
  answers_ = std::move(out.read_end);
  return {};
}

TuneJob::~TuneJob() {
  questions_.reset();
  answers_.reset();
  if (process_ > 0) os::reap(process_);
}

Status TuneJob::read_line(std::string& line) {
  for (;;) {
    if (const size_t end = read_ahead_.find('\n'); end != std::string::npos) {
      line = read_ahead_.substr(0, end);
      read_ahead_.erase(0, end + 1);
      return {};
    }
    std::array<char, 4096> piece;
    const intptr_t bytes = os::read_some(answers_.number(), piece.data(), piece.size());
    if (bytes <= 0) return gone();
    read_ahead_.append(piece.data(), static_cast<size_t>(bytes));
  }
}

Status TuneJob::ask(const Question& question, tune::Comparison& answer) {
  return ask(fmt::format("compare {} {} {} {} |{} |{}\n", question.bytes,
                         question.from_mpi ? "mpi" : "malloc", question.time_us, kRoundsMax,
                         words_of(question.a, question.b), words_of(question.b, question.a)),
             question.bytes, answer);
}

Status TuneJob::ask(const CollectiveQuestion& question, tune::Comparison& answer) {
  return ask(fmt::format("compare {} {} {} {} | {} | {}\n", question.bytes, question.ranks, question.time_us,
                         kRoundsMax, question.a, question.b),
             question.bytes, answer);
}

Status TuneJob::ask(const std::string& words, uint64_t bytes, tune::Comparison& answer) {
  if (os::write_some(questions_.number(), words.data(), words.size()) != static_cast<intptr_t>(words.size()))
    return gone();
  std::vector<tune::Round> rounds;
  for (std::string line;;) {
    HEARTH_TRY(read_line(line));
    tune::Round round;
    if (std::sscanf(line.c_str(), "round %lf %lf %lf %lf", &round.first_a_ns, &round.first_b_ns,
                    &round.second_b_ns, &round.second_a_ns) == 4) {
      rounds.push_back(round);
    } else if (std::sscanf(line.c_str(), "end %lf", &floor_ns_) == 1) {
      answer = tune::judge(bytes, rounds);
      return {};
    } else {
      return fail(MPI_ERR_OTHER, "the measuring job printed '%s', which is no answer", line.c_str());
    }
  }
}

}  // namespace hearth::tools
