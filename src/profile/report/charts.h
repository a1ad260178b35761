// Charts of the profile page, one SVG element each; the page's style defines the colours. Every mark has a
// <title> with its value, for browsers and screen readers.
#pragma once

#include <string>

#include "profile/report/summary.h"

namespace hearth::profile {

/// Each rank's time: waits by kind, long copies, the rest.
std::string time_chart(const Summary& summary);
/// Traffic between pairs of ranks, by bytes or by messages. In large jobs a square covers several ranks.
std::string matrix_chart(const Summary& summary, bool bytes);
/// Share of each channel, next to its share under an even distribution.
std::string channel_chart(const Summary& summary);
/// Messages by length, coloured by protocol.
std::string size_chart(const Summary& summary);
/// One row of small bars: a histogram in a table.
std::string small_bars(const Classes& classes, const std::string& label);

}  // namespace hearth::profile
