#include "launch/stack_guess.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/os_io.h"
#include "base/os_memory.h"
#include "base/os_stack.h"
#include "launch/base_name.h"

namespace hearth::launch {
namespace {

constexpr size_t kStackBytes = 16384;
constexpr size_t kCallBytesMax = 7;
constexpr int kShown = 3;

// Reads whole pages up to the end of the stack.
std::vector<uint64_t> read_stack(int pid, uint64_t pointer) {
  std::vector<uint64_t> words(kStackBytes / sizeof(uint64_t));
  size_t bytes = 0;
  while (bytes < kStackBytes) {
    const uint64_t from = pointer + bytes;
    const size_t piece = std::min<size_t>(os::page_bytes() - from % os::page_bytes(), kStackBytes - bytes);
    if (os::read_process(pid, reinterpret_cast<std::byte*>(words.data()) + bytes,
                         reinterpret_cast<const void*>(from), piece) != static_cast<intptr_t>(piece)) {
      break;
    }
    bytes += piece;
  }
  words.resize(bytes / sizeof(uint64_t));
  return words;
}

bool is_of_system(const std::string& file) {
  const std::string name = base_of(file);
  return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-") ||
         name.starts_with("libpthread") || name.starts_with("ld.");
}

}  // namespace

uint64_t stack_pointer_in(const std::string& text) {
  // The file's format: "number six arguments sp pc", "-1 sp pc" or "running".
  const size_t last = text.find_last_of(' ');
  if (last == std::string::npos || last == 0) return 0;
  const size_t before = text.find_last_of(' ', last - 1);
  if (before == std::string::npos) return 0;
  uint64_t pointer = 0;
  return std::sscanf(text.c_str() + before, " 0x%" SCNx64, &pointer) == 1 ? pointer : 0;
}

std::string guess_callers(int pid, const ProcessCode& code) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const uint64_t pointer = stack_pointer_in(os::read_text((folder + "/syscall").c_str()));
  if (pointer == 0) return "";
  std::string text;
  std::string file;
  int shown = 0;
  for (const uint64_t word : read_stack(pid, pointer)) {
    const CodePlace place = code.find(word - 1);
    if (place.function.empty() || is_of_system(place.file) || (!file.empty() && place.file != file)) continue;
    std::array<std::byte, kCallBytesMax> before;
    if (os::read_process(pid, before.data(), reinterpret_cast<const void*>(word - before.size()),
                         before.size()) != static_cast<intptr_t>(before.size()) ||
        !os::ends_with_call(before)) {
      continue;
    }
    text += (text.empty() ? "" : " <- ") + words_of(place, false);
    file = place.file;
    if (place.function == "main" || ++shown == kShown) break;
  }
  return text.empty() ? "" : text + " in " + base_of(file);
}

}  // namespace hearth::launch
