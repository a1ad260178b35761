#include "abi/lost_processes.h"

#include <cstdio>
#include <utility>

namespace hearth::abi {

void LostProcesses::note(PeerIndex process, std::string words) {
  uint32_t& number = numbers_[static_cast<size_t>(process)];
  if (number != 0) return;
  words_.push_back(std::move(words));
  number = deaths();
}

void LostProcesses::describe(int rank, char* text, size_t bytes) const {
  std::snprintf(text, bytes, "%s", words_[numbers_[static_cast<size_t>(rank)] - 1].c_str());
}

}  // namespace hearth::abi
