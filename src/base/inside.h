// Whether an MPI call is under way, so that a call from a signal handler that interrupted it is an error in
// words, not a deadlock or a state that two have changed at once (MPI 5.0 section 2.9.2: MPI need not be
// safe in signal handlers). What the library calls of the user's on purpose (reductions, attribute and error
// functions, those of generalized requests) may call MPI: call_user() lets it.
//
// Entry points ask on their way in and tell on their way out (abi/entry.h, abi/at_once.h, abi/guard.h). Where
// threads are in use each has a mark of its own; otherwise one word of the process says all, that a call may
// take the short way too, so that the shortest calls cost one comparison and two stores to one line. Those
// may be in any order that the processor likes: a handler runs in the thread that it asks about.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hearth {

class Inside {
 public:
  enum class Gate : uint32_t {
    open,    // MPI is active, there is one thread at a time, and no call is under way
    inside,  // the same, but a call is
    closed   // none of that is known here: MPI is not active, or threads are in use
  };
  static Gate gate() { return gate_; }
  static bool is_open() { return gate_ == Gate::open; }
  static void set_gate(Gate gate) {
    // Nothing of a call may be done before it has begun or after it is over.
    asm volatile("" : : : "memory");
    gate_ = gate;
    asm volatile("" : : : "memory");
  }

  /// The marks of this thread, one bit each, where the gate does not tell.
  static constexpr uint32_t kCall = 1;         // in a call that has the library's lock, or wants it
  static constexpr uint32_t kAnyTimeCall = 2;  // in one that may come before MPI_Init
  static bool has_mark(uint32_t mark);
  /// False when it is set already: a signal handler is calling.
  [[gnu::cold, gnu::noinline]] static bool set_mark(uint32_t mark);
  [[gnu::cold, gnu::noinline]] static void clear_mark(uint32_t mark);

  /// Calls a function of the user's, which may call MPI. What it throws passes, and ends the call.
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

/// The gate of a call that takes the short way. Pre: it is open.
class InsideShortly {
 public:
  InsideShortly() { Inside::set_gate(Inside::Gate::inside); }
  ~InsideShortly() { Inside::set_gate(Inside::Gate::open); }
  InsideShortly(const InsideShortly&) = delete;
  InsideShortly& operator=(const InsideShortly&) = delete;
};

}  // namespace hearth
