// The processes of other machines that cannot be reached any more, for the engine: what a launcher tells of
// deaths on one machine (shm/liveness.h), the network tells between machines. Each process numbers them as it
// comes to know of them. Under the library's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/peer_index.h"
#include "shm/liveness.h"

namespace hearth::abi {

class LostProcesses final : public shm::Deaths {
 public:
  explicit LostProcesses(int processes) : numbers_(static_cast<size_t>(processes)) {}

  /// `words`: what is said of it.
  void note(PeerIndex process, std::string words);

  uint32_t deaths() const override { return static_cast<uint32_t>(words_.size()); }
  uint32_t death_of(int rank) const override { return numbers_[static_cast<size_t>(rank)]; }
  void describe(int rank, char* text, size_t bytes) const override;
  /// Launchers of others decide by themselves.
  void go_on() const override {}

 private:
  std::vector<uint32_t> numbers_;   // by process; 0: not lost
  std::vector<std::string> words_;  // by number
};

}  // namespace hearth::abi
