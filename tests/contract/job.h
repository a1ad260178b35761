// A job of several endpoints in one process, over one of the transports: the base of the contract tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fake_transport.h"
#include "shm/segment.h"
#include "transport/router.h"
#include "transport/shm_transport.h"

namespace hearth::contract {

/// The implementations that every contract test runs over.
/// `mixed`: the even ranks on one machine, the odd ones on another, both transports behind a router.
enum class Kind { shm, fake, fabric, mixed };

struct Case {
  Kind kind;
  uint32_t seed;
};

inline std::string case_name(const Case& which) {
  constexpr const char* kNames[] = {"shm_", "fake_", "fabric_", "mixed_"};
  return kNames[static_cast<int>(which.kind)] + std::to_string(which.seed);
}

/// Cases of Kind::fabric and Kind::mixed over the loopback interface, with seeds from 1 to `seeds`. Without
/// libfabric: none, and a line on stderr with the reason.
std::vector<Case> fabric_cases(uint32_t seeds);

class Job {
 public:
  Job(Kind kind, int size, uint32_t seed);
  /// A job of Kind::shm with this segment.
  explicit Job(const shm::SegmentPlan& plan);

  int size() const { return static_cast<int>(endpoints_.size()); }
  /// For Kind::shm only.
  const shm::Segment& segment() const { return segment_; }
  transport::Transport& endpoint(int rank) { return *endpoints_[static_cast<size_t>(rank)]; }

 private:
  shm::Segment segment_;
  shm::Segment other_segment_;  // for Kind::mixed
  std::unique_ptr<FakeNetwork> network_;
  std::vector<std::unique_ptr<transport::Transport>> endpoints_;
};

}  // namespace hearth::contract
