// The processes of other machines that cannot be reached any more. Between machines, the network reports them
// to the engine; on one machine, the launcher reports deaths (shm/liveness.h). Each process numbers them in
// the order in which it detects them. Under the library's lock.
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

  /// `words`: the reason, for error messages.
  void note(PeerIndex process, std::string words);

  uint32_t deaths() const override { return static_cast<uint32_t>(words_.size()); }
  uint32_t death_of(int rank) const override { return numbers_[static_cast<size_t>(rank)]; }
  void describe(int rank, char* text, size_t bytes) const override;
  /// Another library's launcher decides on its own whether to end the job.
  void go_on() const override {}

 private:
  std::vector<uint32_t> numbers_;   // by process; 0: reachable
  std::vector<std::string> words_;  // by number
};

}  // namespace hearth::abi
