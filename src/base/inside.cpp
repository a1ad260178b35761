#include "base/inside.h"

namespace hearth {
namespace {

// Accessed by the thread itself and its signal handlers only.
thread_local volatile uint32_t marks = 0;

}  // namespace

bool Inside::has_mark(uint32_t mark) {
  return (marks & mark) != 0;
}

bool Inside::set_mark(uint32_t mark) {
  const uint32_t before = marks;
  marks = before | mark;
  return (before & mark) == 0;
}

void Inside::clear_mark(uint32_t mark) {
  marks = marks & ~mark;
}

Inside::Before Inside::let_user_in() {
  const Before before = {gate(), marks};
  marks = 0;
  if (before.gate == Gate::inside) set_gate(Gate::open);
  return before;
}

void Inside::user_is_back(Before before) {
  marks = before.marks;
  // The user's function may have ended MPI or started to use threads.
  if (before.gate == Gate::inside && gate() == Gate::open) set_gate(Gate::inside);
}

}  // namespace hearth
