// Whether an MPI call is in progress, so that a call from a signal handler that interrupted it returns an
// error instead of deadlocking or corrupting state (MPI 5.0 section 2.9.2: MPI need not be safe in signal
// handlers). User functions that the library calls (reductions, attribute and error functions, those of
// generalized requests) may call MPI: call_user() permits it.
//
// Entry points check on entry and clear on return (abi/entry.h, abi/inline_path.h, abi/guard.h). If threads
// are in use, each has a mark of its own. Otherwise one word of the process, the gate, holds the state and
// also whether a call may take the fast path, so that the shortest calls cost one comparison and two stores
// to one line. The processor may reorder these stores: a handler runs in the thread whose state it reads.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hearth {

class Inside {
 public:
  enum class Gate : uint32_t {
    open,    // MPI is active, one thread at a time calls it, and no call is in progress
    inside,  // the same, but a call is in progress
    closed   // the gate does not hold the state: MPI is not active, or threads are in use
  };
  static Gate gate() { return gate_; }
  static bool is_open() { return gate_ == Gate::open; }
  static void set_gate(Gate gate) {
    // Keeps the compiler from moving any part of a call across the change of the gate.
    asm volatile("" : : : "memory");
    gate_ = gate;
    asm volatile("" : : : "memory");
  }

  /// The marks of this thread, one bit each, used if the gate is closed.
  static constexpr uint32_t kCall = 1;         // in a call that has the library's lock, or waits for it
  static constexpr uint32_t kAnyTimeCall = 2;  // in a call that is allowed before MPI_Init
  static bool has_mark(uint32_t mark);
  /// False if it is set already: the caller is a signal handler.
  [[gnu::cold, gnu::noinline]] static bool set_mark(uint32_t mark);
  [[gnu::cold, gnu::noinline]] static void clear_mark(uint32_t mark);

  /// Calls a function of the user's, which may call MPI. An exception passes through and ends the call.
  template <class Function>
  static auto call_user(Function function) {
    const Before before = let_user_in();
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      user_is_back(before);
    } else {
      auto result = function();
      user_is_back(before);
      return result;
    }
  }

 private:
  struct Before {
    Gate gate;
    uint32_t marks;
  };
  static Before let_user_in();
  static void user_is_back(Before before);

  static inline volatile Gate gate_ = Gate::closed;
};

/// Marks a call on the fast path. Pre: the gate is open.
class InsideShortly {
 public:
  InsideShortly() { Inside::set_gate(Inside::Gate::inside); }
  ~InsideShortly() { Inside::set_gate(Inside::Gate::open); }
  InsideShortly(const InsideShortly&) = delete;
  InsideShortly& operator=(const InsideShortly&) = delete;
};

}  // namespace hearth
