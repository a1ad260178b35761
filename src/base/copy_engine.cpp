#include "base/copy_engine.h"

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/copy_dsa.h"
#include "base/copy_loop.h"
#include "base/os_dsa.h"
#include "base/os_machine.h"
#include "base/param.h"
#include "base/vector_set.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hearth::copy {
namespace {

/// Properties of the processor.
struct Processor {
  const VectorLoops* loops[4] = {};  // ends with null
  bool fast_string_copy = false;
  bool is_zen5 = is_amd_zen5();
};

const VectorLoops& loops_of(VectorSet set) {
  if constexpr (kIsX86) {
    if (set == VectorSet::avx512) return avx512_loops();
    if (set == VectorSet::avx2) return avx2_loops();
  }
  return baseline_loops();
}

Processor ask_processor() {
  Processor processor;
  const VectorLoops** next = processor.loops;
  for (const VectorSet set : usable_vector_sets()) *next++ = &loops_of(set);
#if defined(__x86_64__)
  constexpr unsigned kEnhancedRepMovsb = 1u << 9;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  processor.fast_string_copy =
      __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kEnhancedRepMovsb) != 0;
#endif
  return processor;
}

const Processor& processor() {
  static const Processor asked = ask_processor();
  return asked;
}

// Zen 3 drops to a twentieth of its speed if the destination begins less than a line after the source, modulo
// the page size (FSRM there; glibc's bug 30994 has measurements). Zen 5 loses a third and is still as fast as
// the vector loop. If the ranges really are that close, it would read bytes that it has just written, one at
// a time.
bool string_copy_collapses(const void* to, const void* from) {
  const unsigned difference = alignment_difference(to, from);
  return difference > 0 && difference < kLineBytes && !processor().is_zen5;
}

// The stores of one string copy may become visible in any order, but all of them before a later store, so a
// release store publishes them as it does those of a loop (Intel's manual, volume 3, "Fast-String Operation
// and Out-of-Order Stores").
void run_rep_movsb([[maybe_unused]] std::byte* to, [[maybe_unused]] const std::byte* from,
                   [[maybe_unused]] size_t bytes) {
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#endif
}

// Whole lines are stored past the caches, the rest at both ends through them. On x86 the streaming loop ends
// with a fence, because its stores may become visible after later ordinary stores. The caller publishes the
// bytes by a release store (a commit word, the mark of a bounce buffer, a packet), which is an ordinary store
// on x86; without the fence the reader could see it before the bytes.
void run_non_temporal(const VectorLoops& loops, std::byte* to, const std::byte* from, size_t bytes) {
  const size_t head = -reinterpret_cast<uintptr_t>(to) % kLineBytes;
  if (bytes < head + kLineBytes) return run_cached(to, from, bytes);
  const size_t lines = (bytes - head) & ~(kLineBytes - 1);
  copy_line(to, from, head);
  loops.streaming(to + head, from + head, lines);
  copy_line(to + head + lines, from + head + lines, bytes - head - lines);
}

// Between cores without a shared cache, a store to a line that the reader has read must first fetch the line;
// a non-temporal store does not. A copy followed by a read on the other core is 1.3 times as fast at 4 KiB,
// twice at 16 KiB, five times from 64 KiB to 1 MiB (development machine, cores without a shared cache,
// November 2026).
constexpr size_t kFarPastCachesBytesMin = 4096;

// 0: not known. Read once, by the first copy that needs it.
size_t cache_bytes() {
  static const size_t bytes = os::last_level_cache_bytes();
  return bytes;
}

// If source and destination together exceed the last-level cache, the destination is evicted before it is
// read. Measured at half of that cache: 1.3 times as fast, and reading the destination takes no longer.
bool exceeds_caches(uint64_t whole_bytes) {
  constexpr uint64_t kSmallestCacheBytes = 256 * 1024;
  const uint64_t chosen = param::get_bytes(param::Id::copy_past_caches_bytes_min);
  if (chosen != 0) return whole_bytes >= chosen;
  if (whole_bytes < kSmallestCacheBytes / 2) return false;  // a short copy does not ask the system
  return cache_bytes() > 0 && whole_bytes >= cache_bytes() / 2;
}

// Zen 5's string copy overwrites lines without fetching them. Compared with the vector loop
// (docs/notebook/copying.md), from 4 KiB on it takes 0.3 of the time into lines that another processor has
// read without a shared cache, and 0.9 with one. It loses in a receiver's copy of 4 KiB, into own lines that
// do not lie in the L2 cache, and in copies whose source and destination take a quarter of the last-level
// cache or more, because it writes those past the cache. On Zen 3 and Zen 4 it was nowhere faster than the
// loop from 4 KiB to 16 MiB. Not measured on other processors.
bool uses_string_copy(size_t bytes, size_t bytes_min, uint64_t whole_bytes) {
  constexpr size_t kWholeBytesMin = size_t{1} << 20;  // where the size of the cache is not known
  const uint64_t chosen = param::get_bytes(param::Id::copy_string_bytes_min);
  if (chosen == 0 && !processor().is_zen5) return false;
  return processor().fast_string_copy && bytes >= std::max<uint64_t>(bytes_min, chosen) &&
         (whole_bytes < kWholeBytesMin || whole_bytes < cache_bytes() / 8);
}

