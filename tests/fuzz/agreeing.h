// A member of a communicator that takes part in agreements, under fuzzing: one agreement after the other,
// each advanced explicitly. The target determines the input of the other members.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/contexts.h"
#include "coll/agreement.h"
#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "fuzz.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/wait_diagnostics.h"
#include "rank.h"
#include "shm/liveness.h"
#include "transport/shm_transport.h"

namespace hearth::fuzz {

class Agreeing {
 public:
  static constexpr int kSize = 3;
  static constexpr uint32_t kContext = kFirstFreeContext;

  /// `apart`: agreements use messages.
  Agreeing(Input& input, const shm::Segment& segment, bool apart)
      : input_(input),
        self_(static_cast<int>(input.below(kSize))),
        node_(segment, self_, nullptr, {}, apart ? std::vector<int>{0, 1, 2} : std::vector<int>()),
        transport_(node_),
        rank_(input, transport_, kSize, self_, &node_.liveness()) {
    datatype::enter_predefined_types();
    p2p::process_engine = &rank_.engine();
    shm::process_node = &node_;
    coll::use_regions(pool_.emplace(&node_));
    coll::Agreement::set_up();
    objects::Group* group = objects::pools.groups.create();
    group->peers = {0, 1, 2};
    group->index(self_);
    comm_ = objects::pools.comms.create();
    comm_->context = kContext;
    comm_->group = group;
    comm_->rank = self_;
    comm_->size = comm_->peer_count = kSize;
    comm_->peers = group->peers.data();
  }
  ~Agreeing() {
    objects::release(*comm_);
    p2p::process_engine = nullptr;
    shm::process_node = nullptr;
  }
  Agreeing(const Agreeing&) = delete;
  Agreeing& operator=(const Agreeing&) = delete;

  int self() const { return self_; }
  int some_other() {
    return static_cast<int>((static_cast<size_t>(self_) + 1 + input_.below(kSize - 1)) % kSize);
  }
  Rank& rank() { return rank_; }
  size_t under_way() const { return under_way_.size(); }

  void begin() {
    if (under_way_.size() == 4) return;
    const uint32_t flags = input_.take<uint8_t>();
    under_way_.push_back(std::make_unique<Started>(*comm_, flags, input_.below(2) == 1, true));
  }
  void go_on() {
    if (under_way_.empty() || !under_way_.front()->advance()) return;
    const std::unique_ptr<Started> over = std::move(under_way_.front());
    under_way_.erase(under_way_.begin());
    const int32_t region = over->outcome().allocation.region;
    demand(coll::region_pool().can_be(region), "what is agreed on is an area");
    for (int member = 0; member < kSize; ++member) static_cast<void>(over->is_lost(member));
    coll::region_pool().leave(region);
  }
  void describe() {
    if (under_way_.empty()) return;
    shm::WaitEntry entry = {};
    p2p::WaitDiagnostics note(rank_.engine().requests().pool(), entry);
    under_way_.front()->describe(note);
  }
  void tell_death(int of) const { node_.liveness().publish(of, shm::DeathCause::signal, 9); }

 private:
  class Started final : public coll::Agreement {
   public:
    using Agreement::Agreement;
  };

  Input& input_;
  const int self_;
  shm::Node node_;
  std::optional<coll::RegionPool> pool_;
  transport::ShmTransport transport_;
  Rank rank_;
  objects::Comm* comm_ = nullptr;
  std::vector<std::unique_ptr<Started>> under_way_;
};

}  // namespace hearth::fuzz
