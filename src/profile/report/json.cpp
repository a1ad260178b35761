#include "profile/report/json.h"

#include <nlohmann/json.hpp>

#include "profile/report/words.h"

namespace hearth::profile {
namespace {

using Json = nlohmann::ordered_json;

// Size classes with messages, keyed by their smallest length.
Json sizes_json(const Classes& classes) {
  Json sizes = Json::object();
  for (int i = 0; i < kClasses; ++i) {
    const uint64_t count = classes[static_cast<size_t>(i)];
    if (count > 0) sizes[std::to_string(class_begin(i))] = count;
  }
  return sizes;
}

// Traffic to other machines, and its share of all traffic.
Json share_json(const Traffic& away, const Traffic& all) {
  return {{"messages", away.messages},
          {"bytes", away.bytes},
          {"messages_share", share_of(away.messages, all.messages)},
          {"bytes_share", share_of(away.bytes, all.bytes)}};
}

Json rank_json(size_t number, const RankSummary& rank) {
  Json waits = Json::object();
  for (int i = 0; i < kWaits; ++i) {
    const auto at = static_cast<size_t>(i);
    waits[wait_name(static_cast<Wait>(i))] = {
        {"seconds", rank.waited_s[at]}, {"waits", rank.waits[at]}, {"longest_seconds", rank.longest_s[at]}};
  }
  return {{"rank", number},
          {"counted", rank.counted},
          {"finalized", rank.finalized},
          {"run_seconds", rank.run_s},
          {"waited_seconds", rank.waited_all_s()},
          {"waits", waits},
          {"copy_seconds", rank.copied_s},
          {"timed_copy_bytes", rank.timed_bytes},
          {"copied_bytes", rank.copied_bytes},
          {"rest_seconds", rank.rest_s()},
          {"messages_sent", rank.sent.messages},
          {"bytes_sent", rank.sent.bytes},
          {"machine", rank.machine},
          {"inter_node", share_json(rank.sent_away, rank.sent)},
          {"messages_received", rank.received.messages},
          {"bytes_received", rank.received.bytes},
          {"unexpected_messages", rank.unexpected_messages},
          {"unexpected_depth_max", rank.unexpected_depth_max},
          {"unexpected_bytes_max", rank.unexpected_bytes_max},
          {"single_copy_fallbacks", rank.fallbacks},
          {"files",
           {{"accesses", rank.file_accesses},
            {"bytes_read", rank.file_read_bytes},
            {"bytes_written", rank.file_written_bytes},
            {"seconds", rank.file_s}}},
          {"memory_bytes_max", rank.memory_bytes_max},
          {"library_bytes", rank.library_bytes}};
}

// One row for each sending rank.
template <class Value>
Json matrix_json(const Summary& summary, Value value) {
  Json rows = Json::array();
  for (size_t from = 0; from < summary.size(); ++from) {
    Json row = Json::array();
    for (size_t to = 0; to < summary.size(); ++to) row.push_back(value(from, to));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json length_json(uint64_t bytes) {
  return bytes == UINT64_MAX ? Json() : Json(bytes);
}

Json routes_json(const Summary& summary) {
  Json routes = Json::array();
  for (const Route& route : summary.routes) {
    routes.push_back({{"relation", topo::relation_name(route.relation)},
                      {"pairs", route.pairs},
                      {"ring_bytes_max", route.ring_bytes_max},
                      {"single_copy_bytes_min", length_json(route.single_copy_bytes_min)},
                      {"arena_bytes_min", length_json(route.arena_bytes_min)},
                      {"why", route_words(route)}});
  }
  return routes;
}

Json sites_json(const Summary& summary) {
  Json sites = Json::array();
  for (const SiteSummary& site : summary.sites) {
    Json frames = Json::array();
    for (const Frame& frame : site.frames) frames.push_back(frame_words(frame));
    sites.push_back({{"rank", site.rank},
                     {"wait", wait_name(site.wait)},
                     {"peer", site.peer},
                     {"seconds", site.waited_s},
                     {"waits", site.waits},
                     {"frames", frames}});
  }
  return sites;
}

}  // namespace

std::string to_json(const Summary& summary) {
  const Traffic all = summary.all();
  Json json = {{"hearth_profile", 1},
               {"version", summary.job.version},
               {"command", summary.job.command},
               {"exit_code", summary.job.exit_code},
               {"processors", summary.job.processors},
               {"verdict", summary.verdict},
               {"run_seconds", summary.run_s},
               {"messages", all.messages},
               {"bytes", all.bytes},
               {"machines", summary.machines()},
               {"inter_node", share_json(summary.all_away(), all)},
               {"overhead_seconds", summary.cost.all_s()},
               {"overhead_share", summary.share(summary.cost.all_s())},
               {"ranks", Json::array()}};
  json["inter_node"]["even_share"] = summary.even_share_away();
  for (size_t rank = 0; rank < summary.size(); ++rank)
    json["ranks"].push_back(rank_json(rank, summary.ranks[rank]));
  json["bytes_between"] =
      matrix_json(summary, [&](size_t from, size_t to) { return summary.between(from, to).bytes; });
  json["messages_between"] =
      matrix_json(summary, [&](size_t from, size_t to) { return summary.between(from, to).messages; });
  json["waited_seconds_for"] = matrix_json(
      summary, [&](size_t rank, size_t peer) { return summary.waited_for[rank * summary.size() + peer]; });
  json["channels"] = Json::array();
  for (const Channel& channel : summary.channels) {
    json["channels"].push_back({{"relation", topo::relation_name(channel.relation)},
                                {"messages", channel.traffic.messages},
                                {"bytes", channel.traffic.bytes},
                                {"even_share", channel.even_share},
                                {"messages_by_size", sizes_json(channel.messages)}});
  }
  json["protocols"] = Json::array();
  for (const WaySummary& way : summary.ways) {
    json["protocols"].push_back({{"protocol", way.name},
                                 {"messages", way.traffic.messages},
                                 {"bytes", way.traffic.bytes},
                                 {"messages_by_size", sizes_json(way.by_size)}});
  }
  json["routes"] = routes_json(summary);
  json["calls"] = Json::array();
  for (const CallSummary& call : summary.calls) {
    Json row = {{"call", call.name}, {"calls", call.calls}, {"estimated", call.estimated}};
    if (call.has_sizes) {
      row["bytes"] = call.bytes;
      row["calls_by_size"] = sizes_json(call.by_size);
    }
    json["calls"].push_back(std::move(row));
  }
  json["communicators"] = Json::array();
  for (const CommSummary& comm : summary.comms) {
    json["communicators"].push_back({{"context", comm.context},
                                     {"name", comm.name},
                                     {"size", comm.size},
                                     {"collectives", comm.calls},
                                     {"bytes", comm.bytes},
                                     {"seconds_of_all_ranks", comm.inside_s},
                                     {"timed_collectives", comm.timed},
                                     {"arrival_spread_mean_seconds", comm.spread_mean_s},
                                     {"arrival_spread_max_seconds", comm.spread_max_s},
                                     {"last_rank", comm.last_rank},
                                     {"last_share", comm.last_share}});
  }
  json["longest_waits"] = sites_json(summary);
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hearth::profile
