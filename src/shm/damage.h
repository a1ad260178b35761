// Shared memory that holds what no rank writes: some program of the job has written there by mistake. Whoever
// reads such a word says so and goes no further, since nothing in the segment can be believed any more.
//
// Called by whoever reads the segment, on any thread. The words live in this process's own memory.
#pragma once

#include "base/status.h"

namespace hearth::shm {

/// Ends the job, or throws (tests). Must not return.
using DamageHandler = void (*)(Status);
/// As long as there is none, the process says it on standard error and aborts.
void set_damage_handler(DamageHandler handler);

/// "rank 3's ring to rank 1 holds a packet of 99999 bytes where at most 56 can lie": what is there, and what
/// can be. The likely cause and the remedy are added.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void damaged(const char* format, ...);

}  // namespace hearth::shm
