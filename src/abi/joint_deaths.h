// The deaths that this process has detected: those of its own job, from the registry of the job, and those of
// processes of other jobs, which this process detects itself (abi/bridges.h). Each process numbers them in
// the order of their detection; without deaths in other jobs the numbers are those of the job's registry.
// Under the library's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/peer_index.h"
#include "shm/liveness.h"

namespace hearth::abi {

class JointDeaths final : public shm::Deaths {
 public:
  /// `home`: the registry of the own job, whose processes are the first `home_size`. Pre: it outlives this.
  JointDeaths(const shm::Deaths& home, PeerIndex home_size) : home_(home), home_size_(home_size) {}

  /// Records the death of a process of another job. `words`: the reason, for error messages.
  void note(PeerIndex process, std::string words);
  /// Called when the index of the process may be reused; its death keeps its number.
  void forget(PeerIndex process);

  uint32_t deaths() const override { return home_.deaths() + static_cast<uint32_t>(foreign_.size()); }
  uint32_t death_of(int process) const override;
  void describe(int process, char* text, size_t bytes) const override;
  void go_on() const override { home_.go_on(); }
  uint32_t in_segment(uint32_t count) const override;

 private:
  struct Foreign {
    PeerIndex process;     // negative: forgotten
    uint32_t home_before;  // deaths of the own job that precede it
    std::string words;
  };

  const shm::Deaths& home_;
  const PeerIndex home_size_;
  std::vector<Foreign> foreign_;  // in the order of their numbers
};

}  // namespace hearth::abi
