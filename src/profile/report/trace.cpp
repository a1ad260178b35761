#include "profile/report/trace.h"

#include <algorithm>
#include <cstdio>

#include "base/atomic.h"

namespace hearth::profile {
namespace {

constexpr size_t kPieceBytes = 1 << 16;

// Microseconds since the start of the ranks; all ranks of a machine use one clock.
double microseconds(const Board& board, uint64_t ns) {
  return static_cast<double>(ns - std::min(ns, board.begun_ns())) / 1e3;
}

uint64_t lasted_ns(const TraceEvent& event) {
  return event.kind == EventKind::sent || event.kind == EventKind::arrived ? 0 : event.lasted_ns + event.more;
}

std::string slice(const char* name, const char* category, int rank, const TraceEvent& event,
                  double begun_us) {
  char text[320];
  const int length = std::snprintf(
      text, sizeof text,
      "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f", name,
      category, rank, event.thread, begun_us, static_cast<double>(lasted_ns(event)) / 1e3);
  std::string out(text, static_cast<size_t>(length));
  if (event.kind == EventKind::call) return out + "},\n";
  out += ",\"args\":{\"peer\":" + std::to_string(event.peer);
  if (event.kind == EventKind::copied) out += ",\"bytes\":" + std::to_string(event.bytes);
  return out + "}},\n";
}

// An arrow begins in the slice at the time of sending and ends in the slice at the time when the receiver
// takes the message from the ring. Both ends carry the message's properties.
std::string message(int rank, const TraceEvent& event, double at_us) {
  const bool sent = event.kind == EventKind::sent;
  const int from = sent ? rank : event.peer;
  const int to = sent ? event.peer : rank;
  char text[640];
  const int length =
      std::snprintf(text, sizeof text,
                    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"%s\",\"cat\":\"message\",\"pid\":%d,\"tid\":%u,"
                    "\"ts\":%.3f,\"args\":{\"peer\":%d,"
                    "\"tag\":%d,\"bytes\":%llu%s%s%s}},\n"
                    "{\"ph\":\"%s\",%s\"name\":\"message\",\"cat\":\"message\",\"id\":\"%d-%d-%llu\",\"pid\":"
                    "%d,\"tid\":%u,\"ts\":%.3f},\n",
                    sent ? "sent" : "arrived", rank, event.thread, at_us, event.peer, event.tag,
                    static_cast<unsigned long long>(event.bytes), sent ? ",\"protocol\":\"" : "",
                    sent ? kWayNames[std::min<size_t>(event.what, kWays - 1)] : "", sent ? "\"" : "",
                    sent ? "s" : "f", sent ? "" : "\"bp\":\"e\",", from, to,
                    static_cast<unsigned long long>(event.more), rank, event.thread, at_us);
  return std::string(text, static_cast<size_t>(length));
}

std::string words_of(const Board& board, const JobFacts& job, int rank, const TraceEvent& event) {
  const double begun_us = microseconds(board, event.begun_ns);
  switch (event.kind) {
    case EventKind::call:
      return slice(job.call_name(event.call), "call", rank, event, begun_us);
    case EventKind::wait: {
      const auto wait = static_cast<Wait>(std::min<int>(event.what, kWaits - 1));
      return slice((std::string("wait: ") + wait_name(wait)).c_str(), "wait", rank, event, begun_us);
    }
    case EventKind::copied:
      return slice("copy", "copy", rank, event, begun_us);
    case EventKind::sent:
    case EventKind::arrived:
      return message(rank, event, begun_us);
    case EventKind::none:
      break;
  }
  return "";
}

}  // namespace

TraceCounts write_trace(const Board& board, const JobFacts& job,
                        const std::function<bool(const std::string&)>& write) {
  TraceCounts counts;
  std::string piece = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  bool goes_on = true;
  for (int rank = 0; rank < static_cast<int>(board.rank_count()) && goes_on; ++rank) {
    const Part part = board.part(rank);
    const std::string number = std::to_string(rank);
    piece += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + number + ",\"args\":{\"name\":\"rank " +
             number + "\"}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" + number +
             ",\"args\":{\"sort_index\":" + number + "}},\n";
    counts.dropped += atomic::load_relaxed(part.head->trace_dropped);
    const uint64_t count = std::min(atomic::load_relaxed(part.head->trace_written), part.event_count);
    for (uint64_t i = 0; i < count && goes_on; ++i) {
      const std::string words = words_of(board, job, rank, part.events[i]);
      counts.events += words.empty() ? 0 : 1;
      piece += words;
      if (piece.size() < kPieceBytes) continue;
      goes_on = write(piece);
      piece.clear();
    }
  }
  // A last event without a trailing comma.
  piece += "{\"ph\":\"M\",\"name\":\"trace_of\",\"pid\":0,\"args\":{\"dropped\":" +
           std::to_string(counts.dropped) + "}}\n]}\n";
  if (goes_on) write(piece);
  return counts;
}

}  // namespace hearth::profile
