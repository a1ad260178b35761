#include "profile/report/words.h"

#include <cstdio>
#include <cstring>

namespace hearth::profile {
namespace {

std::string format(const char* pattern, double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value, unit);
  return text;
}

constexpr uint64_t kNever = UINT64_MAX;

}  // namespace

std::string bytes_words(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value >= 100 || value - static_cast<double>(static_cast<int64_t>(value)) < 0.05;
  return format(whole ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string time_words(double seconds) {
  if (seconds <= 0) return "0";
  if (seconds < 1e-6) return format("%.0f %s", seconds * 1e9, "ns");
  if (seconds < 1e-3) return format("%.3g %s", seconds * 1e6, "µs");
  if (seconds < 1) return format("%.3g %s", seconds * 1e3, "ms");
  return format(seconds < 100 ? "%.3g %s" : "%.0f %s", seconds, "s");
}

std::string percent_words(double share) {
  return format(share >= 0.1 || share == 0 ? "%.0f %s" : "%.1f %s", share * 100, "%");
}

std::string count_words(uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 10'000) return std::to_string(count);
  if (value < 1e6) return format("%.3g %s", value / 1e3, "k");
  if (value < 1e9) return format("%.3g %s", value / 1e6, "M");
  return format("%.3g %s", value / 1e9, "G");
}

std::string class_words(int size_class) {
  if (size_class < 2) return size_class == 0 ? "0 B" : "1 B";
  const uint64_t begin = class_begin(size_class);
  if (size_class == kClasses - 1) return bytes_words(begin) + " or more";
  return begin < 1024 ? std::to_string(begin) + " to " + std::to_string(2 * begin - 1) + " B"
                      : bytes_words(begin) + " to " + bytes_words(2 * begin);
}

std::string channel_words(topo::Relation relation) {
  switch (relation) {
    case topo::Relation::self:
      return "the rank itself";
    case topo::Relation::smt:
      return "same core";
    case topo::Relation::l2:
      return "same L2 cache";
    case topo::Relation::l3:
      return "same L3 cache";
    case topo::Relation::numa:
      return "same memory node";
    case topo::Relation::package:
      return "same package";
    case topo::Relation::machine:
      return "across packages";
    case topo::Relation::unknown:
      return "not bound: anywhere";
    case topo::Relation::network:
      return "another machine";
  }
  return "?";
}

std::string route_words(const Route& route) {
  std::string text =
      "up to " + bytes_words(route.ring_bytes_max) +
      " in the ring (p2p_eager_bytes_max for this relation, and what a ring of this job holds)";
  const uint64_t single = route.single_copy_bytes_min;
  if (single == kNever) {
    text +=
        "; longer ones through bounce buffers: single copy is not used here (p2p_single_copy, "
        "p2p_single_copy_bytes_min)";
  } else {
    text += "; through bounce buffers below " + bytes_words(single) +
            ", from there on copied once (p2p_single_copy_bytes_min)";
    switch (route.single_copy) {
      case CopyAbility::untried:
        text += ", which no receiver here has tried";
        break;
      case CopyAbility::works:
        text += " by " + route.method;
        break;
      case CopyAbility::refused:
        text += ", which the system refused: those went through bounce buffers";
        break;
    }
  }
  if (route.arena_bytes_min != kNever) {
    text += "; buffers of MPI_Alloc_mem or of a shared heap from " + bytes_words(route.arena_bytes_min) +
            " on in the arena";
  }
  return text;
}

std::string frame_words(const Frame& frame) {
  const std::string module(frame.module, strnlen(frame.module, sizeof frame.module));
  const std::string symbol(frame.symbol, strnlen(frame.symbol, sizeof frame.symbol));
  const std::string file = module.substr(module.rfind('/') + 1);
  if (!symbol.empty()) return symbol + " (" + file + ")";
  char offset[24];
  std::snprintf(offset, sizeof offset, "+%#llx", static_cast<unsigned long long>(frame.offset));
  return file + offset;
}

double share_of(uint64_t part, uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string machines_words(const Summary& summary) {
  const Traffic all = summary.all();
  const Traffic away = summary.all_away();
  return percent_words(share_of(away.messages, all.messages)) + " of the messages and " +
         percent_words(share_of(away.bytes, all.bytes)) + " of the bytes go between the " +
         std::to_string(summary.machines()) + " machines; it would be " +
         percent_words(summary.even_share_away()) + " if every rank sent as much to each other rank";
}

std::string overhead_words(const Summary& summary) {
  const Cost& cost = summary.cost;
  uint64_t events = 0;
  for (const RankSummary& rank : summary.ranks) events += rank.trace_events;
  char text[320];
  std::snprintf(
      text, sizeof text,
      "The profile took %s, %s of the time of all ranks: %s counts of %.1f ns and %s looks at the clock of "
      "%.0f ns, both measured on this machine%s",
      time_words(cost.all_s()).c_str(), percent_words(summary.share(cost.all_s())).c_str(),
      count_words(cost.counts).c_str(), cost.count_ns, count_words(cost.looks).c_str(), cost.look_ns,
      events > 0 ? "; the trace that was written too takes more" : "");
  return text;
}

}  // namespace hearth::profile
