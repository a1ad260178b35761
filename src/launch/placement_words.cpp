#include "launch/placement_words.h"

#include <algorithm>

#include "launch/words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr int kCountMax = 65536;
constexpr int kProcessorMax = (1 << 20) - 1;

enum Options : unsigned { to_bind = 1, to_map = 2, to_both = 3 };

struct LevelWord {
  const char* name;
  Level level;
  unsigned options;  // options that accept the word
  bool listed;       // errors list one word per level
};
// The l1 words mean a core: on all known machines, a first-level cache belongs to one core.
constexpr LevelWord kLevelWords[] = {
    {"none", Level::none, to_bind, true},
    {"no", Level::none, to_bind, false},
    {"slot", Level::core, to_map, true},
    {"hwthread", Level::hwthread, to_both, true},
    {"thread", Level::hwthread, to_both, false},
    {"core", Level::core, to_both, true},
    {"l1", Level::core, to_both, false},
    {"l1cache", Level::core, to_both, false},
    {"l2", Level::l2, to_both, true},
    {"l2cache", Level::l2, to_both, false},
    {"l3", Level::l3, to_both, true},
    {"l3cache", Level::l3, to_both, false},
    {"numa", Level::numa, to_both, true},
    {"package", Level::package, to_both, true},
    {"socket", Level::package, to_both, true},
    {"node", Level::machine, to_both, true},
    {"board", Level::machine, to_both, true},
    {"machine", Level::machine, to_both, false},
    {"close", Level::core, to_map, false},
    {"compact", Level::core, to_map, false},
};

std::string level_words(unsigned option) {
  std::string text;
  for (const LevelWord& word : kLevelWords) {
    if (!word.listed || (word.options & option) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(word.name);
  }
  return text;
}

bool find_level(const std::string& name, unsigned option, Level& level) {
  for (const LevelWord& word : kLevelWords) {
    if ((word.options & option) != 0 && name == word.name) return level = word.level, true;
  }
  return false;
}

Status no_such_map(const std::string& option, const std::string& word) {
  return fail(
      MPI_ERR_ARG,
      "%s: '%s' is not known; there are %s, spread, ppr:N:LEVEL and pe-list=LIST, each also with :PE=N",
      option.c_str(), word.c_str(), level_words(to_map).c_str());
}

// Parses a modifier after a ':' of --bind-to or --map-by.
Status read_modifier(const std::string& option, const std::string& word, PlacementRequest& placement) {
  const bool named = word.starts_with("pe=");
  if (to_number(named ? word.substr(3) : word, 1, kCountMax, placement.cores_per_rank)) return {};
  if (named) {
    return fail(MPI_ERR_ARG, "%s: PE= needs a number from 1 to %d, not '%s'", option.c_str(), kCountMax,
                word.substr(3).c_str());
  }
  for (const char* allows : {"oversubscribe", "overload-allowed"}) {
    if (word == allows) return placement.oversubscribe = true, Status();
  }
  if (word == "nooversubscribe") return placement.forbid_oversubscribe = true, Status();
  // Ranks are bound to hardware threads instead of cores.
  if (word == "hwtcpus") {
    if (placement.bind == Level::automatic) placement.bind = Level::hwthread;
    return {};
  }
  // Accepted: no effect on one machine, or the default.
  for (const char* harmless : {"no-overload", "if-supported", "ordered", "report", "span", "nolocal",
                               "inherit", "noinherit", "corecpus", "display"}) {
    if (word == harmless) return {};
  }
  return fail(MPI_ERR_ARG,
              "%s: '%s' is not known behind ':'; there are a number of cores, PE=N, oversubscribe, "
              "nooversubscribe, overload-allowed, hwtcpus and span",
              option.c_str(), word.c_str());
}

Status read_modifiers(const std::string& option, const Words& words, size_t next,
                      PlacementRequest& placement) {
  for (; next < words.size(); ++next) HEARTH_TRY(read_modifier(option, words[next], placement));
  return {};
}

// Hydra's "user:0+2,1+3": '+' joins the processors of one rank, a comma separates ranks.
Status read_sets(const std::string& option, const std::string& text, PlacementRequest& placement) {
  for (std::string set : split(text, ',')) {
    std::replace(set.begin(), set.end(), '+', ',');
    std::vector<int> numbers;
    HEARTH_TRY(read_processors(option, set, numbers));
    placement.processor_sets.push_back(std::move(numbers));
  }
  return {};
}

}  // namespace

Status read_processors(const std::string& option, const std::string& text, std::vector<int>& numbers) {
  for (const std::string& range : split(text, ',')) {
    const size_t dash = range.find('-');
    int first = 0;
    int last = 0;
    bool good = to_number(range.substr(0, dash), 0, kProcessorMax, first);
    last = first;
    if (dash != std::string::npos)
      good = good && to_number(range.substr(dash + 1), first, kProcessorMax, last);
    if (!good) {
      return fail(MPI_ERR_ARG, "%s: '%s' is no list of processors; the form is 0,2-3", option.c_str(),
                  text.c_str());
    }
    for (int number = first; number <= last; ++number) numbers.push_back(number);
  }
  return {};
}

Status read_bind(const std::string& option, const std::string& text, PlacementRequest& placement) {
  const Words words = split(lower(text), ':');
  size_t next = 1;
  if (words[0] == "user") {
    if (words.size() < 2) {
      return fail(MPI_ERR_ARG, "%s user needs the form user:0+1,2+3: processors of rank 0, of rank 1, ...",
                  option.c_str());
    }
    HEARTH_TRY(read_sets(option, words[next++], placement));
  } else if (words[0] == "rr") {
    placement.by_number = true;
  } else if (!words[0].empty() && !find_level(words[0], to_bind, placement.bind)) {
    return fail(MPI_ERR_ARG, "%s: '%s' is no part of a machine; there are %s, rr and user:LIST",
                option.c_str(), words[0].c_str(), level_words(to_bind).c_str());
  }
  return read_modifiers(option, words, next, placement);
}

Status read_map(const std::string& option, const std::string& text, PlacementRequest& placement) {
  const Words words = split(lower(text), ':');
  size_t next = 1;
  if (words[0] == "ppr") {
    if (words.size() < 3 || !to_number(words[1], 1, kCountMax, placement.ranks_per_object)) {
      return fail(MPI_ERR_ARG, "%s ppr needs the form ppr:N:LEVEL, as ppr:2:socket", option.c_str());
    }
    if (!find_level(words[2], to_map, placement.map)) return no_such_map(option, words[2]);
    next = 3;
  } else if (words[0] == "spread" || words[0] == "scatter") {
    placement.spread = true;
  } else if (words[0].starts_with("pe-list=")) {
    HEARTH_TRY(read_processors(option, words[0].substr(8), placement.only_processors));
  } else if (!words[0].empty() && !find_level(words[0], to_map, placement.map)) {
    return no_such_map(option, words[0]);
  }
  return read_modifiers(option, words, next, placement);
}

}  // namespace hearth::launch
