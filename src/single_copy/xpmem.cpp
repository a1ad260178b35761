#include "single_copy/xpmem.h"

#include <algorithm>

#include "base/copy.h"

namespace hearth::single_copy {

Xpmem::~Xpmem() {
  for (const Window& window : windows_) device_.detach(window.memory);
}

bool Xpmem::probe_read(const Target& target) {
  uint64_t word = ~target.probe_word;
  return target.xpmem_segment != 0 && read(target, &word, target.probe_address, sizeof word) &&
         word == target.probe_word;
}

bool Xpmem::probe_write(const Target& target) {
  return write(target, target.probe_address, &target.probe_word, sizeof target.probe_word);
}

bool Xpmem::read(const Target& target, void* to, uint64_t from, size_t bytes) {
  auto* place = static_cast<std::byte*>(to);
  return for_each_window(target.xpmem_segment, from, bytes, [&place](std::byte* memory, size_t part) {
    copy_bytes(place, memory, part);
    place += part;
  });
}

bool Xpmem::write(const Target& target, uint64_t to, const void* from, size_t bytes) {
  const auto* place = static_cast<const std::byte*>(from);
  return for_each_window(target.xpmem_segment, to, bytes, [&place](std::byte* memory, size_t part) {
    copy_bytes(memory, place, part);
    place += part;
  });
}

template <class Copy>
bool Xpmem::for_each_window(int64_t segment, uint64_t address, size_t bytes, Copy copy) {
  while (bytes > 0) {
    std::byte* memory = memory_at(segment, address);
    if (memory == nullptr) return false;
    const size_t part = std::min(bytes, window_bytes_ - static_cast<size_t>(address % window_bytes_));
    copy(memory, part);
    address += part;
    bytes -= part;
  }
  return true;
}

// The attached memory of that segment from an address on, up to the end of its window.
std::byte* Xpmem::memory_at(int64_t segment, uint64_t address) {
  const uint64_t number = address / window_bytes_;
  const auto found = std::find_if(windows_.begin(), windows_.end(), [segment, number](const Window& window) {
    return window.segment == segment && window.number == number;
  });
  std::byte* memory = nullptr;
  if (found != windows_.end()) {
    found->last_use = ++uses_;
    memory = found->memory;
  } else {
    memory = attach(segment, number);
  }
  return memory == nullptr ? nullptr : memory + address % window_bytes_;
}

std::byte* Xpmem::attach(int64_t segment, uint64_t number) {
  const int64_t access = access_to(segment);
  if (access == 0) return nullptr;
  if (windows_.size() >= windows_max_) detach_oldest();
  std::byte* memory = device_.attach(access, number * window_bytes_, window_bytes_);
  if (memory != nullptr) windows_.push_back({segment, number, memory, ++uses_});
  return memory;
}

void Xpmem::detach_oldest() {
  const auto oldest =
      std::min_element(windows_.begin(), windows_.end(),
                       [](const Window& a, const Window& b) { return a.last_use < b.last_use; });
  device_.detach(oldest->memory);
  *oldest = windows_.back();
  windows_.pop_back();
}

int64_t Xpmem::access_to(int64_t segment) {
  const auto known = accesses_.find(segment);
  if (known != accesses_.end()) return known->second;
  return accesses_[segment] = device_.open(segment);
}

}  // namespace hearth::single_copy
