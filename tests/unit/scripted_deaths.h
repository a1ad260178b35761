#pragma once
#include <cstdio>
#include <vector>

#include "shm/liveness.h"

namespace hearth::shm {

/// A registry of a job in which ranks die when a test says so.
class ScriptedDeaths final : public Deaths {
 public:
  void add(int rank) { dead_.push_back(rank); }
  uint32_t deaths() const override { return static_cast<uint32_t>(dead_.size()); }
  uint32_t death_of(int rank) const override {
    for (size_t i = 0; i < dead_.size(); ++i) {
      if (dead_[i] == rank) return static_cast<uint32_t>(i) + 1;
    }
    return 0;
  }
  void describe(int rank, char* text, size_t bytes) const override {
    std::snprintf(text, bytes, "process %d has died", rank);
  }
  void go_on() const override {}

 private:
  std::vector<int> dead_;
};

}  // namespace hearth::shm
