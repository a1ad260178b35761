// Long copies: the ways in which a processor, or an engine beside it, moves bytes within the memory that this
// process sees, and which of them suits a copy. base/copy.h copies short things in place; this is for what is
// worth a choice. Called by whoever moves payload, from any thread, at any time; owns nothing but what it
// found out about the processor at the first use. Memory may be private or shared with other processes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::copy {

enum class Engine : uint8_t {
  cached,        // vector loop through the caches, with prefetch of the source; there is always one
  four_pages,    // vector loop that reads four pages in turns: quicker out of another processor's cache
  rep_movsb,     // the processor's own string copy
  non_temporal,  // vector loop whose stores go past the caches
  dsa,           // Intel's Data Streaming Accelerator, beside the processor (base/copy_dsa.h)
};
constexpr int kEngineCount = 5;

/// "cached", "rep_movsb", ...: what reports and `hearth info` print.
const char* name(Engine engine);

/// Whether there is such an engine, and for dsa: whether it still works. The first question about dsa looks
/// for a work queue and copies a little with it. What is not available is replaced by `cached` in run().
bool available(Engine engine);

/// Copies like memcpy: the two ranges do not overlap, nothing outside them is read or written. Where an
/// engine would collapse (rep_movsb at some alignments) the cached loop takes its place. Afterwards a release
/// store of the caller publishes the bytes, whichever engine wrote them.
void run(Engine engine, void* to, const void* from, size_t bytes);

/// run() of Engine::cached, without a question: what choose() gives for anything but long copies.
void run_cached(void* to, const void* from, size_t bytes);

/// How far the destination lies behind the source within a page of 4096 bytes: what run() and choose() look
/// at.
inline unsigned alignment_difference(const void* to, const void* from) {
  return static_cast<unsigned>((reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % 4096);
}

/// The engine for one copy. `cache_shared`: whoever reads the destination next, and has read it before,
/// shares a cache with the processor that copies, as a receiver does that copies for itself. The limits are
/// rows of base/param.def or stand where they were measured, in copy_engine.cpp.
Engine choose(size_t bytes, unsigned alignment_difference, bool cache_shared);

}  // namespace hearth::copy
