#include "abi/state.h"

#include <pthread.h>

#include "base/check.h"

namespace hearth::abi {
namespace {

void note_child() {
  if (current_state == State::active) current_state = State::forked_child;
}

void watch_forks() {
  static const bool watching = pthread_atfork(nullptr, nullptr, note_child) == 0;
  HEARTH_CHECK(watching);
}

}  // namespace

void enter_state(State state) {
  if (state == State::active) watch_forks();
  current_state = state;
}

}  // namespace hearth::abi
