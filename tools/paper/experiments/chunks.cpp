// Chunk sizes of a pipelined transfer.
#include <fmt/format.h>

#include "base/param.h"
#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace chunks {

constexpr uint64_t kKibi = 1024;
constexpr uint64_t kSmall = 16 * kKibi, kLarge = 1024 * kKibi;
constexpr double kGainMin = 1.05;
constexpr double kBehindMax = 1.05;

std::string settings_of(uint64_t first, uint64_t most) {
  const auto name = [](param::Id id) { return std::string(param::rows()[static_cast<size_t>(id)].name); };
  // With 512 fragments in flight, only the size of the chunks limits a message.
  return fmt::format("{} {}={} {}={} {}=512", buffered_way(), name(param::Id::p2p_first_fragment_bytes),
                     first, name(param::Id::p2p_fragment_bytes_max), most,
                     name(param::Id::p2p_fragments_in_flight));
}

Status measure(Laboratory& laboratory, Findings& findings) {
  Job job;
  job.words = {"ways",
               "latency",
               laboratory.quick() ? "65536" : powers_of_two(65536, 4 << 20),
               "malloc",
               std::to_string(laboratory.rounds(31)),
               "2000",
               "-"};
  std::vector<std::pair<std::string, std::string>> series;
  for (const uint64_t bytes : {4 * kKibi, kSmall, 64 * kKibi, 256 * kKibi, kLarge}) {
    const std::string name = fmt::format("chunk{}", bytes);
    job.words.push_back(way(name, settings_of(bytes, bytes)));
    series.emplace_back(name, "chunks of " + bytes_text(bytes));
  }
  job.words.push_back(way("growing", settings_of(4 * kKibi, 256 * kKibi)));
  series.emplace_back("growing", "growing, 4 to 256 KiB");
  Samples samples;
  HEARTH_TRY(laboratory.run(job, samples, findings));
  job.words.resize(7);
  job.words.push_back(way("peer", ""));
  laboratory.run_on_peers(job, samples, findings);
  Plot plot{"Ping-pong through bounce buffers", "GB/s", ""};
  for (const auto& [key, name] : series) plot.curves.push_back(bandwidth_of(samples, key, name, 1));
  for (const Library& peer : laboratory.peers())
    plot.curves.push_back(bandwidth_of(samples, peer.name + "/peer", peer.name + ", as it is", 1));
  findings.plots = {plot};
  findings.ratios = {
      ratio_of(samples, fmt::format("chunk{}", kLarge), fmt::format("chunk{}", kSmall), "large to small"),
      ratio_of(samples, "growing", fmt::format("chunk{}", kSmall), "growing to small")};
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  // Messages of at least one large chunk, so that both settings divide them.
  bool small_wins = true, growing_near = true;
  std::string gains, behinds;
  for (const Point& point : findings.ratio("large to small").points) {
    if (point.place < static_cast<double>(kLarge)) continue;
    small_wins = small_wins && point.value.surely_above(kGainMin);
    gains += fmt::format("{}{} {}", gains.empty() ? "" : ", ", bytes_text(static_cast<uint64_t>(point.place)),
                         interval_words(point.value));
  }
  for (const Point& point : findings.ratio("growing to small").points) {
    if (point.place < static_cast<double>(kLarge)) continue;
    growing_near = growing_near && point.value.middle <= kBehindMax;
    behinds += fmt::format("{}{} {}", behinds.empty() ? "" : ", ",
                           bytes_text(static_cast<uint64_t>(point.place)), interval_words(point.value));
  }
  if (gains.empty())
    return {not_measurable("no message is long enough"), not_measurable("no message is long enough")};
  return {confirmed(small_wins, "time of chunks of 1 MiB to chunks of 16 KiB, by length: " + gains),
          confirmed(growing_near, "time of growing chunks to chunks of 16 KiB, by length: " + behinds)};
}

constexpr Claim kClaims[] = {
    {"section IV-C, figure 10",
     "Large chunks are slower than small ones, by some 10 %: the other side can begin only when the first "
     "one is done.",
     "confirmed when chunks of 1 MiB surely take 5 % longer than chunks of 16 KiB for every message of 1 MiB "
     "or more"},
    {"section IV-C, figure 10", "Chunks that grow from one page on are as fast as small ones throughout.",
     "confirmed when chunks that grow from 4 to 256 KiB take at most 5 % longer than chunks of 16 KiB for "
     "every message of "
     "1 MiB or more (median)"},
};

}  // namespace chunks

extern const Experiment kChunks = {
    "chunks",
    "Chunk sizes of a pipelined transfer",
    kOpenMx2009,
    "Ping-pong through bounce buffers, cut into chunks of one size, or of sizes that double "
    "(p2p_first_fragment_bytes, "
    "p2p_fragment_bytes_max). "
    "All sizes take turns in one job. In the paper the first step of the pipeline is the pinning of memory, "
    "here it is the "
    "copy into the buffers.",
    chunks::kClaims,
    chunks::measure,
    chunks::judge,
};

}  // namespace hearth::tools::paper
