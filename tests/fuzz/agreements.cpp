// What the members of a communicator say in agreements, where it may be anything: words of their entries, of
// the deaths that are told and of the control areas that come out, while this rank goes through one agreement
// after the other. Each comes to an outcome once all others are told dead, or what it found is said.
#include <memory>
#include <vector>

#include "coll/agreement.h"
#include "coll/control_area.h"
#include "fuzz.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/wait_note.h"
#include "rank.h"
#include "segment.h"
#include "shm/liveness.h"
#include "transport/shm_transport.h"

using namespace hearth;

namespace {

constexpr int kSize = 3;
constexpr size_t kStepsMax = 200;
constexpr uint32_t kContext = 8;

/// One agreement of this rank, moved on by hand.
class Started final : public coll::Agreement {
 public:
  using Agreement::Agreement;
};

class Members {
 public:
  Members(fuzz::Input& input, const shm::Segment& segment)
      : input_(input),
        segment_(segment),
        self_(static_cast<int>(input.below(kSize))),
        liveness_(segment),
        transport_(segment, self_),
        rank_(input, transport_, kSize, self_, &liveness_) {
    p2p::process_engine = &rank_.engine();
    coll::ControlArea::set_up(segment, self_);
    coll::Agreement::set_up(segment, false);
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
  ~Members() {
    objects::release(*comm_);
    p2p::process_engine = nullptr;
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  void run() {
    rank_.run([this] {
      for (size_t step = 0; step < kStepsMax && !input_.empty(); ++step) this->step();
    });
    // Whatever was said: with others that are dead and have said nothing, all there is to wait for is over.
    for (int other = 0; other < kSize; ++other) {
      if (other == self_) continue;
      for (shm::AgreementEntry& entry : segment_.rank(other).agreements) entry = {};
      segment_.rank(other).dead = 1;
    }
    segment_.job().deaths = ~0u;
    const size_t agreements = under_way_.size();
    for (size_t i = 0; i < agreements; ++i) go_on();
    fuzz::demand(under_way_.empty(), "agreements end once all others are dead");
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0:
        if (under_way_.size() < 4) {
          const uint32_t flags = input_.take<uint8_t>();
          under_way_.push_back(std::make_unique<Started>(*comm_, flags, input_.below(2) == 1));
        }
        return;
      case 1:
        return go_on();
      case 2:
        return say();
      case 3: {  // any word of anybody's entries
        auto* words = reinterpret_cast<uint32_t*>(segment_.rank(other()).agreements);
        words[input_.below(sizeof(shm::AgreementEntry) / 4 * shm::kAgreementsMax)] = number();
        return;
      }
      case 4:
        return liveness_.tell(other(), shm::DeathCause::signal, 9);
      case 5:
        // A claim by nobody that there is would be damage, which ends the job.
        if (input_.below(2) == 0) {
          segment_.job().deaths =
              shm::DeathCount{number()}.with(static_cast<int>(input_.below(kSize + 1)) - 1).word;
        } else {
          segment_.rank(other()).dead = number();
        }
        return;
      case 6:
        return describe();
      default:
        rank_.progress();
    }
  }

  int other() { return static_cast<int>((static_cast<size_t>(self_) + 1 + input_.below(kSize - 1)) % kSize); }
  uint32_t number() { return input_.below(2) == 0 ? input_.take<uint8_t>() : input_.take<uint32_t>(); }

  // As a member would, where the input has small numbers.
  void say() {
    shm::AgreementEntry& entry = segment_.rank(other()).agreements[input_.below(2)];
    entry.owner = kContext + 1;
    const auto which = static_cast<uint32_t>(input_.below(4));
    entry.contributed = which;
    entry.flags = input_.take<uint8_t>();
    entry.acknowledged = static_cast<uint32_t>(input_.below(4));
    if (input_.below(2) == 0) return;
    entry.decided = which;
    entry.decided_flags = entry.flags;
    entry.deaths = static_cast<uint32_t>(input_.below(4));
    entry.context = number();
    // Of the first turns, and one that is not there.
    const size_t told = input_.below(256);
    entry.area = static_cast<int32_t>(told % 6 + told / 6 % 3 * shm::kAreasMax) - 1;
  }

  void go_on() {
    if (under_way_.empty() || !under_way_.front()->advance()) return;
    const std::unique_ptr<Started> over = std::move(under_way_.front());
    under_way_.erase(under_way_.begin());
    const int32_t area = over->outcome().allotment.area;
    fuzz::demand(coll::ControlArea::can_be(area), "what is agreed on is an area");
    for (int member = 0; member < kSize; ++member) static_cast<void>(over->is_lost(member));
    coll::ControlArea::leave(area);
  }
  void describe() {
    if (under_way_.empty()) return;
    shm::WaitEntry entry = {};
    p2p::WaitNote note(rank_.engine(), entry);
    under_way_.front()->describe(note);
  }

  fuzz::Input& input_;
  const shm::Segment& segment_;
  const int self_;
  shm::Liveness liveness_;
  transport::ShmTransport transport_;
  fuzz::Rank rank_;
  objects::Comm* comm_ = nullptr;
  std::vector<std::unique_ptr<Started>> under_way_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  return fuzz::run_in_segment<Members>(data, bytes, kSize, 3);
}
