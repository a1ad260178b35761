// Agreements with members whose shared memory may contain anything: any words in their entries, in the
// reported deaths and in the resulting collective regions, while this rank runs one agreement after the
// other. Each agreement ends once all other members are reported as failed, or the rank stops with an error
// text.
#include "agreeing.h"
#include "segment.h"

using namespace hearth;

namespace {

constexpr size_t kStepsMax = 200;
constexpr int kSize = fuzz::Agreeing::kSize;
constexpr uint32_t kContext = fuzz::Agreeing::kContext;

class Members {
 public:
  Members(fuzz::Input& input, const shm::Segment& segment)
      : input_(input), segment_(segment), member_(input, segment, false) {}

  void run() {
    member_.rank().run([this] {
      for (size_t step = 0; step < kStepsMax && !input_.empty(); ++step) this->step();
    });
    // Once all other members have failed without an entry, every wait ends, whatever was written.
    for (int other = 0; other < kSize; ++other) {
      if (other == member_.self()) continue;
      for (shm::AgreementEntry& entry : segment_.rank(other).agreements) entry = {};
      segment_.rank(other).dead = 1;
    }
    segment_.job().deaths = ~0u;
    for (size_t left = member_.under_way(); left > 0; --left) member_.go_on();
    fuzz::demand(member_.under_way() == 0, "agreements end once all others are dead");
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0:
        return member_.begin();
      case 1:
        return member_.go_on();
      case 2:
        return say();
      case 3: {  // any word of another member's entries
        auto* words = reinterpret_cast<uint32_t*>(segment_.rank(member_.some_other()).agreements);
        words[input_.below(sizeof(shm::AgreementEntry) / 4 * shm::kAgreementsMax)] = number();
        return;
      }
      case 4:
        return member_.tell_death(member_.some_other());
      case 5:
        // The claim must be of an existing rank: anything else is corruption, which ends the job.
        if (input_.below(2) == 0) {
          segment_.job().deaths =
              shm::DeathCount{number()}.with(static_cast<int>(input_.below(kSize + 1)) - 1).word;
        } else {
          segment_.rank(member_.some_other()).dead = number();
        }
        return;
      case 6:
        return member_.describe();
      default:
        member_.rank().progress();
    }
  }

  uint32_t number() { return input_.below(2) == 0 ? input_.take<uint8_t>() : input_.take<uint32_t>(); }

  // Like a real member, if the input has small numbers.
  void say() {
    shm::AgreementEntry& entry = segment_.rank(member_.some_other()).agreements[input_.below(2)];
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
    // A region of the first generations, or an invalid one.
    const size_t told = input_.below(256);
    entry.region = static_cast<int32_t>(told % 6 + told / 6 % 3 * shm::kRegionsMax) - 1;
  }

  fuzz::Input& input_;
  const shm::Segment& segment_;
  fuzz::Agreeing member_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  return fuzz::run_in_segment<Members>(data, bytes, kSize, 3);
}
