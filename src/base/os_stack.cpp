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

bool ends_with_call(std::span<const std::byte> code) {
  const size_t end = code.size();
  const auto byte_at = [&](size_t back) { return back <= end ? static_cast<uint8_t>(code[end - back]) : 0u; };
#if defined(__aarch64__)
  // bl, or blr.
  return (byte_at(1) & 0xfc) == 0x94 || (byte_at(1) == 0xd6 && byte_at(2) == 0x3f);
#else
  if (byte_at(5) == 0xe8) return true;
  // ff /2: an operand of 0 to 5 more bytes.
  for (const size_t back : {2, 3, 4, 6, 7}) {
    if (byte_at(back) == 0xff && (byte_at(back - 1) >> 3 & 7) == 2) return true;
  }
  return false;
#endif
}

int thread_id() {
  return static_cast<int>(::syscall(SYS_gettid));
}

}  // namespace hearth::os
