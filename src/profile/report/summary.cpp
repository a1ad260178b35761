#include "profile/report/summary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "base/symbol_table.h"
#include "profile/recorder.h"

namespace hearth::profile {
namespace {

constexpr size_t kSitesShown = 12;
constexpr size_t kPairWaitsShown = 12;

// whole * part / parts, at most `whole`; all of it for the last part. Pre: parts > 0.
uint64_t share_of(uint64_t whole, uint64_t part, uint64_t parts) {
  const double share = static_cast<double>(whole) * static_cast<double>(part) / static_cast<double>(parts);
  return part < parts && share < static_cast<double>(whole) ? static_cast<uint64_t>(share) : whole;
}

double seconds(uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// Messages that fit one slot, by length: the counted ones, plus the uncounted ones in proportion to the
// samples. The total is exact.
using LineMessages = std::array<uint64_t, kLineLengths>;
LineMessages line_messages_of(const PeerCounts& counts) {
  LineMessages messages;
  std::copy(std::begin(counts.line_messages), std::end(counts.line_messages), messages.begin());
  const uint64_t samples =
      std::accumulate(std::begin(counts.line_samples), std::end(counts.line_samples), uint64_t{0});
  uint64_t left = counts.sent_unseen;
  uint64_t samples_left = samples;
  for (size_t bytes = 0; bytes < messages.size() && samples_left > 0; ++bytes) {
    const uint64_t share = share_of(left, counts.line_samples[bytes], samples_left);
    messages[bytes] += share;
    left -= share;
    samples_left -= counts.line_samples[bytes];
  }
  // Without samples, assume the most frequent length, or 0 if no message was counted.
  const auto most = std::max_element(messages.begin(), messages.end());
  *most += left;
  return messages;
}

Traffic traffic_of(const PeerCounts& counts) {
  Traffic traffic;
  const LineMessages lines = line_messages_of(counts);
  for (uint64_t bytes = 0; bytes < kLineLengths; ++bytes) {
    traffic.messages += lines[bytes];
    traffic.bytes += lines[bytes] * bytes;
  }
  for (const WayCounts& way : counts.sent) {
    for (const uint64_t messages : way.messages) traffic.messages += messages;
    traffic.bytes += way.bytes;
  }
  return traffic;
}

void add_sizes(const PeerCounts& counts, Classes& sizes) {
  const LineMessages lines = line_messages_of(counts);
  for (uint64_t bytes = 0; bytes < kLineLengths; ++bytes) {
    sizes[static_cast<size_t>(class_of(bytes))] += lines[bytes];
  }
  for (const WayCounts& way : counts.sent) {
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] += way.messages[i];
  }
}

void add_ways(const PeerCounts& counts, std::vector<WaySummary>& ways) {
  const LineMessages lines = line_messages_of(counts);
  for (uint64_t bytes = 0; bytes < kLineLengths; ++bytes) {
    ways[0].by_size[static_cast<size_t>(class_of(bytes))] += lines[bytes];
    ways[0].traffic += {lines[bytes], lines[bytes] * bytes};
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    for (size_t size = 0; size < ways[i].by_size.size(); ++size) {
      ways[i].by_size[size] += counts.sent[i].messages[size];
      ways[i].traffic.messages += counts.sent[i].messages[size];
    }
    ways[i].traffic.bytes += counts.sent[i].bytes;
  }
}

RankSummary read_rank(const RankHead& head, uint64_t job_ended_ns) {
  RankSummary rank;
  rank.counted = atomic::load_relaxed(head.attached) != 0 && head.begun_ns != 0;
  if (!rank.counted) return rank;
  rank.finalized = head.ended_ns != 0;
  // The time of death of a killed rank is unknown; the end of the job stands for it.
  const uint64_t ended_ns = rank.finalized ? head.ended_ns : std::max(job_ended_ns, head.alive_ns);
  rank.machine = head.machine;
  rank.run_s = seconds(ended_ns > head.begun_ns ? ended_ns - head.begun_ns : 0);
  for (size_t i = 0; i < kWaits; ++i) {
    rank.waited_s[i] = seconds(head.waited_ns[i]);
    rank.waits[i] = head.waits[i];
    rank.longest_s[i] = seconds(head.longest_ns[i]);
  }
  rank.copied_s = seconds(head.timed_ns);
  rank.timed_bytes = head.timed_bytes;
  rank.copied_bytes = head.copied_bytes;
  rank.unexpected_messages = head.unexpected_messages;
  rank.unexpected_depth_max = head.unexpected_depth_max;
  rank.unexpected_bytes_max = head.unexpected_bytes_max;
  rank.fallbacks = head.fallbacks;
  rank.file_accesses = head.file_accesses;
  rank.file_read_bytes = head.file_read_bytes;
  rank.file_written_bytes = head.file_written_bytes;
  rank.file_s = seconds(head.file_ns);
  rank.memory_bytes_max = head.memory_bytes_max;
  rank.library_bytes = head.library_bytes;
  rank.trace_events = head.trace_written;
  rank.trace_dropped = head.trace_dropped;
  return rank;
}

topo::Relation relation_between(const Summary& summary, size_t a, size_t b) {
  if (a == b) return topo::Relation::self;
  if (summary.ranks[a].machine != summary.ranks[b].machine) return topo::Relation::network;
  return topo::relation_of(summary.job.places[a], summary.job.places[b]);
}

void add_route(Summary& summary, topo::Relation relation, const PeerCounts& counts) {
  if (counts.limits_valid == 0) return;
  const auto ability = static_cast<CopyAbility>(counts.single_copy);
  const std::string method(counts.method, strnlen(counts.method, sizeof counts.method));
  const auto same = [&](const Route& route) {
    return route.relation == relation && route.ring_bytes_max == counts.ring_bytes_max &&
           route.single_copy_bytes_min == counts.single_copy_bytes_min &&
           route.arena_bytes_min == counts.arena_bytes_min && route.single_copy == ability &&
           route.method == method;
  };
  auto place = std::find_if(summary.routes.begin(), summary.routes.end(), same);
  if (place == summary.routes.end()) {
    summary.routes.push_back({relation, 0, counts.ring_bytes_max, counts.single_copy_bytes_min,
                              counts.arena_bytes_min, ability, method});
    place = summary.routes.end() - 1;
  }
  ++place->pairs;
}

void read_peers(Summary& summary, size_t from, const PeerCounts* peers) {
  for (size_t to = 0; to < summary.size(); ++to) {
    const PeerCounts& counts = peers[to];
    const Traffic traffic = traffic_of(counts);
    summary.matrix[from * summary.size() + to] = traffic;
    summary.ranks[from].sent += traffic;
    summary.ranks[to].received += traffic;
    add_ways(counts, summary.ways);
    const topo::Relation relation = relation_between(summary, from, to);
    if (relation == topo::Relation::network) summary.ranks[from].sent_away += traffic;
    Channel& channel = summary.channels[static_cast<size_t>(relation)];
    channel.traffic += traffic;
    add_sizes(counts, channel.messages);
    add_route(summary, relation, counts);
    for (size_t i = 0; i < kWaits; ++i) {
      const double waited_s = seconds(counts.waited_ns[i]);
      summary.waited_for[from * summary.size() + to] += waited_s;
      const auto wait = static_cast<Wait>(i);
      if (waited_s > 0 && wait != Wait::collective && wait != Wait::finalize) {
        summary.pair_waits.push_back({static_cast<int>(from), static_cast<int>(to), wait, waited_s});
      }
    }
  }
}

void read_calls(Summary& summary, const CallCounts* calls, std::vector<CallSummary>& all) {
  for (size_t number = 0; number < kCallsMax; ++number) {
    const CallCounts& counts = calls[number];
    CallSummary& call = all[number];
    call.calls += counts.calls_without_size;
    call.bytes += counts.bytes;
    for (size_t i = 0; i < kClasses; ++i) {
      call.calls += counts.calls[i];
      call.by_size[i] += counts.calls[i];
      call.has_sizes |= counts.calls[i] > 0;
    }
    call.estimated |= counts.drawn_for > 0;
    if (call.calls > 0 && call.name.empty()) call.name = summary.job.call_name(static_cast<int>(number));
  }
}

// Estimates the calls of uncounted messages that fit one slot: distributes their number over the sending, or
// receiving, functions in proportion to the samples. Messages of functions that are implemented by other
// calls are skipped, because those functions have been counted.
void add_unseen(const Summary& summary, const CallCounts* counts, uint64_t unseen, bool receiving,
                std::vector<CallSummary>& all) {
  const auto name_of = [&](size_t number) -> std::string {
    return summary.job.call_name(static_cast<int>(number));
  };
  const auto concerns = [&](size_t number) { return (name_of(number) == "MPI_Recv") == receiving; };
  const auto samples_of = [&](size_t number) {
    return std::accumulate(std::begin(counts[number].samples), std::end(counts[number].samples), uint64_t{0});
  };
  uint64_t samples_left = 0;
  for (size_t number = 0; number < kCallsMax; ++number) {
    if (const uint64_t samples = samples_of(number); samples > 0 && concerns(number)) samples_left += samples;
  }
  if (samples_left == 0 && receiving && unseen > 0) {
    // Without samples: only one function receives without being counted.
    for (size_t number = 0; number < kCallsMax; ++number) {
      if (!concerns(number)) continue;
      all[number].calls += unseen;
      all[number].estimated = true;
      if (all[number].name.empty()) all[number].name = name_of(number);
      return;
    }
  }
  for (size_t number = 0; number < kCallsMax && samples_left > 0; ++number) {
    if (samples_of(number) == 0 || !concerns(number)) continue;
    const std::string name = name_of(number);
    for (size_t size = 0; size < kLineClasses; ++size) {
      const uint64_t samples = counts[number].samples[size];
      if (samples == 0) continue;
      const uint64_t share = share_of(unseen, samples, samples_left);
      unseen -= share;
      samples_left -= samples;
      if (!receiving && name != "MPI_Send" && name != "MPI_Isend") continue;
      const uint64_t length = class_begin(static_cast<int>(size));
      all[number].calls += share;
      all[number].by_size[size] += share;
      all[number].bytes += share * (length + length / 2);
      all[number].estimated = true;
    }
  }
}

// The rank has recorded exported symbols; other names come from the file's symbol table, unless it is
// stripped.
std::string function_of(const Frame& frame, SymbolTables& tables) {
  if (frame.symbol[0] != '\0') return readable_name(frame.symbol);
  const SymbolTable& table = tables.of(frame.module);
  uint64_t beyond = 0;
  const char* name = table.function_at(table.address_from_begin(frame.offset), beyond);
  return name != nullptr ? readable_name(name) : "";
}

void read_sites(Summary& summary, size_t rank, const RankHead& head, SymbolTables& tables) {
  for (const Site& site : head.sites) {
    // Pairs with the release store in Recorder::note_site.
    if (atomic::load_acquire(site.key) == 0 || site.waited_ns == 0) continue;
    SiteSummary shown = {static_cast<int>(rank),
                         static_cast<Wait>(site.wait),
                         site.peer,
                         seconds(site.waited_ns),
                         site.waits,
                         {}};
    for (uint32_t i = 0; i < std::min<uint32_t>(site.frame_count, kFrames); ++i) {
      Frame& frame = shown.frames.emplace_back(site.frames[i]);
      // Terminate the texts, whatever the rank has left.
      frame.module[sizeof frame.module - 1] = frame.symbol[sizeof frame.symbol - 1] = '\0';
      const std::string name = function_of(frame, tables);
      frame.symbol[name.copy(frame.symbol, sizeof frame.symbol - 1)] = '\0';
      if (strcmp(frame.symbol, "main") == 0) break;  // its callers belong to the C library
    }
    summary.sites.push_back(std::move(shown));
  }
}

// The entries of one communicator from all ranks that called collectives on it.
struct CommParts {
  std::vector<std::pair<int, const CommCounts*>> of;  // rank in MPI_COMM_WORLD
};

uint64_t step_of(size_t place) {
  uint64_t step = 1;
  for (size_t tier = place / kTier; tier > 0; --tier) step *= 16;
  return step;
}

// Arrival times are comparable only between ranks with the same clock.
bool has_one_clock(const Summary& summary, const CommParts& parts) {
  const auto machine_of = [&](const auto& part) {
    return summary.ranks[static_cast<size_t>(part.first)].machine;
  };
  return summary.job.one_clock || std::all_of(parts.of.begin(), parts.of.end(), [&](const auto& part) {
           return machine_of(part) == machine_of(parts.of[0]);
         });
}

CommSummary join(const CommParts& parts, size_t ranks, bool one_clock) {
  CommSummary comm;
  const CommCounts& first = *parts.of[0].second;
  comm.context = first.context;
  comm.size = first.size;
  comm.name.assign(first.name, strnlen(first.name, sizeof first.name));
  std::vector<uint64_t> last(ranks, 0);
  double spread_sum = 0;
  uint64_t weight_sum = 0;
  for (const auto& [rank, counts] : parts.of) {
    comm.calls = std::max(comm.calls, counts->calls);
    comm.bytes += counts->bytes;
  }
  for (size_t place = 0; place < kMoments; ++place) {
    uint64_t earliest = UINT64_MAX;
    uint64_t latest = 0;
    int last_rank = -1;
    size_t came = 0;
    for (const auto& [rank, counts] : parts.of) {
      const Moment& moment = counts->moments[place];
      if (moment.ended_ns == 0) continue;
      ++came;
      comm.inside_s += seconds(moment.ended_ns - moment.begun_ns) * static_cast<double>(step_of(place));
      earliest = std::min(earliest, moment.begun_ns);
      if (moment.begun_ns >= latest) {
        latest = moment.begun_ns;
        last_rank = rank;
      }
    }
    if (!one_clock || came < 2 || came < parts.of.size()) continue;
    const uint64_t weight = step_of(place);
    ++comm.timed;
    weight_sum += weight;
    spread_sum += seconds(latest - earliest) * static_cast<double>(weight);
    comm.spread_max_s = std::max(comm.spread_max_s, seconds(latest - earliest));
    last[static_cast<size_t>(last_rank)] += weight;
  }
  if (weight_sum > 0) {
    comm.spread_mean_s = spread_sum / static_cast<double>(weight_sum);
    const auto most = std::max_element(last.begin(), last.end());
    comm.last_rank = static_cast<int>(most - last.begin());
    comm.last_share = static_cast<double>(*most) / static_cast<double>(weight_sum);
  }
  return comm;
}

void read_comms(Summary& summary, const Board& board) {
  std::map<std::pair<uint32_t, int>, CommParts> parts;
  for (size_t rank = 0; rank < summary.size(); ++rank) {
    if (!summary.ranks[rank].counted) continue;
    const CommCounts* comms = board.part(static_cast<int>(rank)).comms;
    for (int i = 0; i < kCommsMax && comms[i].used != 0; ++i) {
      parts[{comms[i].context, comms[i].leader}].of.emplace_back(static_cast<int>(rank), &comms[i]);
    }
  }
  for (const auto& [key, part] : parts)
    summary.comms.push_back(join(part, summary.size(), has_one_clock(summary, part)));
  std::sort(summary.comms.begin(), summary.comms.end(),
            [](const CommSummary& a, const CommSummary& b) { return a.inside_s > b.inside_s; });
}

// Under an even distribution over all pairs of ranks, the share of a channel is its share of the pairs.
void fill_even_shares(Summary& summary) {
  const size_t size = summary.size();
  if (size < 2) return;
  const double pairs = static_cast<double>(size) * static_cast<double>(size - 1);
  for (size_t a = 0; a < size; ++a) {
    for (size_t b = 0; b < size; ++b) {
      if (a == b) continue;
      summary.channels[static_cast<size_t>(relation_between(summary, a, b))].even_share += 1 / pairs;
    }
  }
}

// Profiling costs two kinds of operations: counting in memory and reading the clock. Both are measured here,
// on the machine of the job.
double measure_count_ns() {
  constexpr uint64_t kRounds = 1 << 18;
  static PeerCounts peer;
  static CallCounts call;
  const uint64_t begun_ns = os::now_ns();
  for (uint64_t i = 0; i < kRounds; ++i) {
    uint64_t bytes = i & 15;
    asm volatile("" : "+r"(bytes)::"memory");
    ++peer.line_messages[bytes];
    ++call.calls[class_of(bytes)];
    call.bytes += bytes;
  }
  return static_cast<double>(os::now_ns() - begun_ns) / static_cast<double>(kRounds);
}

double measure_look_ns() {
  constexpr uint64_t kRounds = 1 << 14;
  const uint64_t begun_ns = os::now_ns();
  for (uint64_t i = 0; i < kRounds; ++i) static_cast<void>(os::now_ns());
  return static_cast<double>(os::now_ns() - begun_ns) / static_cast<double>(kRounds);
}

Cost cost_of(const Summary& summary, const Board& board) {
  Cost cost;
  for (size_t rank = 0; rank < summary.size(); ++rank) {
    if (!summary.ranks[rank].counted) continue;
    const Part part = board.part(static_cast<int>(rank));
    cost.counts += summary.ranks[rank].sent.messages;
    for (size_t peer = 0; peer < summary.size(); ++peer) cost.counts -= part.peers[peer].sent_unseen;
    for (size_t number = 0; number < kCallsMax; ++number) {
      cost.counts += part.calls[number].calls_without_size;
      for (const uint64_t calls : part.calls[number].calls) cost.counts += calls;
      cost.counts -= part.calls[number].drawn_for;
    }
    cost.looks += 2 * part.head->timed_copies;
  }
  for (const CommSummary& comm : summary.comms)
    cost.looks += 2 * comm.timed * static_cast<uint64_t>(comm.size);
  cost.count_ns = measure_count_ns();
  cost.look_ns = measure_look_ns();
  return cost;
}

}  // namespace

double RankSummary::waited_all_s() const {
  double sum = 0;
  for (const double each : waited_s) sum += each;
  return sum;
}

double RankSummary::rest_s() const {
  return std::max(0.0, run_s - waited_all_s() - copied_s);
}

Traffic Summary::all() const {
  Traffic sum;
  for (const RankSummary& rank : ranks) sum += rank.sent;
  return sum;
}

Traffic Summary::all_away() const {
  Traffic sum;
  for (const RankSummary& rank : ranks) sum += rank.sent_away;
  return sum;
}

size_t Summary::machines() const {
  std::set<uint64_t> numbers;
  for (const RankSummary& rank : ranks) {
    if (rank.counted) numbers.insert(rank.machine);
  }
  return numbers.size();
}

double Summary::even_share_away() const {
  const auto between = std::find_if(channels.begin(), channels.end(), [](const Channel& channel) {
    return channel.relation == topo::Relation::network;
  });
  return between != channels.end() ? between->even_share : 0;
}

double Summary::share(double part_s) const {
  double all_s = 0;
  for (const RankSummary& rank : ranks) all_s += rank.run_s;
  return all_s > 0 ? part_s / all_s : 0;
}

const char* wait_name(Wait wait) {
  switch (wait) {
    case Wait::late_sender:
      return "late sender";
    case Wait::late_receiver:
      return "late receiver";
    case Wait::request:
      return "any of several requests";
    case Wait::collective:
      return "collective";
    case Wait::finalize:
      return "MPI_Finalize";
    case Wait::count_:
      break;
  }
  return "?";
}

Summary summarize(const Board& board, const JobFacts& job) {
  Summary summary;
  const size_t size = board.rank_count();
  summary.job = job;
  summary.ranks.resize(size);
  summary.matrix.resize(size * size);
  summary.waited_for.resize(size * size);
  summary.channels.resize(topo::kRelations);
  for (int i = 0; i < topo::kRelations; ++i) {
    summary.channels[static_cast<size_t>(i)].relation = static_cast<topo::Relation>(i);
  }
  for (const char* name : kWayNames) summary.ways.push_back({name, {}, {}});
  for (size_t rank = 0; rank < size; ++rank) {
    summary.ranks[rank] = read_rank(*board.part(static_cast<int>(rank)).head, job.ended_ns);
    summary.run_s = std::max(summary.run_s, summary.ranks[rank].run_s);
  }
  std::vector<CallSummary> calls(kCallsMax);
  SymbolTables tables;
  for (size_t rank = 0; rank < size; ++rank) {
    if (!summary.ranks[rank].counted) continue;
    const Part part = board.part(static_cast<int>(rank));
    read_peers(summary, rank, part.peers);
    read_calls(summary, part.calls, calls);
    uint64_t sent_unseen = 0;
    uint64_t received_unseen = 0;
    for (size_t peer = 0; peer < size; ++peer) {
      sent_unseen += part.peers[peer].sent_unseen;
      received_unseen += part.peers[peer].received_unseen;
    }
    add_unseen(summary, part.calls, sent_unseen, false, calls);
    received_unseen -= std::min(part.head->posted_unseen, received_unseen);
    add_unseen(summary, part.calls, received_unseen, true, calls);
    read_sites(summary, rank, *part.head, tables);
  }
  read_comms(summary, board);
  fill_even_shares(summary);
  std::erase_if(summary.channels, [](const Channel& channel) {
    return channel.even_share == 0 && channel.traffic.messages == 0;
  });
  std::erase_if(calls, [](const CallSummary& call) { return call.calls == 0; });
  std::sort(calls.begin(), calls.end(),
            [](const CallSummary& a, const CallSummary& b) { return a.calls > b.calls; });
  summary.calls = std::move(calls);
  const auto longest_first = [](const auto& a, const auto& b) { return a.waited_s > b.waited_s; };
  std::sort(summary.sites.begin(), summary.sites.end(), longest_first);
  std::sort(summary.pair_waits.begin(), summary.pair_waits.end(), longest_first);
  if (summary.sites.size() > kSitesShown) summary.sites.resize(kSitesShown);
  if (summary.pair_waits.size() > kPairWaitsShown) summary.pair_waits.resize(kPairWaitsShown);
  summary.cost = cost_of(summary, board);
  summary.verdict = verdict_of(summary);
  return summary;
}

}  // namespace hearth::profile
