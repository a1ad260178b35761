// XPMEM as a single-copy method: another process's memory is attached to the addresses of this one and copied
// by plain loads and stores. Attaching costs a call of the system, and the first touch of each page a fault,
// so what has been attached is kept: in windows of one size that begin at its multiples, as many as a bound
// allows, the one that was used longest ago giving way. So there are few mappings however many buffers there
// are.
//
// A window stays right when its owner unmaps and maps memory in it: the module follows. What the owner has
// not mapped must not be touched; only buffers that are lent or posted are. An owner that dies takes its
// memory along: a copy under way then ends this process too, as the end of a rank ends its job.
//
// Owned by methods.cpp, one for the process, or by a test; under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/os_xpmem.h"
#include "single_copy/single_copy.h"

namespace hearth::single_copy {

class Xpmem final : public Method {
 public:
  /// Few windows, and none so large that attaching it would map what nobody copies.
  static constexpr size_t kWindowBytes = size_t{16} << 20;
  static constexpr size_t kWindowsMax = 64;

  /// Pre: window_bytes is a power of two and not less than a page. The device outlives this.
  explicit Xpmem(os::XpmemDevice& device, size_t window_bytes = kWindowBytes,
                 size_t windows_max = kWindowsMax)
      : device_(device), window_bytes_(window_bytes), windows_max_(windows_max) {}
  ~Xpmem() override;
  Xpmem(const Xpmem&) = delete;
  Xpmem& operator=(const Xpmem&) = delete;

  static constexpr const char* kName = "xpmem";
  const char* name() const override { return kName; }
  bool takes_lock() const override { return false; }
  bool probe_read(const Target& target) override;
  bool probe_write(const Target& target) override;
  bool read(const Target& target, void* to, uint64_t from, size_t bytes) override;
  bool write(const Target& target, uint64_t to, const void* from, size_t bytes) override;

  size_t windows() const { return windows_.size(); }

 private:
  struct Window {
    int64_t segment;
    uint64_t number;  // of the window in that memory
    std::byte* memory;
    uint64_t last_use;
  };

  std::byte* memory_at(int64_t segment, uint64_t address);
  std::byte* attach(int64_t segment, uint64_t number);
  void detach_oldest();
  int64_t access_to(int64_t segment);
  template <class Copy>
  bool for_each_window(int64_t segment, uint64_t address, size_t bytes, Copy copy);

  os::XpmemDevice& device_;
  const size_t window_bytes_;
  const size_t windows_max_;
  std::vector<Window> windows_;
  std::unordered_map<int64_t, int64_t> accesses_;  // by segment
  uint64_t uses_ = 0;
};

}  // namespace hearth::single_copy
