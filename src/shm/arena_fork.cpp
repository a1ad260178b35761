// What a fork does to arenas. Memory that is mapped shared stays shared with a child: it would write into its
// parent's data. So the child replaces its window by a copy of its own, in the same place, before fork()
// returns there, and the parent waits until that is done: what it changes afterwards does not show.
//
//   before:  lock, a pipe
//   parent:  reads the pipe until a byte comes, or its end when the child is gone; unlock
//   child:   copies the pages that exist; a byte into the pipe; unlock
//
// Where there is no memory for a copy the child finds nothing there that it can touch, which is well for one
// that executes another program.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/atomic.h"
#include "base/check.h"
#include "base/immortal.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "shm/arena.h"

namespace hearth::shm {
namespace {

// Of so little memory nobody asks whether there is enough.
constexpr uint64_t kSmallBytes = uint64_t{64} << 20;

struct Watch {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // from before a fork until both sides are through
  std::vector<Arena*> arenas;
  os::Pipe pipe;      // open while there is something to copy
  bool copy = false;  // there is, and it can be
};
Immortal<Watch> the_watch;

void complain(uint64_t bytes, const char* why) {
  std::fprintf(stderr,
               "hearth: fork: the %llu MiB of this process that other ranks can reach are not copied for the "
               "child (%s): it may start another program, but not use that memory\n",
               static_cast<unsigned long long>(bytes >> 20), why);
}

[[noreturn]] void refuse_stack() {
  std::fputs(
      "hearth: fork by a thread or coroutine whose stack other ranks can reach, as malloc gave it: parent "
      "and "
      "child would share it. Remedy: mpiexec --no-share-heap, or a stack of mmap\n",
      stderr);
  std::abort();
}

void before_fork() {
  Watch& watch = the_watch.value;
  pthread_mutex_lock(&watch.mutex);
  uint64_t bytes = 0;
  for (const Arena* arena : watch.arenas) {
    // Parent and child would both return to it, before anything can be copied.
    if (arena->holds(&bytes, sizeof bytes)) refuse_stack();
    bytes += arena->bytes_to_copy();
  }
  watch.copy = bytes > 0;
  if (!watch.copy) return;
  if (bytes > kSmallBytes && bytes > os::available_memory_bytes()) {
    complain(bytes, "there is not enough memory");
    watch.copy = false;
  } else if (!os::make_pipe(watch.pipe)) {
    complain(bytes, std::strerror(errno));
    watch.copy = false;
  }
}

void in_parent() {
  Watch& watch = the_watch.value;
  if (watch.copy) {
    watch.pipe.write_end.reset();
    char byte = 0;
    os::read_some(watch.pipe.read_end.number(), &byte, 1);
    watch.pipe.read_end.reset();
  }
  pthread_mutex_unlock(&watch.mutex);
}

void in_child() {
  Watch& watch = the_watch.value;
  for (Arena* arena : watch.arenas) arena->become_private(watch.copy);
  if (watch.copy) {
    const char done = 1;
    os::write_some(watch.pipe.write_end.number(), &done, 1);
    watch.pipe.write_end.reset();
    watch.pipe.read_end.reset();
  }
  pthread_mutex_unlock(&watch.mutex);
}

class WatchGuard {
 public:
  WatchGuard() { pthread_mutex_lock(&the_watch.value.mutex); }
  ~WatchGuard() { pthread_mutex_unlock(&the_watch.value.mutex); }
  WatchGuard(const WatchGuard&) = delete;
  WatchGuard& operator=(const WatchGuard&) = delete;
};

}  // namespace

void watch_forks_for(Arena& arena) {
  const WatchGuard guard;
  std::vector<Arena*>& arenas = the_watch.value.arenas;
  if (std::find(arenas.begin(), arenas.end(), &arena) != arenas.end()) return;
  static const bool watching = os::watch_forks(before_fork, in_parent, in_child);
  HEARTH_CHECK(watching);
  arenas.push_back(&arena);
}

void ignore_forks_for(const Arena& arena) {
  const WatchGuard guard;
  std::erase(the_watch.value.arenas, &arena);
}

// What was handed out and touched, as offsets in the window.
template <class Action>
void Arena::for_each_piece_with_pages(Action action) const {
  const uint64_t begin = file_offset();
  const uint64_t end = begin + atomic::load_relaxed(used_);
  uint64_t first = 0;
  uint64_t last = 0;
  for (uint64_t from = begin; from < end && os::next_data(file_.number(), from, first, last); from = last) {
    if (first >= end) break;
    action(first - begin, std::min(last, end) - begin);
  }
}

bool Arena::copy_into(std::byte* copy) const {
  if (!has_file()) return false;
  for_each_piece_with_pages(
      [this, copy](uint64_t from, uint64_t to) { std::memcpy(copy + from, base_ + from, to - from); });
  return true;
}

uint64_t Arena::bytes_to_copy() const {
  uint64_t bytes = 0;
  if (private_ || !has_file()) return bytes;
  for_each_piece_with_pages([&bytes](uint64_t from, uint64_t to) { bytes += to - from; });
  return bytes;
}

void Arena::become_private(bool copy) {
  if (base_ == nullptr || private_) return;
  private_ = true;
  const bool used = atomic::load_relaxed(used_) > 0;
  auto* memory = copy || !used ? static_cast<std::byte*>(os::map_private(window_bytes_)) : nullptr;
  const bool ready = memory != nullptr && (!used || copy_into(memory));
  if (!ready || !os::move_over(memory, base_, window_bytes_)) {
    HEARTH_CHECK(os::make_unreachable(base_, window_bytes_));
    reachable_ = false;
    atomic::store_relaxed(used_, uint64_t{window_bytes_});  // grow() has nothing more to give
  }
  for (std::byte*& window : windows_) {
    if (window != nullptr && window != base_) os::release(window, window_bytes_);
    if (window != base_) window = nullptr;
  }
  unreachable_.assign(unreachable_.size(), true);
  file_.reset();
}

}  // namespace hearth::shm
