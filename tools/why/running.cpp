#include "running.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "launch/why_words.h"
#include "mpi.h"

namespace hearth::tools {
namespace {

using Json = nlohmann::ordered_json;
using launch::SeenOperation;
using launch::SeenRank;
using launch::SeenWait;

const char* kind_name(shm::WaitKind kind) {
  switch (kind) {
    case shm::WaitKind::none:
      return "none";
    case shm::WaitKind::send:
      return "send";
    case shm::WaitKind::receive:
      return "receive";
    case shm::WaitKind::request:
      return "requests";
    case shm::WaitKind::probe:
      return "probe";
    case shm::WaitKind::finalize:
      return "finalize";
    case shm::WaitKind::collective:
      return "collective";
    case shm::WaitKind::polling:
      return "polling";
    case shm::WaitKind::call:
      return "call";
    case shm::WaitKind::progress:
      return "progress";
    case shm::WaitKind::lock:
      return "lock";
    case shm::WaitKind::file:
      return "file";
  }
  return "";
}

Json peer_json(int peer) {
  if (peer == MPI_ANY_SOURCE) return "any";
  return peer < 0 ? Json() : Json(peer);
}

Json tag_json(int tag) {
  return tag == MPI_ANY_TAG ? Json("any") : Json(tag);
}

Json wait_json(const SeenRank& rank, const SeenWait& wait, uint64_t now_ns) {
  Json operations = Json::array();
  for (const SeenOperation& operation : wait.operations) {
    Json one = {{"kind", kind_name(operation.kind)},
                {"communicator", launch::comm_words(rank, operation.context)}};
    if (operation.kind == shm::WaitKind::lock) {
      one["target"] = operation.peer;
      one["holders"] = operation.bytes;
    }
    if (launch::is_message(operation.kind)) {
      one["peer"] = peer_json(operation.peer);
      one["tag"] = tag_json(operation.tag);
      one["bytes"] = operation.bytes;
      one["datatype"] = operation.type == nullptr ? Json() : Json(operation.type);
    }
    if (operation.kind == shm::WaitKind::collective && operation.tag >= 0) one["root"] = operation.tag;
    if (operation.kind == shm::WaitKind::call) {
      one["peer"] = operation.peer;
      one["call"] = operation.collective;
    } else if (operation.kind == shm::WaitKind::file) {
      one["action"] = operation.collective;
      one["bytes"] = operation.bytes;
    } else if (!operation.collective.empty()) {
      one["collective"] = operation.collective;
    }
    operations.push_back(one);
  }
  return {{"call", wait.function},
          {"kind", kind_name(wait.kind)},
          {"called_from", wait.site},
          {"thread", wait.thread},
          {"seconds", now_ns > wait.since_ns ? static_cast<double>(now_ns - wait.since_ns) / 1e9 : 0.0},
          {"any_suffices", wait.any_suffices},
          {"operation_count", wait.operation_count},
          {"operations", operations},
          {"missing", wait.missing}};
}

Json queue_json(const SeenRank& rank, const std::vector<launch::SeenMessage>& queue) {
  Json messages = Json::array();
  for (const launch::SeenMessage& message : queue) {
    messages.push_back({{"peer", peer_json(message.peer)},
                        {"tag", tag_json(message.tag)},
                        {"communicator", launch::comm_words(rank, message.context)},
                        {"bytes", message.bytes}});
  }
  return messages;
}

}  // namespace

Status choose_job(int pid, launch::RunningJob& job) {
  if (pid != 0) return launch::find_job(pid, job);
  std::vector<launch::RunningJob> jobs = launch::find_jobs();
  if (jobs.empty()) return fail(MPI_ERR_OTHER, "no job of yours runs on this machine");
  if (jobs.size() == 1) {
    job = std::move(jobs[0]);
    return {};
  }
  std::string text;
  for (const launch::RunningJob& one : jobs) {
    text += fmt::format("\n  {} ({} ranks)", one.pid, one.segment.rank_count());
  }
  return fail(MPI_ERR_OTHER, "several jobs run; name one by its number:%s", text.c_str());
}

const char* state_name(const SeenRank& rank, uint64_t now_ns) {
  if (rank.process.ended) return "ended";
  if (launch::is_stopped(rank.process)) return "stopped";
  switch (rank.phase) {
    case shm::RankPhase::outside:
      return "outside";
    case shm::RankPhase::finalized:
      return "finalized";
    case shm::RankPhase::initialized:
      break;
  }
  if (!rank.waits.empty()) return "waiting";
  if (launch::polls(rank, now_ns)) return "polling";
  return rank.process.state == 'R' || rank.process.processors > 0.1 ? "computing" : "sleeping";
}

Json rank_json(const launch::Snapshot& snapshot, size_t index) {
  const SeenRank& rank = snapshot.ranks[index];
  Json waits = Json::array();
  for (const SeenWait& wait : rank.waits) waits.push_back(wait_json(rank, wait, snapshot.now_ns));
  Json json = {{"rank", index},
               {"pid", rank.process.pid},
               {"state", state_name(rank, snapshot.now_ns)},
               {"words", launch::rank_state_words(rank, snapshot.now_ns)},
               {"processors", rank.process.processors < 0 ? Json() : Json(rank.process.processors)},
               {"threads", rank.process.threads},
               {"bytes_per_second_in", rank.traffic.in < 0 ? Json() : Json(rank.traffic.in)},
               {"bytes_per_second_out", rank.traffic.out < 0 ? Json() : Json(rank.traffic.out)},
               {"file_bytes_per_second_read", rank.traffic.in < 0 ? Json() : Json(rank.traffic.read)},
               {"file_bytes_per_second_written", rank.traffic.in < 0 ? Json() : Json(rank.traffic.written)},
               {"waits", waits}};
  if (launch::polls(rank, snapshot.now_ns)) json["polling"] = wait_json(rank, *rank.polling, snapshot.now_ns);
  // Known only for ranks that wait or poll.
  if (!rank.waits.empty() || rank.polling) {
    json["unexpected_count"] = rank.unexpected_count;
    json["unexpected"] = queue_json(rank, rank.unexpected);
    json["posted_count"] = rank.posted_count;
    json["posted"] = queue_json(rank, rank.posted);
  }
  return json;
}

}  // namespace hearth::tools
