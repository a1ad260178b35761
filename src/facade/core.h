// The library behind a facade, and access to the objects of its handles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "facade_core.h"

namespace hearth::facade {

using abi::PoolKind;

/// The table of libmpi_abi.so.1. The functions cannot be found by name: a facade exports the same names.
inline const abi::Core& core() {
  return hearth_calls_v1;
}

// Conversions of handles are on the path of a message. Files that are compiled for size call them.
#if defined(__OPTIMIZE_SIZE__)
#define HEARTH_CONVERSION inline
#else
#define HEARTH_CONVERSION [[gnu::always_inline]] inline
#endif

// Handles of the standard ABI: constants below kPredefinedMax, addresses of objects above kAddressMin.
inline constexpr uintptr_t kPredefinedMax = 0x300;
inline constexpr uintptr_t kAddressMin = 0x1000;
/// Marks a handle that is invalid in the facade's ABI. Such an address is outside the address space, so the
/// library rejects the handle.
inline constexpr uintptr_t kInvalidHandle = uintptr_t{1} << 63;

/// The handle of the object in a slot. The library checks whether the slot is in use.
HEARTH_CONVERSION uintptr_t object_at(PoolKind kind, uint32_t slot) {
  const abi::PoolPlace& place = core().pools[static_cast<int>(kind)];
  const std::byte* const base = *place.base;
  if (base == nullptr) [[unlikely]]
    return kInvalidHandle | slot;
  return reinterpret_cast<uintptr_t>(base) + slot * place.bytes;
}

/// The slot of a valid handle, which is the first word of each object (objects/object.h, p2p/request.h).
inline uint32_t slot_of(uintptr_t object) {
  return *reinterpret_cast<const uint32_t*>(object);
}

}  // namespace hearth::facade
