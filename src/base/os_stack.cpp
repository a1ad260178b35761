#include "base/os_stack.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

namespace hearth::os {
namespace {

struct Walk {
  std::span<uint64_t> addresses;
  size_t count = 0;
  bool own = true;  // the first frame is callers() itself
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  if (walk.own) {
    walk.own = false;
    return _URC_NO_REASON;
  }
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || walk.count == walk.addresses.size()) return _URC_END_OF_STACK;
  walk.addresses[walk.count++] = address;
  return _URC_NO_REASON;
}

}  // namespace

[[gnu::noinline]] int callers(std::span<uint64_t> addresses) {
  Walk walk = {.addresses = addresses};
  _Unwind_Backtrace(visit, &walk);
  return static_cast<int>(walk.count);
}

int thread_id() {
  return static_cast<int>(::syscall(SYS_gettid));
}

}  // namespace hearth::os
