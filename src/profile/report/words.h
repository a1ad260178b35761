// Formatting of numbers for the reports.
#pragma once

#include <cstdint>
#include <string>

#include "profile/report/summary.h"

namespace hearth::profile {

/// "1.5 MiB", "48 B".
std::string bytes_words(uint64_t bytes);
/// "3.2 ms".
std::string time_words(double seconds);
/// "41 %".
std::string percent_words(double share);
/// "12.3 M".
std::string count_words(uint64_t count);
/// "1 KiB to 2 KiB" of a size class.
std::string class_words(int size_class);
/// "ranks that share an L3 cache".
std::string channel_words(topo::Relation relation);
/// One line for each protocol that a pair of ranks may use, with the reason.
std::string route_words(const Route& route);
/// "solve+0x1a (program)", innermost first.
std::string frame_words(const Frame& frame);
/// part / whole; 0 if `whole` is 0.
double share_of(uint64_t part, uint64_t whole);
/// The share of traffic between machines, next to its share under an even distribution.
std::string machines_words(const Summary& summary);
/// The cost of profiling, and its share of the run time.
std::string overhead_words(const Summary& summary);

}  // namespace hearth::profile
