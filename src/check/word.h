// An argument as one word.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hearth::check {

template <class T>
inline uint64_t word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(value);
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

}  // namespace hearth::check
