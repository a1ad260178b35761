// The only file that names memory orders. Shared structures hold plain integers; every access to a word that
// another thread or process may access goes through these functions. docs/design/memory_model.md argues each
// pair; a comment at each use names the line it pairs with.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth::atomic {

template <class T>
inline T load_relaxed(const T& word) {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
}
template <class T>
inline T load_acquire(const T& word) {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}
template <class T>
inline void store_relaxed(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}
template <class T>
inline void store_release(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}
template <class T>
inline T exchange(T& word, T value) {
  return std::atomic_ref<T>(word).exchange(value, std::memory_order_acq_rel);
}
template <class T>
inline T fetch_add(T& word, T value) {
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_acq_rel);
}
template <class T>
inline T fetch_or(T& word, T value) {
  return std::atomic_ref<T>(word).fetch_or(value, std::memory_order_acq_rel);
}
template <class T>
inline T fetch_and(T& word, T value) {
  return std::atomic_ref<T>(word).fetch_and(value, std::memory_order_acq_rel);
}
/// Stores `desired` if the word equals `expected`; returns whether it did.
template <class T>
inline bool compare_exchange(T& word, T expected, T desired) {
  return std::atomic_ref<T>(word).compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                          std::memory_order_acquire);
}

/// Orders every earlier load before every later load and store.
inline void fence_acquire() {
  std::atomic_thread_fence(std::memory_order_acquire);
}
/// Orders every earlier load and store before every later store.
inline void fence_release() {
  std::atomic_thread_fence(std::memory_order_release);
}
/// Orders every earlier load and store before every later one, for this and all other processors.
inline void fence_full() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// The same, directly after an atomic read-modify-write operation, which is such a fence on x86.
inline void fence_full_after_update() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  fence_full();
#endif
}

/// Keeps the compiler, not the processor, from reordering: the light half of an asymmetric fence whose
/// heavy half is os::membarrier().
inline void fence_compiler() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Tells the processor that this is a busy-wait loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace hearth::atomic
