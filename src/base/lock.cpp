#include "base/lock.h"

#include "base/os_wait.h"

namespace hearth {
namespace {

// The address of a thread-local variable identifies its thread; never 0.
thread_local char self_mark;
uint64_t self() {
  return reinterpret_cast<uint64_t>(&self_mark);
}

constexpr int kStandBackYields = 64;

}  // namespace

void LibraryLock::lock_slow() {
  // Only the owner itself can read its own mark here, so a stale value is never mistaken for it.
  if (atomic::load_relaxed(owner_) == self()) {
    ++depth_;
    return;
  }
  if (pthread_mutex_trylock(&mutex_) != 0) {
    atomic::fetch_add(waiters_, 1u);
    pthread_mutex_lock(&mutex_);
    atomic::fetch_add(waiters_, ~0u);
  }
  atomic::store_relaxed(owner_, self());
  atomic::store_relaxed(turns_, turns_ + 1);
  depth_ = 1;
}

void LibraryLock::unlock_slow() {
  if (--depth_ > 0) return;
  atomic::store_relaxed(owner_, uint64_t{0});
  pthread_mutex_unlock(&mutex_);
}

uint32_t LibraryLock::release_all() {
  if (!enabled) return 0;
  const uint32_t depth = depth_;
  depth_ = 1;
  unlock_slow();
  return depth;
}

void LibraryLock::acquire_all(uint32_t depth) {
  if (!enabled) return;
  lock_slow();
  depth_ = depth;
}

void LibraryLock::yield_lock_slow() {
  if (atomic::load_relaxed(waiters_) == 0) return;
  const uint32_t turn = turns_;
  const uint32_t depth = release_all();
  for (int yields = 0; yields < kStandBackYields && atomic::load_relaxed(turns_) == turn &&
                       atomic::load_relaxed(waiters_) != 0;
       ++yields) {
    os::yield_processor();
  }
  acquire_all(depth);
}

}  // namespace hearth
