// Shared by all fuzz targets. A target is one file with LLVMFuzzerTestOneInput, which gets any bytes and must
// neither crash nor hang; it checks further conditions with demand(). It is called by libFuzzer (`make fuzz`)
// and by replay_test.cpp with the inputs in tests/fuzz/corpus (`make test`), where the function has the name
// of its file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace hearth::fuzz {

/// A condition that must hold for every input.
inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: not so: %s\n", what);
  std::abort();
}

/// Reads values from the front of an input. After its end all numbers are 0.
class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : text_(reinterpret_cast<const char*>(data), bytes) {}

  bool empty() const { return text_.empty(); }
  template <class Number>
  Number take() {
    Number number = {};
    const size_t bytes = std::min(sizeof number, text_.size());
    if (bytes > 0) std::memcpy(&number, text_.data(), bytes);
    text_.remove_prefix(bytes);
    return number;
  }
  /// From 0 to limit - 1. Pre: limit is from 1 to 2^16.
  size_t below(size_t limit) { return (limit > 256 ? take<uint16_t>() : take<uint8_t>()) % limit; }
  std::string_view take_text(size_t bytes_max) {
    const std::string_view piece = text_.substr(0, bytes_max);
    text_.remove_prefix(piece.size());
    return piece;
  }
  std::string rest() { return std::string(take_text(text_.size())); }

 private:
  std::string_view text_;
};

}  // namespace hearth::fuzz
