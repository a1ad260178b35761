#include "profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "launch/call_name.h"
#include "output_file.h"
#include "profile/json.h"
#include "profile/page.h"
#include "profile/words.h"

namespace hearth::tools {
namespace {

profile::JobFacts facts_of(const std::vector<profile::PartFacts>& parts) {
  profile::JobFacts job;
  job.version = HEARTH_VERSION;
  job.call_name = launch::call_name;
  job.one_clock = false;
  std::set<std::string> programs;
  std::map<std::string, int> processors;  // of each machine
  for (const profile::PartFacts& part : parts) {
    job.places.push_back(part.place);
    if (part.host[0] == '\0') continue;
    programs.insert(part.program);
    processors[part.host] = static_cast<int>(part.processors);
  }
  for (const std::string& program : programs) job.command += (job.command.empty() ? "" : ", ") + program;
  for (const auto& [host, count] : processors) job.processors += count;
  return job;
}

}  // namespace

Status run_profile(const ProfileOptions& options) {
  profile::Board board;
  std::vector<profile::PartFacts> parts;
  HEARTH_TRY(profile::Board::gather(options.folder, board, parts));
  const profile::Summary summary = profile::summarize(board, facts_of(parts));
  bool said = false;
  for (const std::string& file : options.output_files) {
    const bool as_json = file == "-" || file.ends_with(".json");
    HEARTH_TRY(write_file(file, as_json ? to_json(summary) : to_page(summary)));
    said |= file == "-";
  }
  if (said) return {};
  fmt::print("{}\n", summary.verdict);
  if (summary.machines() > 1) fmt::print("{}\n", profile::machines_words(summary));
  const auto missing =
      std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part.host[0] == '\0'; });
  if (missing > 0) {
    fmt::print("{} of {} ranks have left no part in '{}': what they sent is not counted\n", missing,
               parts.size(), options.folder);
  }
  return {};
}

}  // namespace hearth::tools
