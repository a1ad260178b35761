// Pool of objects of one type at stable addresses. Each type of MPI handle has one.
//
// The pool reserves one address range and commits memory as it grows; it never returns memory. So any handle,
// even an invalid one, can be checked without a fault: contains() tells whether it is the address of a live
// object. Accessed under the library's lock.
//
//   | slot 0 | slot 1 | slot 2 | ...  committed ... | reserved, no memory behind it |
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/os_memory.h"

namespace hearth {

/// T has a public `uint32_t slot`, which the pool sets, and a public `uint32_t alive`, which T's constructor
/// must not write: create() sets it to kAlive and destroy() to 0.
template <class T>
class Pool {
 public:
  static constexpr uint32_t kAlive = 0x4d504921;

  /// Takes no memory until the first create(), so that a pool may be a constant-initialised global.
  constexpr explicit Pool(size_t slots_max = size_t{1} << 24) : slots_max_(slots_max) {}
  ~Pool() {
    if (base_ != nullptr) os::release(base_, reserved_bytes_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Takes the first memory now, so that the first create() does not. Without memory nothing happens.
  void prepare() {
    if (base_ == nullptr && grow()) *reinterpret_cast<volatile std::byte*>(base_) = std::byte{0};
  }

  /// A new object, or nullptr if memory is exhausted. Reuses the slot destroyed last, which is in the cache.
  template <class... Arguments>
  T* create(Arguments&&... arguments) {
    T* place = free_;
    uint32_t slot;
    if (place != nullptr) {
      slot = place->slot;
      free_ = next_free(place);
    } else {
      if ((used_ + 1) * sizeof(T) > committed_bytes_ && !grow()) return nullptr;
      slot = static_cast<uint32_t>(used_++);
      place = reinterpret_cast<T*>(base_) + slot;
    }
    T* object = new (place) T(std::forward<Arguments>(arguments)...);
    object->slot = slot;
    object->alive = kAlive;
    ++live_;
    return object;
  }

  void destroy(T* object) {
    HEARTH_DCHECK(contains(object));
    const uint32_t slot = object->slot;
    object->~T();
    // The slot stays readable: `slot` and `alive` keep their meaning in a dead object.
    object->slot = slot;
    object->alive = 0;
    next_free(object) = free_;
    free_ = object;
    --live_;
  }

  /// Whether `address` is a live object of this pool. Safe for any value.
  bool contains(const void* address) const {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
    if (offset >= used_ * sizeof(T)) return false;  // also if the pool has no memory yet: used_ is 0 then
    if (offset % alignof(T) != 0) return false;
    const T* object = static_cast<const T*>(address);
    return object->alive == kAlive && reinterpret_cast<const T*>(base_) + object->slot == object;
  }

  /// The object in a slot; nullptr if none is alive there.
  T* at(size_t slot) const {
    if (slot >= used_) return nullptr;
    T* object = reinterpret_cast<T*>(base_) + slot;
    return object->alive == kAlive ? object : nullptr;
  }

  /// The address of slot 0; nullptr before the first create(). The word itself stays at its address.
  const std::byte* const& base() const { return base_; }
  size_t live() const { return live_; }
  size_t slots_used() const { return used_; }
  size_t bytes_used() const { return used_ * sizeof(T); }

 private:
  static constexpr size_t kGrowBytes = size_t{1} << 16;
  static constexpr size_t kSlotsMin = 1024;
  // There are a dozen pools, so together they take a tenth of the address space at most.
  static constexpr uint64_t kAddressSpaceShare = 128;
  static_assert(sizeof(T) >= sizeof(T*) + 2 * sizeof(uint32_t));

  static size_t round_up(size_t bytes) { return (bytes + kGrowBytes - 1) / kGrowBytes * kGrowBytes; }

  // The link of a free slot is in its last bytes: `slot` and `alive`, at the beginning of T, keep their
  // values.
  static T*& next_free(T* place) {
    return *reinterpret_cast<T**>(reinterpret_cast<std::byte*>(place) + sizeof(T) - sizeof(T*));
  }

  bool grow() {
    // Halves the size until it can be reserved. If the address space is limited (ulimit -v), leaves most of
    // it to the program.
    const uint64_t bytes_max = os::address_space_limit_bytes() / kAddressSpaceShare;
    for (size_t slots = slots_max_; slots >= kSlotsMin && base_ == nullptr; slots /= 2) {
      if (slots * sizeof(T) > bytes_max && slots / 2 >= kSlotsMin) continue;
      reserved_bytes_ = round_up(slots * sizeof(T));
      base_ = static_cast<std::byte*>(os::reserve(reserved_bytes_));
    }
    if (base_ == nullptr) return false;
    const size_t want = round_up((used_ + 1) * sizeof(T)) - committed_bytes_;
    if (committed_bytes_ + want > reserved_bytes_) return false;
    if (!os::commit(base_ + committed_bytes_, want)) return false;
    committed_bytes_ += want;
    return true;
  }

  size_t slots_max_;
  std::byte* base_ = nullptr;
  size_t reserved_bytes_ = 0;
  size_t committed_bytes_ = 0;
  size_t used_ = 0;
  size_t live_ = 0;
  T* free_ = nullptr;
};

}  // namespace hearth
