#include "tune_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/param.h"
#include "floors.h"
#include "installation.h"
#include "mpi.h"
#include "pretty.h"
#include "progress.h"
#include "route.h"
#include "tune/profile.h"
#include "tune/search.h"
#include "tune_job.h"
#include "tune_plan.h"

namespace hearth::tools {
namespace {

using param::Id;

using tune::kNever;
// For one protocol at one length. Long messages take six rounds, which may take longer.
constexpr uint64_t kQuestionUs = 60'000;
constexpr int kCheckLimitS = 900;
/// Largest accepted loss of the library's choice.
constexpr double kLossMax = 0.10;

/// A protocol that thresholds can force for all messages up to a length.
struct ForcedWay {
  Way way;
  uint64_t bytes_max;
  bool from_mpi_only;
};

const std::vector<ForcedWay>& forced_ways() {
  static const std::vector<ForcedWay> all = {
      {{"ring", {{Id::p2p_eager_bytes_max, kNever}}}, 3 * 1024, false},
      {{"bounce buffers",
        {{Id::p2p_eager_bytes_max, 0},
         {Id::p2p_single_copy_bytes_min, kNever},
         {Id::p2p_single_copy_measured_bytes_min, kNever},
         {Id::p2p_arena_bytes_min, kNever}}},
       kNever,
       false},
      {{"single copy",
        {{Id::p2p_eager_bytes_max, 0},
         {Id::p2p_single_copy_bytes_min, 0},
         {Id::p2p_arena_bytes_min, kNever}}},
       kNever,
       false},
      {{"arena",
        {{Id::p2p_eager_bytes_max, 0},
         {Id::p2p_arena_bytes_min, 0},
         {Id::p2p_cooperative_bytes_min, kNever}}},
       kNever,
       true},
      {{"arena, both copy",
        {{Id::p2p_eager_bytes_max, 0}, {Id::p2p_arena_bytes_min, 0}, {Id::p2p_cooperative_bytes_min, 0}}},
       kNever,
       true},
  };
  return all;
}

std::vector<uint64_t> lengths_of(const CheckOptions& options) {
  std::vector<uint64_t> result;
  for (uint64_t power = 1; power <= options.max_bytes; power *= 2) {
    for (const uint64_t bytes : {power, 3 * power}) {
      if (bytes >= options.min_bytes && bytes <= options.max_bytes) result.push_back(bytes);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The values of the profile; the defaults apply anyway.
std::vector<Setting> profile_settings(topo::Relation relation) {
  std::vector<Setting> settings;
  for (const tune::Threshold& threshold : tune::thresholds()) {
    if (std::string(tune::source(threshold.parameter, relation)) == "profile")
      settings.push_back({threshold.parameter, tune::value(threshold.parameter, relation)});
  }
  return settings;
}

class Checker {
 public:
  Checker(const RelationPair& pair, Progress& progress, TextTable& table, Floors& floors)
      : pair_(pair), progress_(progress), table_(table), floors_(floors) {}

  Status run(const Installation& place, const std::vector<uint64_t>& lengths) {
    HEARTH_TRY(job_.start(place, pair_.a, pair_.b, kCheckLimitS));
    for (const uint64_t bytes : lengths) {
      for (const bool from_mpi : {false, true}) HEARTH_TRY(check(bytes, from_mpi));
    }
    return {};
  }

  size_t places() const { return places_; }
  size_t behind() const { return behind_; }

 private:
  Status check(uint64_t bytes, bool from_mpi) {
    const ForcedWay* best = nullptr;
    tune::Comparison best_at;
    for (const ForcedWay& forced : forced_ways()) {
      if (bytes > forced.bytes_max || (forced.from_mpi_only && !from_mpi)) continue;
      progress_.show(
          fmt::format("{}: {}, {}", topo::relation_name(pair_.relation), forced.way.name, bytes_text(bytes)));
      tune::Comparison at;
      HEARTH_TRY(job_.ask(
          {bytes, from_mpi, profile_settings(pair_.relation), forced.way.settings, kQuestionUs}, at));
      floors_.add(job_.floor_ns());
      if (best != nullptr && at.ratio >= best_at.ratio) continue;
      best = &forced;
      best_at = at;
    }
    progress_.step();
    ++places_;
    if (best == nullptr || !best_at.b_is_surely_better() || best_at.ratio >= 1 / (1 + kLossMax)) return {};
    ++behind_;
    table_.add({topo::relation_name(pair_.relation), from_mpi ? "MPI_Alloc_mem" : "malloc", bytes_text(bytes),
                three_digits(best_at.a_ns / 1e3), best->way.name, three_digits(best_at.b_ns / 1e3),
                fmt::format("{:.2f} ({:.2f} to {:.2f})", best_at.ratio, best_at.low, best_at.high)});
    return {};
  }

  const RelationPair pair_;
  Progress& progress_;
  TextTable& table_;
  Floors& floors_;
  TuneJob job_;
  size_t places_ = 0;
  size_t behind_ = 0;
};

}  // namespace

Status run_check(const CheckOptions& options) {
  Installation place;
  HEARTH_TRY(find_installation(place));
  const std::vector<uint64_t> lengths = lengths_of(options);
  const topo::Machine machine = topo::Machine::discover();
  use_profile(machine);
  const std::vector<RelationPair> pairs = pairs_of(machine);
  if (pairs.empty()) return nothing_to_measure();
  if (lengths.empty()) {
    return fail(MPI_ERR_ARG, "there is no power of two, nor three times one, from %llu to %llu bytes",
                static_cast<unsigned long long>(options.min_bytes),
                static_cast<unsigned long long>(options.max_bytes));
  }
  TextTable table({"both share", "buffers", "bytes", "us", "better way", "us", "of the time"});
  Floors floors;
  size_t places = 0, behind = 0;
  {
    Progress progress(2 * lengths.size() * pairs.size());
    for (const RelationPair& pair : pairs) {
      Checker checker(pair, progress, table, floors);
      HEARTH_TRY(checker.run(place, lengths));
      places += checker.places();
      behind += checker.behind();
    }
  }
  if (behind > 0) fmt::print("{}\n", table.text(0));
  fmt::print("{} of {} lengths: another way is better by more than {:.0f} %, for sure\n", behind, places,
             100 * kLossMax);
  floors.print();
  return {};
}

}  // namespace hearth::tools
