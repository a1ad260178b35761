#include "profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/call_name.h"
#include "output_file.h"
#include "profile/report/json.h"
#include "profile/report/page.h"
#include "profile/report/summary.h"
#include "profile/report/words.h"

namespace hearth::tools {

Status run_profile(const ProfileOptions& options) {
  profile::Board board;
  std::vector<profile::PartFacts> parts;
  HEARTH_TRY(profile::Board::gather(options.folder, board, parts));
  profile::JobFacts job = profile::job_of(parts);
  job.version = HEARTH_VERSION;
  job.call_name = launch::call_name;
  const profile::Summary summary = profile::summarize(board, job);
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
