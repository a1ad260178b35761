#include "job.h"

#include <cstdio>

#include "base/check.h"
#include "base/param.h"

namespace hearth::contract {
namespace {

Status open_on_loopback(PeerIndex self, int size, std::unique_ptr<transport::Network>& network) {
  param::set_text(static_cast<size_t>(param::Id::fabric_interface), "lo");
  transport::NetworkSetup setup;
  setup.self = self;
  setup.size = size;
  setup.key = 0x5eed;
  setup.lost = [](void*, PeerIndex peer, const char* why) {
    std::fprintf(stderr, "lost %d: %s\n", peer, why);
    HEARTH_CHECK(false);
  };
  return transport::open_fabric(setup, network);
}

}  // namespace

std::vector<Case> fabric_cases(uint32_t seeds) {
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer does not see libfabric's own threads: such tests would be slow and show nothing.
  static_cast<void>(seeds);
  return {};
#else
  std::unique_ptr<transport::Network> tried;
  if (!open_on_loopback(0, 1, tried).ok()) {
    std::fprintf(stderr, "nothing is tested over a network: %s\n", last_failure_text());
    return {};
  }
  std::vector<Case> cases;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    cases.push_back({Kind::fabric, seed});
    cases.push_back({Kind::mixed, seed});
  }
  return cases;
#endif
}

Job::Job(Kind kind, int size, uint32_t seed) {
  if (kind == Kind::fake) {
    network_ = std::make_unique<FakeNetwork>(size, seed);
    for (int rank = 0; rank < size; ++rank) {
      endpoints_.push_back(std::make_unique<FakeTransport>(*network_, rank));
    }
    return;
  }
  std::vector<std::unique_ptr<transport::Network>> networks(static_cast<size_t>(size));
  if (kind == Kind::fabric || kind == Kind::mixed) {
    for (int rank = 0; rank < size; ++rank) {
      HEARTH_CHECK(open_on_loopback(rank, size, networks[static_cast<size_t>(rank)]).ok());
    }
    for (const auto& one : networks) {
      for (int rank = 0; rank < size; ++rank) {
        one->introduce(rank, networks[static_cast<size_t>(rank)]->address());
      }
    }
  }
  if (kind == Kind::fabric) {
    for (auto& one : networks) endpoints_.push_back(std::move(one));
    return;
  }
  shm::SegmentPlan plan;
  plan.rank_count = static_cast<uint32_t>(size);
  plan.ring_lines = 64;  // small, so that rings often wrap and fill
  plan.cell_bytes = 256;
  plan.cell_count = 21;
  plan.region_count = 1;
  plan.pipeline_bytes = 4096;
  HEARTH_CHECK(shm::Segment::create(plan, segment_).ok());
  if (kind == Kind::mixed) {
    HEARTH_CHECK(shm::Segment::create(plan, other_segment_).ok());
    for (int rank = 0; rank < size; ++rank) {
      std::vector<int> places;
      for (int other = 0; other < size; ++other) places.push_back((rank + other) % 2 == 0 ? other / 2 : -1);
      endpoints_.push_back(std::make_unique<transport::Router>(
          std::make_unique<transport::ShmTransport>(rank % 2 == 0 ? segment_ : other_segment_, rank / 2),
          std::move(networks[static_cast<size_t>(rank)]), places));
    }
    return;
  }
  for (int rank = 0; rank < size; ++rank) {
    endpoints_.push_back(std::make_unique<transport::ShmTransport>(segment_, rank));
  }
}

Job::Job(const shm::SegmentPlan& plan) {
  HEARTH_CHECK(shm::Segment::create(plan, segment_).ok());
  for (int rank = 0; rank < static_cast<int>(plan.rank_count); ++rank) {
    endpoints_.push_back(std::make_unique<transport::ShmTransport>(segment_, rank));
  }
}

}  // namespace hearth::contract
