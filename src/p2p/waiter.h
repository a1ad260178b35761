// A wait of one thread, and the functions by which its caller describes it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/peer_index.h"

namespace hearth::profile {
enum class Wait : uint32_t;
}

namespace hearth::p2p {

class WaitDiagnostics;

/// Callback that describes a wait for the wait diagnostics (p2p/wait_diagnostics.h). Refers to a function
/// that has to outlive the wait, such as a lambda among the arguments of the call.
class Describe {
 public:
  template <class Function>
  Describe(const Function& function)
      : call_([](const void* which, WaitDiagnostics& note) { (*static_cast<const Function*>(which))(note); }),
        function_(&function) {}
  void operator()(WaitDiagnostics& note) const { call_(function_, note); }

 private:
  void (*call_)(const void* which, WaitDiagnostics& note);
  const void* function_;
};

/// Predicate: whether a wait is over. Its function has to outlive the wait, and to evaluate the current state
/// instead of a cached result: any thread that makes progress evaluates it for sleeping threads, under the
/// library's lock.
class Over {
 public:
  template <class Function>
  explicit Over(Function& function)
      : call_([](const void* which) { return (*static_cast<Function*>(const_cast<void*>(which)))(); }),
        function_(&function) {}
  bool operator()() const { return call_(function_); }

 private:
  bool (*call_)(const void* which);
  const void* function_;
};

/// State of a wait for WaitPublisher.
struct ShownWait {
  static constexpr int kNotShown = -1;
  static constexpr int kNoPlace = -2;

  int at = kNotShown;  // entry in the wait diagnostics
  uint64_t queues_seen = 0;
  uint64_t shown_ns = 0;
};

/// State of a wait for WaitProfile.
struct ProfiledWait {
  profile::Wait kind{};
  PeerIndex peer = 0;    // negative: any, or several
  uint64_t read_ns = 0;  // last clock reading
  uint64_t idle_ns = 0;  // idle time not counted yet
  int site = -1;
  bool described = false;
  bool site_sought = false;
  bool counted = false;
};

struct Waiter {
  const Describe& describe;
  Over over;
  uint32_t rounds = 0;
  uint32_t moves = 0;
  bool noted = false;     // something has to be done at its end
  uint64_t since_ns = 0;  // start of the current time without progress
  uint64_t began_ns = 0;
  uint32_t asleep = 0;  // futex of a follower thread; 1: it sleeps
  ShownWait shown = {};
  std::optional<ProfiledWait> profiled = {};
};

}  // namespace hearth::p2p
