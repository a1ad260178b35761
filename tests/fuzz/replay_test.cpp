// Runs every fuzz target without a fuzzer: on the corpus, and on mutations of it that follow from a seed.
// HEARTH_FUZZ_SEED sets another seed, HEARTH_FUZZ_ROUNDS the maximum number of mutations per target,
// HEARTH_FUZZ_MS the maximum processor time per target. Under the address sanitizer this finds what `make
// fuzz` has found before, and a little more.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
// hwloc leaks a part of a description that it refuses.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:libhwloc";
}
#endif

#define HEARTH_FUZZ_TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t bytes);
HEARTH_FUZZ_TARGETS
#undef HEARTH_FUZZ_TARGET

namespace hearth::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

struct Target {
  const char* name;
  int (*call)(const uint8_t* data, size_t bytes);
};
constexpr Target kTargets[] = {
#define HEARTH_FUZZ_TARGET(name) {#name, fuzz_##name},
    HEARTH_FUZZ_TARGETS
#undef HEARTH_FUZZ_TARGET
};

constexpr size_t kBytesMax = 2048;

// The current input, which is printed if it ends the process.
const Target* current_target = nullptr;
const Bytes* current_input = nullptr;

void tell_input() {
  if (current_target == nullptr || current_input == nullptr) return;
  std::fprintf(stderr, "\nfuzz: the input of %s was, in hexadecimal:\n", current_target->name);
  for (const uint8_t byte : *current_input) std::fprintf(stderr, "%02x", byte);
  std::fprintf(stderr, "\n");
}

void tell_and_end(int signal_number) {
  tell_input();
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

void prepare_for_the_worst() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(tell_input);
#endif
  ::signal(SIGABRT, tell_and_end);
}

void run(const Target& target, const Bytes& input) {
  current_target = &target;
  current_input = &input;
  target.call(input.data(), input.size());
  current_input = nullptr;
}

std::vector<Bytes> kept_inputs(const char* name) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FUZZ_CORPUS) / name)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

uint64_t number_in_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Bytes change(const std::vector<Bytes>& kept) {
    Bytes input = kept[below(kept.size())];
    for (size_t changes = 1 + below(6); changes > 0; --changes) change_once(input, kept[below(kept.size())]);
    input.resize(std::min(input.size(), kBytesMax));
    return input;
  }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  size_t place_in(const Bytes& input) { return below(input.size() + 1); }

  void change_once(Bytes& input, const Bytes& other) {
    constexpr uint8_t kTelling[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', ' ', '\n', ':', '=', '"', '-', ','};
    const size_t at = place_in(input);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = kTelling[below(std::size(kTelling))];
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<uint8_t>(random_());
        break;
      case 3:
        input.insert(place, 1 + below(8), kTelling[below(std::size(kTelling))]);
        break;
      case 4:
        input.erase(place, place + static_cast<std::ptrdiff_t>(std::min(below(9), input.size() - at)));
        break;
      case 5: {  // inserts a piece of another input
        const size_t from = place_in(other);
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        const size_t bytes = std::min(below(64), other.size() - from);
        input.insert(place, begin, begin + static_cast<std::ptrdiff_t>(bytes));
        break;
      }
      default:  // any 4 bytes may be a length
        for (size_t i = at; i < std::min(at + 4, input.size()); ++i) input[i] = at % 2 == 0 ? 0xff : 0x7f;
        break;
    }
  }

  std::mt19937_64 random_;
};

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, takes_what_is_kept_and_changes_of_it) {
  prepare_for_the_worst();
  const Target& target = GetParam();
  const std::vector<Bytes> kept = kept_inputs(target.name);
  ASSERT_FALSE(kept.empty()) << "nothing in tests/fuzz/corpus/" << target.name;
  run(target, {});
  for (const Bytes& input : kept) run(target, input);
  Mutator mutator(number_in_environment("HEARTH_FUZZ_SEED", 1));
  // Slow targets get fewer rounds, so that the whole test takes seconds.
  const uint64_t rounds = number_in_environment("HEARTH_FUZZ_ROUNDS", 1500);
  const uint64_t processor_ms_max = number_in_environment("HEARTH_FUZZ_MS", 500);
  const std::clock_t begun = std::clock();
  for (uint64_t round = 0; round < rounds; ++round) {
    run(target, mutator.change(kept));
    const auto used_ms = static_cast<uint64_t>(std::clock() - begun) * 1000 / CLOCKS_PER_SEC;
    if (used_ms > processor_ms_max) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(kTargets),
                         [](const testing::TestParamInfo<Target>& test) {
                           return std::string(test.param.name);
                         });

}  // namespace
}  // namespace hearth::fuzz
