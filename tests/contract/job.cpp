#include "job.h"

#include <cstdio>

#include "base/check.h"
#include "base/param.h"

namespace hearth::contract {
namespace {

constexpr uint32_t kToySeed = 1;

Status open_on_loopback(const transport::NetworkKind& kind, PeerIndex self, int size,
                        std::unique_ptr<transport::Network>& network) {
  param::set_text(static_cast<size_t>(param::Id::fabric_interface), "lo");
  transport::NetworkSetup setup;
  setup.self = self;
  setup.size = size;
  setup.key = 0x5eed;
  setup.lost = [](void*, PeerIndex peer, const char* why) {
    std::fprintf(stderr, "lost %d: %s\n", peer, why);
    HEARTH_CHECK(false);
  };
  return kind.open(setup, network);
}

std::vector<std::unique_ptr<transport::Network>> open_networks(const transport::NetworkKind& kind, int size) {
  std::vector<std::unique_ptr<transport::Network>> networks(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    HEARTH_CHECK(open_on_loopback(kind, rank, size, networks[static_cast<size_t>(rank)]).ok());
  }
  for (const auto& one : networks) {
    for (int rank = 0; rank < size; ++rank) {
      one->introduce(rank, networks[static_cast<size_t>(rank)]->address());
    }
  }
  return networks;
}

shm::SegmentPlan small_plan(int size) {
  shm::SegmentPlan plan;
  plan.rank_count = static_cast<uint32_t>(size);
  plan.ring_lines = 64;  // small, so that rings often wrap and fill
  plan.buffer_bytes = 256;
  plan.buffer_count = 21;
  plan.region_count = 1;
  plan.pipeline_bytes = 4096;
  return plan;
}

}  // namespace

std::string case_name(const Case& which) {
  const std::string network = transport::network_kinds()[which.network].name;
  const std::string names[] = {"shm", "fake", "toy", network,
                               which.network == 0 ? "mixed" : "mixed_" + network};
  return names[static_cast<int>(which.kind)] + "_" + std::to_string(which.seed);
}

std::vector<Case> cases(const Seeds& seeds) {
  std::vector<Case> all = {{Kind::toy, kToySeed}};
  for (uint32_t seed = 1; seed <= seeds.shm; ++seed) all.push_back({Kind::shm, seed});
  for (uint32_t seed = 1; seed <= seeds.fake; ++seed) all.push_back({Kind::fake, seed});
  for (const Case& one : network_cases(seeds.network)) all.push_back(one);
  return all;
}

std::vector<Case> network_cases(uint32_t seeds) {
  std::vector<Case> cases;
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer does not see libfabric's own threads: such tests would be slow and show nothing.
  static_cast<void>(seeds);
#else
  for (size_t network = 0; network < transport::network_kinds().size(); ++network) {
    const transport::NetworkKind& kind = transport::network_kinds()[network];
    std::unique_ptr<transport::Network> tried;
    if (!open_on_loopback(kind, 0, 1, tried).ok()) {
      std::fprintf(stderr, "nothing is tested over %s: %s\n", kind.name, last_failure_text());
      continue;
    }
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
      cases.push_back({Kind::network, seed, network});
      cases.push_back({Kind::mixed, seed, network});
    }
  }
#endif
  return cases;
}

Job::Job(const Case& which, int size) {
  switch (which.kind) {
    case Kind::shm:
      HEARTH_CHECK(shm::Segment::create(small_plan(size), segment_).ok());
      make_shm();
      return;
    case Kind::fake:
      network_ = std::make_unique<FakeNetwork>(size, which.seed);
      for (int rank = 0; rank < size; ++rank) {
        endpoints_.push_back(std::make_unique<FakeTransport>(*network_, rank));
      }
      return;
    case Kind::toy:
      endpoints_ = make_toy_endpoints(size);
      return;
    case Kind::network:
    case Kind::mixed:
      make_networked(which, size);
      return;
  }
}

void Job::make_shm() {
  for (int rank = 0; rank < segment_.rank_count(); ++rank) {
    nodes_.emplace_back(segment_, rank);
    endpoints_.push_back(std::make_unique<transport::ShmTransport>(nodes_.back()));
  }
}

void Job::make_networked(const Case& which, int size) {
  auto networks = open_networks(transport::network_kinds()[which.network], size);
  if (which.kind == Kind::network) {
    for (auto& one : networks) endpoints_.push_back(std::move(one));
    return;
  }
  HEARTH_CHECK(shm::Segment::create(small_plan(size), segment_).ok());
  HEARTH_CHECK(shm::Segment::create(small_plan(size), other_segment_).ok());
  for (int rank = 0; rank < size; ++rank) {
    std::vector<int> places;
    for (int other = 0; other < size; ++other) places.push_back((rank + other) % 2 == 0 ? other / 2 : -1);
    nodes_.emplace_back(rank % 2 == 0 ? segment_ : other_segment_, rank / 2, nullptr, places);
    endpoints_.push_back(std::make_unique<transport::Router>(
        nodes_.back(), std::make_unique<transport::ShmTransport>(nodes_.back()),
        std::move(networks[static_cast<size_t>(rank)])));
  }
}

Job::Job(const shm::SegmentPlan& plan) {
  HEARTH_CHECK(shm::Segment::create(plan, segment_).ok());
  make_shm();
}

}  // namespace hearth::contract
