// The pictures of a profile's page, each one SVG element whose colours come from the page's style. Every mark
// has a <title> with its value, which browsers show and screen readers say.
#pragma once

#include <string>

#include "profile/summary.h"

namespace hearth::profile {

/// Each rank's time: waits by kind, long copies, the rest.
std::string time_chart(const Summary& summary);
/// Who sent how much to whom; by bytes or by messages. Many ranks share a square.
std::string matrix_chart(const Summary& summary, bool bytes);
/// The share of each channel beside the even distribution.
std::string channel_chart(const Summary& summary);
/// Messages by length, coloured by protocol.
std::string size_chart(const Summary& summary);
/// One row of small bars: a histogram in a table.
std::string small_bars(const Classes& classes, const std::string& label);

}  // namespace hearth::profile
