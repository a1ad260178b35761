#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/os_io.h"

namespace hearth::tools {
namespace {

constexpr size_t kWidth = 30;

}  // namespace

Progress::Progress(size_t steps) : steps_(std::max<size_t>(steps, 1)), shown_(os::is_terminal(2)) {}

Progress::~Progress() {
  clear();
}

void Progress::show(const std::string& text) {
  if (!shown_) return;
  const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(steps_));
  const auto filled = static_cast<size_t>(std::lround(share * kWidth));
  fmt::print(stderr, "\r\033[K[{:<{}}] {:3.0f} %  {}", std::string(filled, '#'), kWidth, 100 * share, text);
  std::fflush(stderr);
}

void Progress::clear() const {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

}  // namespace hearth::tools
