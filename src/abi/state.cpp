#include "abi/state.h"

#include <pthread.h>

#include "abi/guard.h"
#include "base/check.h"
#include "base/inside.h"
#include "base/lock.h"
#include "profile/recorder.h"

namespace hearth::abi {
namespace {

// The child has only the thread that called fork: no thread holds a lock.
void note_child() {
  if (state() != State::active) return;
  states = {State::forked_child, State::forked_child, State::forked_child};
  LibraryLock::enabled = false;
  Inside::set_gate(Inside::Gate::closed);
  AnyTimeGuard::forget_holders();
}

void watch_forks() {
  static const bool watching = pthread_atfork(nullptr, nullptr, note_child) == 0;
  HEARTH_CHECK(watching);
}

}  // namespace

void enter_state(State state) {
  if (state == State::active) watch_forks();
  const bool counted = state == State::active && profile::process_recorder != nullptr;
  states = {state, counted && profile::process_traced ? State::watched : state,
            counted ? State::watched : state};
  const bool one_thread = state == State::active && !LibraryLock::enabled;
  Inside::set_gate(one_thread ? Inside::Gate::open : Inside::Gate::closed);
}

}  // namespace hearth::abi
