// Whether a wait yields its processor before it sleeps. Yielding is cheap while no other process wants the
// processor. If one does, it runs for its whole time slice, some milliseconds, although the awaited message
// may arrive after microseconds; a process that sleeps is woken and scheduled by then. So a yield that took
// long ends yielding for a while. Beside a process that computes on each processor, 1 MiB takes 22 us instead
// of 1.9 ms if its ranks work for more than wait_spin between two messages (docs/notebook/messages.md).
//
// Not for jobs with more ranks than processors: there a yield is long because other ranks of the job run,
// which is its purpose. Not for jobs on several machines either: a packet of the network wakes no rank.
//
// One per process, owned by the engine, under the library's lock.
#pragma once

#include <cstdint>

namespace hearth::p2p {

class YieldPolicy {
 public:
  /// `always`: a long yield changes nothing.
  explicit YieldPolicy(bool always) : always_(always) {}

  bool yields(uint64_t now_ns) const { return now_ns >= avoided_until_ns_; }
  /// Updates the policy: a yield lasted from `begin_ns` to `end_ns`.
  void yielded(uint64_t begin_ns, uint64_t end_ns) {
    if (!always_ && end_ns - begin_ns >= kLongNs) avoided_until_ns_ = end_ns + kAvoidedNs;
  }

 private:
  // Beyond an interrupt or a short kernel task, below a time slice.
  static constexpr uint64_t kLongNs = 300'000;
  // One time slice in this time is lost while the other process runs.
  static constexpr uint64_t kAvoidedNs = 1'000'000'000;

  bool always_;
  uint64_t avoided_until_ns_ = 0;
};

}  // namespace hearth::p2p
