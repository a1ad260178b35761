// A job of several endpoints in one process, over one of the transports: the base of the contract tests.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fake_transport.h"
#include "shm/node.h"
#include "shm/segment.h"
#include "transport/router.h"
#include "transport/shm_transport.h"

namespace hearth::contract {

/// The implementations that every contract test runs over. `network`: one of transport::network_kinds().
/// `mixed`: the even ranks on one machine, the odd ones on another, shared memory and that network behind a
/// router.
enum class Kind { shm, fake, toy, network, mixed };

struct Case {
  Kind kind;
  uint32_t seed;
  size_t network = 0;  // index in network_kinds()
};
std::string case_name(const Case& which);

/// How many seeds a test tries on each implementation, from 1. The toy has no seeds.
struct Seeds {
  uint32_t shm;
  uint32_t fake;
  uint32_t network;
};
std::vector<Case> cases(const Seeds& seeds);
/// Cases of Kind::network and Kind::mixed over the loopback interface, for every row of network_kinds() that
/// works on this machine; a line on stderr gives the reason for each that does not.
std::vector<Case> network_cases(uint32_t seeds);

using Endpoints = std::vector<std::unique_ptr<transport::Transport>>;
Endpoints make_toy_endpoints(int size);  // toy_transport.cpp

class Job {
 public:
  Job(const Case& which, int size);
  /// A job of Kind::shm with this segment.
  explicit Job(const shm::SegmentPlan& plan);

  int size() const { return static_cast<int>(endpoints_.size()); }
  /// For Kind::shm only.
  const shm::Segment& segment() const { return segment_; }
  const shm::Node& node(int rank) const { return nodes_[static_cast<size_t>(rank)]; }
  transport::Transport& endpoint(int rank) { return *endpoints_[static_cast<size_t>(rank)]; }

 private:
  void make_shm();
  void make_networked(const Case& which, int size);

  shm::Segment segment_;
  shm::Segment other_segment_;  // for Kind::mixed
  std::deque<shm::Node> nodes_;
  std::unique_ptr<FakeNetwork> network_;
  Endpoints endpoints_;
};

}  // namespace hearth::contract
