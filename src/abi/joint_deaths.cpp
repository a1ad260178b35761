#include "abi/joint_deaths.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace hearth::abi {

void JointDeaths::note(PeerIndex process, std::string words) {
  if (death_of(process) == 0) foreign_.push_back({process, home_.deaths(), std::move(words)});
}

void JointDeaths::forget(PeerIndex process) {
  for (Foreign& death : foreign_) {
    if (death.process == process) death.process = -1;
  }
}

uint32_t JointDeaths::death_of(int process) const {
  if (process < home_size_) {
    const uint32_t number = home_.death_of(process);
    if (number == 0) return 0;
    const auto before = std::count_if(foreign_.begin(), foreign_.end(),
                                      [number](const Foreign& death) { return death.home_before < number; });
    return number + static_cast<uint32_t>(before);
  }
  for (size_t i = 0; i < foreign_.size(); ++i) {
    if (foreign_[i].process == process) return foreign_[i].home_before + static_cast<uint32_t>(i) + 1;
  }
  return 0;
}

uint32_t JointDeaths::in_segment(uint32_t count) const {
  uint32_t foreign = 0;
  for (size_t i = 0; i < foreign_.size(); ++i) {
    if (foreign_[i].home_before + static_cast<uint32_t>(i) + 1 <= count) ++foreign;
  }
  return count - foreign;
}

void JointDeaths::describe(int process, char* text, size_t bytes) const {
  if (process < home_size_) return home_.describe(process, text, bytes);
  const auto death = std::find_if(foreign_.begin(), foreign_.end(),
                                  [process](const Foreign& one) { return one.process == process; });
  std::snprintf(text, bytes, "%s", death == foreign_.end() ? "" : death->words.c_str());
}

}  // namespace hearth::abi
