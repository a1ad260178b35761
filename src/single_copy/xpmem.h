// XPMEM as a single-copy method: attaches another process's memory to this address space and copies by plain
// loads and stores. An attachment costs a system call, and the first access to each page a fault. So
// attachments are cached as windows of fixed size and alignment. Their number is limited, and the least
// recently used one is detached. So there are few mappings, however many buffers are used.
//
// A window stays valid if its owner unmaps and maps memory in it, because the module follows such changes.
// Addresses that the owner has not mapped must not be accessed; only exposed or posted buffers are. If an
// owner dies, its memory is gone: a copy in progress then faults and ends this process too, as the death of a
// rank ends its job.
//
// One per process, owned by methods.cpp, or by a test; under the library's lock.
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
  /// Large enough that windows are few, small enough that they map little memory that is never copied.
  static constexpr size_t kWindowBytes = size_t{16} << 20;
  static constexpr size_t kWindowsMax = 64;

  /// Pre: window_bytes is a power of two and at least a page. The device must outlive this object.
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
    uint64_t number;  // index of the window in the segment
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
