// Scopes around system calls on files that may take long. Under the library's lock.
#pragma once

#include <cstdint>

#include "base/lock.h"
#include "base/os_wait.h"
#include "objects/comm.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::io {

/// Releases the library's lock for a scope, so that other threads use the library during a long system call.
class Unlocked {
 public:
  /// `needed`: false for a call that is shorter than releasing the lock.
  explicit Unlocked(bool needed = true) : released_(LibraryLock::enabled && needed) {
    if (released_) depth_ = LibraryLock::release_all();
  }
  ~Unlocked() {
    if (released_) LibraryLock::acquire_all(depth_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  bool released_;
  uint32_t depth_ = 0;
};

/// Publishes a system call in the wait diagnostics for a scope, from its beginning: the waiting thread cannot
/// do so later. Takes a few microseconds.
class ShownCall {
 public:
  /// `action`, as in "write", has to outlive the scope; `bytes`: 0 if it moves none or an unknown number.
  ShownCall(const objects::Comm& comm, const char* action, int64_t bytes = 0, bool needed = true)
      : text_{comm.context, action, static_cast<uint64_t>(bytes)}, needed_(needed) {
    if (!needed_) return;
    waiter_.began_ns = waiter_.since_ns = os::now_ns();
    p2p::engine().wait_publisher().show(waiter_, waiter_.since_ns);
  }
  ~ShownCall() {
    if (needed_) p2p::engine().wait_publisher().hide(waiter_);
  }
  ShownCall(const ShownCall&) = delete;
  ShownCall& operator=(const ShownCall&) = delete;

 private:
  struct Text {
    uint32_t context;
    const char* action;
    uint64_t bytes;
    void operator()(p2p::WaitDiagnostics& note) const { note.file(context, action, bytes); }
  };
  struct Never {
    bool operator()() const { return false; }
  };

  Text text_;
  Never never_;
  p2p::Describe describe_{text_};
  p2p::Waiter waiter_{.describe = describe_, .over = p2p::Over(never_)};
  bool needed_;
};

}  // namespace hearth::io
