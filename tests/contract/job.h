// A job of several endpoints inside one process, over one of the transports: what the contract tests run on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fake_transport.h"
#include "shm/segment.h"
#include "transport/shm_transport.h"

namespace hearth::contract {

/// The implementations that every contract test runs over.
enum class Kind { shm, fake };

struct Case {
  Kind kind;
  uint32_t seed;
};

inline std::string case_name(const Case& which) {
  return (which.kind == Kind::shm ? "shm_" : "fake_") + std::to_string(which.seed);
}

class Job {
 public:
  Job(Kind kind, int size, uint32_t seed);

  int size() const { return static_cast<int>(endpoints_.size()); }
  /// Of Kind::shm only.
  const shm::Segment& segment() const { return segment_; }
  transport::Transport& endpoint(int rank) { return *endpoints_[static_cast<size_t>(rank)]; }

 private:
  shm::Segment segment_;
  std::unique_ptr<FakeNetwork> network_;
  std::vector<std::unique_ptr<transport::Transport>> endpoints_;
};

}  // namespace hearth::contract
