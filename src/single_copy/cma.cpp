// Cross memory attach (CMA). The kernel pins and copies a page at a time. The length of one call is limited,
// so that a signal or the death of the target is noticed between calls.
#include <algorithm>

#include "base/os_memory.h"
#include "single_copy/single_copy.h"

namespace hearth::single_copy {
namespace {

// 1 MiB per call: the cost of the call itself (about 0.5 us) is below one hundredth of the copy's.
constexpr size_t kCallBytes = size_t{1} << 20;

class Cma final : public Method {
 public:
  const char* name() const override { return "cma"; }
  bool takes_lock() const override { return true; }

  bool probe_read(const Target& target) override {
    uint64_t word = ~target.probe_word;
    return target.pid > 0 && read(target, &word, target.probe_address, sizeof word) &&
           word == target.probe_word;
  }

  bool probe_write(const Target& target) override {
    return write(target, target.probe_address, &target.probe_word, sizeof target.probe_word);
  }

  bool read(const Target& target, void* to, uint64_t from, size_t bytes) override {
    auto* place = static_cast<std::byte*>(to);
    while (bytes > 0) {
      const intptr_t moved = os::read_process(target.pid, place, reinterpret_cast<const void*>(from),
                                              std::min(bytes, kCallBytes));
      if (moved <= 0) return false;
      place += moved;
      from += static_cast<uint64_t>(moved);
      bytes -= static_cast<size_t>(moved);
    }
    return true;
  }

  bool write(const Target& target, uint64_t to, const void* from, size_t bytes) override {
    const auto* place = static_cast<const std::byte*>(from);
    while (bytes > 0) {
      const intptr_t moved =
          os::write_process(target.pid, reinterpret_cast<void*>(to), place, std::min(bytes, kCallBytes));
      if (moved <= 0) return false;
      place += moved;
      to += static_cast<uint64_t>(moved);
      bytes -= static_cast<size_t>(moved);
    }
    return true;
  }
};

}  // namespace

Method& cma() {
  static Cma method;
  return method;
}

}  // namespace hearth::single_copy
