// mpiexec's command line, one word per line of the input, and the resulting job on other machines.
#include <cstdlib>

#include "fuzz.h"
#include "launch/delegation.h"
#include "launch/options.h"

using namespace hearth;

namespace {

constexpr size_t kWordsMax = 64;

// Files are tested by the targets that read them.
bool names_a_file(const std::string& word) {
  return word.find('/') != std::string::npos || word.find("file") != std::string::npos || word == "-f" ||
         word == "--f";
}

void check_job(const launch::JobSpec& job) {
  fuzz::demand(job.show_help || job.show_version || !job.programs.empty(), "a job has a program");
  for (const launch::ProgramSpec& program : job.programs) {
    fuzz::demand(program.ranks >= 0 && !program.command.empty(), "a program can be started");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  const size_t delegate = input.below(3);
  const std::string text = input.rest();
  std::vector<std::string> words;
  for (size_t start = 0; start <= text.size() && words.size() < kWordsMax;) {
    const size_t end = std::min(text.find('\n', start), text.size());
    // A word of a command line ends at a zero byte.
    words.emplace_back(text.substr(start, end - start).c_str());
    if (names_a_file(words.back())) return 0;
    start = end + 1;
  }
  launch::JobSpec job;
  if (!launch::parse_command_line(words, job).ok()) return 0;
  check_job(job);
  if (job.programs.empty()) return 0;
  // Any executable serves as a launcher: none is started.
  const char* const names[] = {"prrte", "hydra", "slurm"};
  launch::Delegation delegation;
  if (launch::delegate_job(job, FUZZ_LAUNCHERS, names[delegate], false, {"HEARTH_X", "HOME"}, delegation)
          .ok()) {
    fuzz::demand(!delegation.command.empty(), "a launcher is called by its name");
  }
  return 0;
}