// One descriptor takes microseconds. Only a device that hangs takes this long; a page that is swapped in may
// take a good part of it.
constexpr uint64_t kDsaPatience_ns = 2'000'000'000;

/// A queue that has just copied two pages, or null. Created at first use; lives as long as the process.
dsa::Mover* find_accelerator() {
  alignas(kLineBytes) static std::byte from[8192];
  alignas(kLineBytes) static std::byte to[8192];
  const os::DsaFolders folders;
  for (const std::string& queue_name : os::dsa_queue_names(folders)) {
    os::OpenDsaQueue opened = os::open_dsa_queue(folders, queue_name);
    if (opened.queue == nullptr) continue;
    for (size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    std::memset(to, 0, sizeof to);
    auto* mover = new dsa::Mover(*opened.queue, opened.transfer_bytes_max, kDsaPatience_ns);
    if (mover->copy(to, from, sizeof from) == sizeof from && std::memcmp(to, from, sizeof from) == 0) {
      static_cast<void>(opened.queue.release());  // belongs to the mover, which is never deleted
      return mover;
    }
    delete mover;
  }
  return nullptr;
}

dsa::Mover* accelerator() {
  static dsa::Mover* const found = find_accelerator();
  return found;
}

void run_dsa(std::byte* to, const std::byte* from, size_t bytes) {
  const size_t done = accelerator()->copy(to, from, bytes);
  if (done < bytes) run_cached(to + done, from + done, bytes - done);
}

}  // namespace

const VectorLoops* const* usable_loops() {
  return processor().loops;
}

void run_cached(void* to, const void* from, size_t bytes) {
  if (bytes <= kLineBytes) return copy_line(to, from, bytes);
  processor().loops[0]->cached(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}

const char* name(Engine engine) {
  switch (engine) {
    case Engine::cached:
      return "cached";
    case Engine::four_pages:
      return "four_pages";
    case Engine::rep_movsb:
      return "rep_movsb";
    case Engine::non_temporal:
      return "non_temporal";
    case Engine::dsa:
      return "dsa";
  }
  return "unknown";
}

bool available(Engine engine) {
  switch (engine) {
    case Engine::cached:
    case Engine::four_pages:
      return true;
    case Engine::rep_movsb:
      return processor().fast_string_copy;
    case Engine::non_temporal:
      return processor().loops[0]->streaming != nullptr;
    case Engine::dsa:
      return accelerator() != nullptr && accelerator()->works();
  }
  return false;
}

void run(Engine engine, void* to_address, const void* from_address, size_t bytes) {
  auto* to = static_cast<std::byte*>(to_address);
  const auto* from = static_cast<const std::byte*>(from_address);
  if (!available(engine)) engine = Engine::cached;
  switch (engine) {
    case Engine::four_pages:
      if (bytes <= kLineBytes) break;
      return processor().loops[0]->four_pages(to, from, bytes);
    case Engine::rep_movsb:
      if (string_copy_collapses(to, from)) break;
      return run_rep_movsb(to, from, bytes);
    case Engine::non_temporal:
      return run_non_temporal(*processor().loops[0], to, from, bytes);
    case Engine::dsa:
      return run_dsa(to, from, bytes);
    case Engine::cached:
      break;
  }
  run_cached(to, from, bytes);
}

// Never returns four_pages: the adaptive copy policy chooses it by measured times (p2p/load_policy.h).
Engine choose(size_t bytes, bool cache_shared) {
  if (bytes < kFarPastCachesBytesMin) return Engine::cached;
  const uint64_t dsa_bytes_min = param::get_bytes(param::Id::copy_dsa_bytes_min);
  if (dsa_bytes_min != 0 && bytes >= dsa_bytes_min && available(Engine::dsa)) return Engine::dsa;
  if (!cache_shared && uses_string_copy(bytes, kStringCopyForReaderBytesMin, bytes)) return Engine::rep_movsb;
  if ((!cache_shared || exceeds_caches(bytes)) && available(Engine::non_temporal))
    return Engine::non_temporal;
  return Engine::cached;
}

Engine choose_for_piece(size_t bytes, uint64_t whole_bytes) {
  return uses_string_copy(bytes, kStringCopyBytesMin, whole_bytes) ? Engine::rep_movsb : choose(bytes, true);
}

// Bounce buffers and stages are short and used again and again, so the length of the message does not matter.
Engine choose_for_reader(size_t bytes, bool cache_shared) {
  if (uses_string_copy(bytes, kStringCopyForReaderBytesMin, bytes)) return Engine::rep_movsb;
  return cache_shared ? Engine::cached : Engine::non_temporal;
}

}  // namespace hearth::copy
