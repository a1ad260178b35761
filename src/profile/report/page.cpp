#include "profile/report/page.h"

#include <algorithm>

#include "profile/markup.h"
#include "profile/report/charts.h"
#include "profile/report/words.h"

namespace hearth::profile {
namespace {

constexpr size_t kCallsShown = 24;
constexpr size_t kCommsShown = 16;

std::string section(const std::string& title, const std::string& words, const std::string& content) {
  return "<section><h2>" + escaped(title) + "</h2>\n<p class=\"soft\">" + escaped(words) + "</p>\n" +
         content + "</section>\n";
}

std::string rank_words(int rank) {
  return rank < 0 ? "any rank" : "rank " + std::to_string(rank);
}

std::string head(const Summary& summary) {
  const Traffic all = summary.all();
  uint64_t memory = 0;
  uint64_t depth = 0;
  for (const RankSummary& rank : summary.ranks) {
    memory = std::max(memory, rank.memory_bytes_max);
    depth = std::max(depth, rank.unexpected_depth_max);
  }
  std::string out =
      "<header><h1>Hearth profile</h1>\n<p class=\"verdict\">" + escaped(summary.verdict) + "</p>\n";
  out += "<dl class=\"facts\">" + fact("job", summary.job.command);
  out += fact("ranks, processors",
              std::to_string(summary.size()) + ", " + std::to_string(summary.job.processors));
  out += fact("MPI_Init to MPI_Finalize", time_words(summary.run_s));
  out += fact("messages", count_words(all.messages)) + fact("bytes", bytes_words(all.bytes));
  out += fact("most unexpected at once", count_words(depth));
  if (summary.machines() > 1) out += fact("between machines", machines_words(summary));
  if (memory > 0) out += fact("most memory of a rank", bytes_words(memory));
  if (summary.job.exit_code != 0) out += fact("exit code", std::to_string(summary.job.exit_code));
  return out + "</dl></header>\n";
}

std::string times(const Summary& summary) {
  return section(
      "Waiting and copying",
      "Late sender: a receive or probe waits for its message. Late receiver: a send waits for its receive, "
      "or "
      "for room. Waits of less than about half a microsecond and copies of less than " +
          bytes_words(kTimedBytes) +
          " are not timed; they are part of the rest. What is copied while a rank waits counts as copying.",
      "<div class=\"scroll\">" + time_chart(summary) + "</div>");
}

std::string matrices(const Summary& summary) {
  return section(
      "Who sends to whom",
      "Messages between ranks, those that collectives send included. What collectives exchange in shared "
      "memory, without messages, is not in here. Shades go by the logarithm.",
      "<div class=\"side scroll\">" + matrix_chart(summary, true) + matrix_chart(summary, false) + "</div>");
}

std::string channels(const Summary& summary) {
  return section(
      "Channels",
      "What lies between sender and receiver, by where mpiexec bound them. Beside it the share that each "
      "channel would have if every rank sent as much to each other rank; the experiment is Figure 4 of Chai, "
      "Gao and Panda (2007)." +
          std::string(summary.machines() > 1
                          ? ""
                          : " All ranks are on one machine, so nothing goes through a network."),
      "<div class=\"scroll\">" + channel_chart(summary) + "</div>");
}

std::string machines(const Summary& summary) {
  if (summary.machines() < 2) return "";
  Table table(
      {"rank", "#machine", "#messages within", "#between", "#share", "#bytes within", "#between", "#share"});
  const auto row = [&](const std::string& name, const std::string& machine, const Traffic& all,
                       const Traffic& away) {
    table.row({name, machine, count_words(all.messages - away.messages), count_words(away.messages),
               percent_words(share_of(away.messages, all.messages)), bytes_words(all.bytes - away.bytes),
               bytes_words(away.bytes), percent_words(share_of(away.bytes, all.bytes))});
  };
  for (size_t i = 0; i < summary.size(); ++i) {
    const RankSummary& rank = summary.ranks[i];
    row("rank " + std::to_string(i), rank.counted ? std::to_string(rank.machine) : "", rank.sent,
        rank.sent_away);
  }
  row("all", std::to_string(summary.machines()) + " machines", summary.all(), summary.all_away());
  return section("Within and between machines",
                 "What each rank sends to ranks of its own machine, and to those of others. " +
                     machines_words(summary) + ".",
                 table.end());
}

std::string sizes(const Summary& summary) {
  Table protocols({"protocol", "#messages", "#bytes"});
  for (const WaySummary& way : summary.ways) {
    protocols.row({way.name, count_words(way.traffic.messages), bytes_words(way.traffic.bytes)});
  }
  return section("Lengths and protocols", "Columns are on a logarithmic scale.",
                 "<div class=\"scroll\">" + size_chart(summary) + "</div>" + protocols.end());
}

std::string routes(const Summary& summary) {
  Table table({"between", "#pairs", "how messages go, and why"});
  for (const Route& route : summary.routes) {
    table.row({channel_words(route.relation), std::to_string(route.pairs), route_words(route)});
  }
  return section(
      "Which protocol, and why",
      "As each sender decided it for its peers; hearth info --explain says where the limits come from.",
      table.end());
}

std::string calls(const Summary& summary) {
  Table table({"function", "#calls", "#bytes", "calls by length (0 B to 2 GiB, doubling)"});
  for (size_t i = 0; i < std::min(summary.calls.size(), kCallsShown); ++i) {
    const CallSummary& call = summary.calls[i];
    const std::string about = call.estimated ? "about " : "";
    table.row(
        {Cell::of_markup("<code>" + escaped(call.name) + "</code>"), about + count_words(call.calls),
         call.has_sizes ? about + bytes_words(call.bytes) : "",
         Cell::of_markup(call.has_sizes ? small_bars(call.by_size, call.name + ": calls by length") : "")});
  }
  std::string words =
      "All ranks together. Bytes are those that the call itself names: count times datatype. Of MPI_Send, "
      "MPI_Isend and "
      "MPI_Recv of 48 bytes or less the first 4096 between two ranks are counted one by one; of further ones "
      "the number "
      "is known, and one in about 2048 is sampled.";
  if (summary.calls.size() > kCallsShown) {
    words += " " + std::to_string(summary.calls.size() - kCallsShown) +
             " functions that were called less are left out.";
  }
  return section("Calls", words, table.end());
}

std::string comms(const Summary& summary) {
  if (summary.comms.empty()) return "";
  Table table({"communicator", "#ranks", "#collectives", "#time of all ranks", "#arrival spread", "#longest",
               "comes last most often"});
  for (size_t i = 0; i < std::min(summary.comms.size(), kCommsShown); ++i) {
    const CommSummary& comm = summary.comms[i];
    const std::string name = comm.name.empty() ? "context " + std::to_string(comm.context) : comm.name;
    table.row({name, std::to_string(comm.size), count_words(comm.calls), time_words(comm.inside_s),
               comm.timed > 0 ? time_words(comm.spread_mean_s) : "",
               comm.timed > 0 ? time_words(comm.spread_max_s) : "",
               comm.timed > 0 ? rank_words(comm.last_rank) + ", " + percent_words(comm.last_share) : ""});
  }
  return section("Collectives",
                 "Blocking collectives of each communicator. The spread is the time from the first rank's "
                 "arrival to the "
                 "last one's. Timed are each of the first 512, each 16th of the next 8192, and so on.",
                 table.end());
}

std::string waits(const Summary& summary) {
  if (summary.pair_waits.empty()) return "";
  Table table({"rank", "waits for", "why", "#time", "#of its time"});
  for (const PairWait& wait : summary.pair_waits) {
    const RankSummary& rank = summary.ranks[static_cast<size_t>(wait.rank)];
    table.row({rank_words(wait.rank), rank_words(wait.peer), wait_name(wait.wait), time_words(wait.waited_s),
               percent_words(rank.run_s > 0 ? wait.waited_s / rank.run_s : 0)});
  }
  return section("Longest waits", "For point-to-point messages, by pair of ranks.", table.end());
}

std::string sites(const Summary& summary) {
  if (summary.sites.empty()) return "";
  Table table({"rank", "waits for", "why", "#waits", "#time", "called from"});
  for (const SiteSummary& site : summary.sites) {
    std::string stack = "<code>";
    for (size_t i = 0; i < site.frames.size(); ++i) {
      stack += (i == 0 ? "" : "<br>") + escaped(frame_words(site.frames[i]));
    }
    table.row({rank_words(site.rank), rank_words(site.peer), wait_name(site.wait), count_words(site.waits),
               time_words(site.waited_s), Cell::of_markup(stack + "</code>")});
  }
  return section("Where the longest waits were called",
                 "Waits of a millisecond and more, by call site, innermost function first.", table.end());
}

std::string files(const Summary& summary) {
  Table table({"rank", "#accesses", "#read", "#written", "#time", "#of its time", "#bytes per second"});
  bool any = false;
  for (size_t i = 0; i < summary.size(); ++i) {
    const RankSummary& rank = summary.ranks[i];
    if (rank.file_accesses == 0) continue;
    any = true;
    const uint64_t bytes = rank.file_read_bytes + rank.file_written_bytes;
    const double rate = rank.file_s > 0 ? static_cast<double>(bytes) / rank.file_s : 0;
    table.row({"rank " + std::to_string(i), count_words(rank.file_accesses),
               bytes_words(rank.file_read_bytes), bytes_words(rank.file_written_bytes),
               time_words(rank.file_s), percent_words(rank.run_s > 0 ? rank.file_s / rank.run_s : 0),
               bytes_words(static_cast<uint64_t>(rate)) + "/s"});
  }
  if (!any) return "";
  return section("Files",
                 "Data accesses of MPI files. The time of collective ones includes waits for other ranks; "
                 "non-blocking ones count from their start to the end of the transfer.",
                 table.end());
}

std::string ranks(const Summary& summary) {
  Table table({"rank", "#run", "#sent", "#received", "#bytes sent", "#unexpected", "#at once", "#their bytes",
               "#fell back", "#memory", "#of requests"});
  for (size_t i = 0; i < summary.size(); ++i) {
    const RankSummary& rank = summary.ranks[i];
    std::string name = "rank " + std::to_string(i);
    if (!rank.counted) name += ", without MPI_Init";
    if (rank.counted && !rank.finalized) name += ", without MPI_Finalize";
    table.row({name, time_words(rank.run_s), count_words(rank.sent.messages),
               count_words(rank.received.messages), bytes_words(rank.sent.bytes),
               count_words(rank.unexpected_messages), count_words(rank.unexpected_depth_max),
               bytes_words(rank.unexpected_bytes_max), count_words(rank.fallbacks),
               rank.memory_bytes_max > 0 ? bytes_words(rank.memory_bytes_max) : "",
               bytes_words(rank.library_bytes)});
  }
  const std::string words =
      "Unexpected: messages that came before their receive, and the most of them that waited at once, with "
      "the bytes "
      "that were kept. Fell back: messages offered for a single copy that went through bounce buffers. "
      "Memory: the "
      "most that "
      "the process had, and what requests and messages took of it.";
  const std::string content = table.end();
  return section("Ranks", words,
                 summary.size() > 32 ? "<details><summary>" + std::to_string(summary.size()) +
                                           " ranks</summary>" + content + "</details>"
                                     : content);
}

}  // namespace

std::string to_page(const Summary& summary) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Hearth profile: " +
      escaped(summary.job.command) + "</title>\n" + std::string(page_style()) + "</head>\n<body>\n";
  out += head(summary) + "<main>\n" + times(summary) + waits(summary) + sites(summary) + comms(summary) +
         matrices(summary) + channels(summary) + machines(summary) + sizes(summary) + routes(summary) +
         calls(summary) + files(summary) + ranks(summary) + "</main>\n";
  return out + "<footer>" + escaped(overhead_words(summary)) + ". Hearth MPI " +
         escaped(summary.job.version) +
         "; docs/design/profile.md says how each figure is made.</footer>\n</body>\n</html>\n";
}

}  // namespace hearth::profile
