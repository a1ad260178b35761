/* Shared by the programs of this folder: windows of every flavor over memory of every origin, with one
 * notation for positions in them, and epochs in which each rank may access every rank, by all kinds of
 * synchronization. */
#ifndef TESTS_MULTI_RMA_WINDOW_H
#define TESTS_MULTI_RMA_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "../coll/check.h"

/* A call that has to succeed: the error handler of a window would end the job without the name of the
 * test. */
#define DO(call)                                                         \
  do {                                                                   \
    const int code_ = (call);                                            \
    CHECK(code_ == MPI_SUCCESS, "%s fails: %s", #call, words_of(code_)); \
  } while (0)

enum { kRanksMax = 64, kStackBytesMax = 128 * 1024, kStaticBytesMax = 16 << 20 };

/* The origin of a window and of its memory. */
typedef enum {
  kOnStatic,
  kOnHeap,
  kOnStack,
  kOnAllocMem,
  kAllocate,
  kShared,
  kSharedApart, /* alloc_shared_noncontig */
  kDynamic,
  kKinds
} Kind;

static const char* const kind_names_[kKinds] = {"create on static memory",
                                                "create on the heap",
                                                "create on the stack",
                                                "create on MPI_Alloc_mem",
                                                "allocate",
                                                "allocate_shared",
                                                "allocate_shared apart",
                                                "dynamic"};

typedef enum { kFence, kPostStart, kLock, kLockAll, kForms } Form;

static const char* const form_names_[kForms] = {"fence", "post-start", "lock", "lock_all"};

typedef struct {
  MPI_Win win;
  Kind kind;
  MPI_Aint bytes; /* on every rank */
  char* memory;
  MPI_Aint bases[kRanksMax]; /* displacements of a dynamic window are addresses */
  int units[kRanksMax];
} Window;

static inline const char* words_of(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

static inline void pause_us(long us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

/* Whether all ranks are on one machine, which windows of shared memory require. */
static inline int all_share_memory(void) {
  MPI_Comm near;
  int count;
  DO(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
  MPI_Comm_size(near, &count);
  MPI_Comm_free(&near);
  int fewest = count;
  MPI_Allreduce(&count, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return fewest == size_;
}

/* The displacement of the byte at `offset` in the target's memory; `offset` is a multiple of 8. */
static inline MPI_Aint place(const Window* window, int target, MPI_Aint offset) {
  if (window->kind == kDynamic) return MPI_Aint_add(window->bases[target], offset);
  CHECK(offset % window->units[target] == 0, "offset %ld is no multiple of the unit", (long)offset);
  return offset / window->units[target];
}

static inline MPI_Win new_window(Window* window, char* memory) {
  static char fixed[kStaticBytesMax];
  const MPI_Aint bytes = window->bytes;
  const int unit = window->units[rank_];
  MPI_Info info = MPI_INFO_NULL;
  MPI_Win win = MPI_WIN_NULL;
  window->memory = memory;
  if (window->kind == kOnStatic) window->memory = fixed;
  if (window->kind == kOnHeap || window->kind == kDynamic) window->memory = malloc((size_t)bytes);
  if (window->kind == kOnAllocMem) DO(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &window->memory));
  if (window->kind == kSharedApart) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
  }
  if (window->kind == kAllocate) {
    DO(MPI_Win_allocate(bytes, unit, info, MPI_COMM_WORLD, &window->memory, &win));
  } else if (window->kind == kShared || window->kind == kSharedApart) {
    DO(MPI_Win_allocate_shared(bytes, unit, info, MPI_COMM_WORLD, &window->memory, &win));
  } else if (window->kind == kDynamic) {
    DO(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
    DO(MPI_Win_attach(win, window->memory, bytes));
  } else {
    DO(MPI_Win_create(window->memory, bytes, unit, info, MPI_COMM_WORLD, &win));
  }
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return win;
}

/* Encloses accesses of this rank to its own memory, unless fences already exclude other ranks. */
static inline void own_begin(Window* window) {
  DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window->win));
}
static inline void own_end(Window* window) {
  DO(MPI_Win_unlock(rank_, window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
}

/* Runs `body` with a window of this kind. The memory is aligned to at least 8 bytes and filled with `fill`;
 * units differ by rank and divide 8. */
static inline void with_window(Kind kind, MPI_Aint bytes, int fill, void (*body)(Window*)) {
  _Alignas(64) char on_stack[kStackBytesMax];
  Window window = {.kind = kind, .bytes = bytes};
  CHECK(size_ <= kRanksMax && bytes <= kStaticBytesMax, "too many ranks, or bytes");
  if ((kind == kShared || kind == kSharedApart) && !all_share_memory()) return;
  if (kind == kOnStack && bytes > kStackBytesMax) return;
  for (int rank = 0; rank < size_; ++rank) window.units[rank] = 1 << (rank + (int)kind) % 4;
  window.win = new_window(&window, on_stack);
  MPI_Aint base = 0;
  MPI_Get_address(window.memory, &base);
  DO(MPI_Allgather(&base, 1, MPI_AINT, window.bases, 1, MPI_AINT, MPI_COMM_WORLD));
  own_begin(&window);
  memset(window.memory, fill, (size_t)bytes);
  own_end(&window);
  body(&window);
  if (kind == kDynamic) {
    MPI_Barrier(MPI_COMM_WORLD);
    DO(MPI_Win_detach(window.win, window.memory));
  }
  DO(MPI_Win_free(&window.win));
  CHECK(window.win == MPI_WIN_NULL, "MPI_Win_free leaves a handle");
  if (kind == kOnHeap || kind == kDynamic) free(window.memory);
  if (kind == kOnAllocMem) MPI_Free_mem(window.memory);
}

/* From here on each rank may access every rank. Called by all ranks. */
static inline void epoch_begin(Window* window, Form form) {
  MPI_Group all;
  if (form == kFence) DO(MPI_Win_fence(MPI_MODE_NOPRECEDE, window->win));
  if (form == kPostStart) {
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    DO(MPI_Win_post(all, 0, window->win));
    DO(MPI_Win_start(all, 0, window->win));
    MPI_Group_free(&all);
  }
  for (int i = 0; form == kLock && i < size_; ++i)
    DO(MPI_Win_lock(MPI_LOCK_SHARED, (rank_ + i) % size_, 0, window->win));
  if (form == kLockAll) DO(MPI_Win_lock_all(0, window->win));
}

/* All operations of all ranks are complete, and each rank may read its own memory until the next epoch,
 * before which a barrier is needed. */
static inline void epoch_end(Window* window, Form form) {
  if (form == kFence) DO(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
  if (form == kPostStart) {
    DO(MPI_Win_complete(window->win));
    DO(MPI_Win_wait(window->win));
  }
  for (int i = 0; form == kLock && i < size_; ++i) DO(MPI_Win_unlock((rank_ + i) % size_, window->win));
  if (form == kLockAll) DO(MPI_Win_unlock_all(window->win));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  if (form == kLock || form == kLockAll) {
    DO(MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window->win));
    DO(MPI_Win_unlock(rank_, window->win));
  }
}

#endif
