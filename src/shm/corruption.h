// Corruption checks. A word of shared memory has a value that no rank writes, so a program of the job has
// overwritten it by mistake. The process that reads such a word reports it and stops, because no word of the
// segment can be trusted.
//
// Any thread. The message is built in private memory.
#pragma once

#include "base/status.h"

namespace hearth::shm {

/// Ends the job, or throws (tests). Must not return.
using CorruptionHandler = void (*)(Status);
/// Without a handler, report_corruption() prints the message on standard error and aborts.
void set_corruption_handler(CorruptionHandler handler);

/// Reports the value found and the range allowed: "rank 3's ring to rank 1 holds a packet of 99999 bytes
/// where at most 56 can lie". Adds the likely cause and the remedy.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void report_corruption(const char* format,
                                                                                         ...);

}  // namespace hearth::shm
