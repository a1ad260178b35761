#include "profile/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "base/os_library.h"
#include "base/os_memory.h"
#include "base/os_stack.h"

namespace hearth::profile {
namespace {

constexpr int kStackFrames = 24;
constexpr int kUnknownPeer = -1;
constexpr uint64_t kWaitTracedNs = 1000;

// Index of the record of a communicator's n-th collective; -1 if it is not recorded.
int64_t place_of(uint64_t number) {
  uint64_t first = 0;
  uint64_t step = 1;
  for (uint64_t tier = 0; tier < kTiers; ++tier) {
    const uint64_t span = kTier * step;
    if (number < first + span) {
      if ((number - first) % step != 0) return -1;
      return static_cast<int64_t>(tier * kTier + (number - first) / step);
    }
    first += span;
    step *= 16;
  }
  return -1;
}

void put_text(char* to, size_t room, std::string_view text) {
  const size_t bytes = std::min(room - 1, text.size());
  std::memcpy(to, text.data(), bytes);
  to[bytes] = '\0';
}

// The end of a path distinguishes it best.
void put_path(char* to, size_t room, std::string_view path) {
  put_text(to, room, path.size() < room ? path : path.substr(path.size() - room + 1));
}

uint64_t key_of(std::span<const uint64_t> stack) {
  uint64_t key = 14695981039346656037u;  // FNV-1a
  for (const uint64_t address : stack) key = (key ^ address) * 1099511628211u;
  return key | 1;
}

}  // namespace

Recorder::Recorder(const Board& board, PeerIndex self, int machine)
    : board_(board), part_(board.part(self)), head_(*part_.head) {
  if (tracing()) {
    sent_numbers_.resize(board.rank_count());
    arrived_numbers_.resize(board.rank_count());
  }
  head_.machine = static_cast<uint64_t>(machine);
  atomic::store_relaxed(head_.attached, uint64_t{1});
}

void Recorder::begin() {
  if (head_.begun_ns == 0) head_.begun_ns = os::now_ns();
  head_.ended_ns = 0;
}

void Recorder::end(uint64_t pool_bytes) {
  head_.ended_ns = head_.alive_ns = os::now_ns();
  head_.library_bytes = std::max<uint64_t>(head_.library_bytes, pool_bytes);
  head_.memory_bytes_max = os::own_memory_bytes_max();
  // The posts since the last sample are known only by number.
  if (post_draw.call >= 0) {
    call_counts[post_draw.call].calls_without_size += post_draw.drawn - post_draw.left;
    post_draw.drawn = post_draw.left;
  }
}

// Messages.

void Recorder::set_limits(PeerIndex peer, topo::Relation relation, const Limits& limits) {
  PeerCounts& counts = part_.peers[peer];
  counts.relation = static_cast<uint32_t>(relation);
  counts.ring_bytes_max = limits.ring_bytes_max;
  counts.single_copy_bytes_min = limits.single_copy_bytes_min;
  counts.arena_bytes_min = limits.arena_bytes_min;
  counts.limits_valid = 1;
}

void Recorder::set_method(PeerIndex peer, const char* method) {
  if (!has_row(peer)) return;
  PeerCounts& counts = part_.peers[peer];
  counts.single_copy = static_cast<uint32_t>(method != nullptr ? CopyAbility::works : CopyAbility::refused);
  put_text(counts.method, sizeof counts.method, method != nullptr ? method : "");
}

void Recorder::sent(PeerIndex to, int way, uint64_t bytes, int tag, bool sampled) {
  if (!has_row(to)) return;
  PeerCounts& counts = part_.peers[to];
  if (way == 0 && bytes < kLineLengths) {
    ++counts.line_messages[bytes];
    if (sampled) {
      ++counts.line_samples[bytes];
      ++part_.calls[outer_call >= 0 ? outer_call : frequent_call].samples[class_of(bytes)];
    }
  } else {
    WayCounts& sent = counts.sent[way];
    ++sent.messages[class_of(bytes)];
    sent.bytes += bytes;
  }
  if (tracing())
    message_event(EventKind::sent, to, way, bytes, tag, ++sent_numbers_[static_cast<size_t>(to)]);
}

void Recorder::received_sample(uint64_t bytes) {
  const int call = outer_call >= 0 ? outer_call : frequent_call;
  if (call >= 0) ++part_.calls[call].samples[std::min(class_of(bytes), kLineClasses - 1)];
}

void count_drawn_post(int call, uint64_t bytes) {
  static uint32_t chance = 1;
  PostDraw& draw = post_draw;
  CallCounts& counts = call_counts[call];
  counts.calls[class_of(bytes)] += draw.drawn;
  counts.bytes += draw.drawn * bytes;
  if (draw.drawn > 1) counts.drawn_for += draw.drawn - 1;
  draw.call = call;
  draw.posts += draw.drawn;
  draw.drawn = draw.left = draw.posts < kSeenEach ? 1 : draw_interval(chance);
}

void Recorder::fell_back(PeerIndex to, int way, uint64_t bytes) {
  if (!has_row(to)) return;
  constexpr int kBuffers = 2;
  WayCounts& announced = part_.peers[to].sent[way];
  WayCounts& buffers = part_.peers[to].sent[kBuffers];
  --announced.messages[class_of(bytes)];
  announced.bytes -= bytes;
  ++buffers.messages[class_of(bytes)];
  buffers.bytes += bytes;
  ++head_.fallbacks;
}

void Recorder::arrived(PeerIndex from, uint64_t bytes, int tag) {
  if (!has_row(from)) return;
  message_event(EventKind::arrived, from, 0, bytes, tag, ++arrived_numbers_[static_cast<size_t>(from)]);
}

void Recorder::accessed_file(bool writing, uint64_t bytes, uint64_t ns) {
  ++head_.file_accesses;
  (writing ? head_.file_written_bytes : head_.file_read_bytes) += bytes;
  head_.file_ns += ns;
}

void Recorder::unexpected(size_t depth, uint64_t bytes) {
  ++head_.unexpected_messages;
  unexpected_bytes_ += bytes;
  head_.unexpected_depth_max = std::max<uint64_t>(head_.unexpected_depth_max, depth);
  head_.unexpected_bytes_max = std::max(head_.unexpected_bytes_max, unexpected_bytes_);
}

void Recorder::copied(PeerIndex peer, uint64_t bytes, uint64_t begun_ns, uint64_t ended_ns) {
  ++head_.copies;
  head_.copied_bytes += bytes;
  if (begun_ns == 0) return;
  ++head_.timed_copies;
  head_.timed_bytes += bytes;
  head_.timed_ns += ended_ns - begun_ns;
  if (!tracing()) return;
  TraceEvent* event = new_event();
  if (event == nullptr) return;
  event->kind = EventKind::copied;
  event->begun_ns = begun_ns;
  event->lasted_ns = static_cast<uint32_t>(std::min<uint64_t>(ended_ns - begun_ns, UINT32_MAX));
  event->peer = peer;
  event->bytes = bytes;
}

// Waits.

void Recorder::waited(Wait wait, PeerIndex peer, uint64_t ns, bool first, int site) {
  const auto kind = static_cast<size_t>(wait);
  head_.waited_ns[kind] += ns;
  if (first) ++head_.waits[kind];
  if (has_row(peer)) {
    part_.peers[peer].waited_ns[kind] += ns;
    if (first) ++part_.peers[peer].waits[kind];
  } else {
    head_.waited_for_any_ns += ns;
  }
  if (site < 0) return;
  Site& place = head_.sites[site];
  place.waited_ns += ns;
  place.peer = peer;
  place.wait = static_cast<uint32_t>(wait);
}

void Recorder::wait_is_over(Wait wait, PeerIndex peer, uint64_t begun_ns, uint64_t ended_ns) {
  head_.alive_ns = ended_ns;
  uint64_t& longest = head_.longest_ns[static_cast<size_t>(wait)];
  longest = std::max(longest, ended_ns - begun_ns);
  if (!tracing() || ended_ns - begun_ns < kWaitTracedNs) return;
  TraceEvent* event = new_event();
  if (event == nullptr) return;
  const uint64_t lasted = ended_ns - begun_ns;
  event->kind = EventKind::wait;
  event->begun_ns = begun_ns;
  event->lasted_ns = static_cast<uint32_t>(std::min<uint64_t>(lasted, UINT32_MAX));
  event->more = lasted - event->lasted_ns;
  event->what = static_cast<uint8_t>(wait);
  event->peer = peer;
}

int Recorder::note_site() {
  uint64_t stack[kStackFrames];
  const int depth = os::callers(stack);
  std::span<const uint64_t> frames(stack, static_cast<size_t>(depth));
  // The frames of this library come first; the program's follow.
  const void* own_library = os::library_of(reinterpret_cast<const void*>(&put_text)).base;
  size_t first = 0;
  while (first < frames.size() &&
         os::library_of(reinterpret_cast<const void*>(frames[first])).base == own_library)
    ++first;
  frames = frames.subspan(first, std::min<size_t>(frames.size() - first, kFrames));
  if (frames.empty()) return -1;
  const uint64_t key = key_of(frames);
  for (int i = 0; i < kSitesMax; ++i) {
    Site& site = head_.sites[i];
    if (site.key != key && site.key != 0) continue;
    ++site.waits;
    if (site.key == key) return i;
    for (const uint64_t address : frames) {
      // A return address points behind the call; the call itself gives function and line.
      const void* call = reinterpret_cast<const void*>(address - 1);
      const os::LibraryPlace place = os::library_of(call);
      Frame& frame = site.frames[site.frame_count++];
      frame.offset = place.offset;
      put_path(frame.module, sizeof frame.module, place.path);
      put_text(frame.symbol, sizeof frame.symbol, place.symbol);
    }
    // Pairs with the acquire load in read_sites() (summary.cpp): mpiexec may read while the rank runs, so the
    // frames must be visible before the key.
    atomic::store_release(site.key, key);
    return i;
  }
  ++head_.sites_beyond;
  return -1;
}

// Collectives.

CommCounts* Recorder::comm_of(const CommFacts& facts) {
  if (last_comm_ != nullptr && last_comm_->context == facts.context) return last_comm_;
  for (int i = 0; i < comms_used_; ++i) {
    if (part_.comms[i].context == facts.context) return last_comm_ = &part_.comms[i];
  }
  if (comms_used_ == kCommsMax || !board_.reserve_comm(comms_used_)) {
    ++head_.comms_beyond;
    return nullptr;
  }
  CommCounts& comm = part_.comms[comms_used_++];
  comm.context = facts.context;
  comm.leader = facts.leader;
  comm.size = facts.size;
  put_text(comm.name, sizeof comm.name, facts.name);
  comm.used = 1;
  return last_comm_ = &comm;
}

Moment* Recorder::collective(const CommFacts& facts, const CollectiveCall& call) {
  CommCounts* comm = comm_of(facts);
  if (comm == nullptr) return nullptr;
  comm->bytes += call.bytes;
  const int64_t place = place_of(comm->calls++);
  if (place < 0) return nullptr;
  comm->kinds[place] = static_cast<uint16_t>(call.call + 1);
  Moment& moment = comm->moments[place];
  moment.begun_ns = os::now_ns();
  return &moment;
}

// Trace.

TraceEvent* Recorder::new_event() {
  if (head_.trace_written == part_.event_count) {
    ++head_.trace_dropped;
    return nullptr;
  }
  // mpiexec reads after the rank has ended, so an event that was being written then is incomplete.
  TraceEvent* event = &part_.events[head_.trace_written++];
  event->peer = kUnknownPeer;
  static thread_local uint32_t thread_number = 0;  // its number plus 1; 0: none yet
  if (thread_number == 0) thread_number = ++threads_;
  event->thread = thread_number - 1;
  return event;
}

void Recorder::message_event(EventKind kind, PeerIndex peer, int way, uint64_t bytes, int tag,
                             uint64_t number) {
  TraceEvent* event = new_event();
  if (event == nullptr) return;
  event->kind = kind;
  event->begun_ns = os::now_ns();
  event->what = static_cast<uint8_t>(way);
  event->peer = peer;
  event->tag = tag;
  event->more = number;
  event->bytes = bytes;
}

void Recorder::called(int call, uint64_t begun_ns, uint64_t ended_ns) {
  TraceEvent* event = new_event();
  if (event == nullptr) return;
  const uint64_t lasted = ended_ns - begun_ns;
  event->kind = EventKind::call;
  event->call = static_cast<uint16_t>(call);
  event->begun_ns = begun_ns;
  event->lasted_ns = static_cast<uint32_t>(std::min<uint64_t>(lasted, UINT32_MAX));
  event->more = lasted - event->lasted_ns;
}

}  // namespace hearth::profile
