#include "why.h"

#include <fmt/format.h>

#include <string>

#include "launch/why.h"
#include "running.h"

namespace hearth::tools {

Status run_why(const WhyOptions& options) {
  launch::RunningJob job;
  HEARTH_TRY(choose_job(options.pid, job));
  launch::Observer observer(job.segment);
  const launch::Snapshot& snapshot = observer.sample_twice(true);
  const launch::Explanation why = explain(snapshot);
  if (!options.json) {
    for (const std::string& line : why.lines) fmt::print("{}\n", line);
    return {};
  }
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (size_t index = 0; index < snapshot.ranks.size(); ++index) ranks.push_back(rank_json(snapshot, index));
  const nlohmann::ordered_json document = {{"verdict", launch::verdict_name(why.verdict)},
                                           {"stuck", why.stuck},
                                           {"cycles", why.cycles},
                                           {"text", why.lines},
                                           {"ranks", ranks}};
  fmt::print("{}\n", document.dump(1));
  return {};
}

}  // namespace hearth::tools
