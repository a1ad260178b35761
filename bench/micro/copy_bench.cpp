// Speed of each copy engine: engine x bytes x alignment difference x state of the source.
//   ninja -C build/release copy_bench && build/release/bench/micro/copy_bench [--benchmark_filter=...]
//
//
//   own     the copying processor has read and written the source before: a sender's copy
//   fresh   another processor has just written the whole source: a receiver's copy
//   read    as fresh, and the time ends when another processor has read the whole destination
//
// Needs two processors that nothing else uses. --benchmark_enable_random_interleaving=true with repetitions
// spreads changes of the machine's state over all cases.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/copy_engine.h"
#include "base/copy_loop.h"

namespace {

using hearth::copy::Engine;
using Copy = void (*)(void*, const void*, size_t);

constexpr size_t kBytesMax = size_t{64} << 20;
constexpr size_t kPageBytes = 4096;

void bind(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::byte* allocate() {
  void* memory = std::aligned_alloc(kPageBytes, kBytesMax + 2 * kPageBytes);
  std::memset(memory, 1, kBytesMax + 2 * kPageBytes);
  return static_cast<std::byte*>(memory);
}

/// The other processor: writes or reads a range on request.
class Other {
 public:
  Other() : thread_([this] { serve(); }) {}
  ~Other() {
    ask(kEnd, nullptr, 0);
    thread_.join();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void write(std::byte* range, size_t bytes) { ask(kWrite, range, bytes); }
  void read(std::byte* range, size_t bytes) { ask(kRead, range, bytes); }

 private:
  enum Errand : uint32_t { kNone, kWrite, kRead, kEnd };

  void ask(Errand errand, std::byte* range, size_t bytes) {
    range_ = range;
    bytes_ = bytes;
    hearth::atomic::store_release<uint32_t>(errand_, errand);  // pairs with the load in serve()
    while (hearth::atomic::load_acquire(errand_) != kNone) hearth::atomic::cpu_relax();
  }
  void serve() {
    bind(1);
    for (uint64_t turn = 1;; ++turn) {
      uint32_t errand;
      while ((errand = hearth::atomic::load_acquire(errand_)) == kNone) hearth::atomic::cpu_relax();
      if (errand == kWrite) std::memset(range_, static_cast<int>(turn), bytes_);
      if (errand == kRead) {
        uint64_t sum = 0;
        for (size_t at = 0; at + 8 <= bytes_; at += 8) {
          uint64_t word;
          std::memcpy(&word, range_ + at, sizeof word);
          sum += word;
        }
        benchmark::DoNotOptimize(sum);
      }
      hearth::atomic::store_release<uint32_t>(errand_, kNone);  // pairs with the load in ask()
      if (errand == kEnd) return;
    }
  }

  uint32_t errand_ = kNone;
  std::byte* range_ = nullptr;
  size_t bytes_ = 0;
  std::thread thread_;
};

enum class Source { own, fresh, read };

void measure(benchmark::State& state, Copy copy, Source source) {
  static Other other;
  static std::byte* const from_memory = allocate();
  static std::byte* const to_memory = allocate();
  bind(0);
  const auto bytes = static_cast<size_t>(state.range(0));
  std::byte* from = from_memory;
  std::byte* to = to_memory + state.range(1);
  if (source == Source::own) std::memset(from, 2, bytes);
  for (auto _ : state) {
    if (source != Source::own) other.write(from, bytes);
    const auto start = std::chrono::steady_clock::now();
    // Short copies are repeated if that changes nothing, since reading the clock takes 20 ns or more.
    const int times = source == Source::own && bytes <= 65536 ? 64 : 1;
    for (int i = 0; i < times; ++i) {
      copy(to, from, bytes);
      benchmark::ClobberMemory();
    }
    if (source == Source::read) other.read(to, bytes);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(taken.count() / times);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

template <Engine engine>
void by_engine(void* to, const void* from, size_t bytes) {
  hearth::copy::run(engine, to, from, bytes);
}
void by_memcpy(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
template <int index>
void by_loop(void* to, const void* from, size_t bytes) {
  hearth::copy::usable_loops()[index]->cached(static_cast<std::byte*>(to),
                                              static_cast<const std::byte*>(from), bytes);
}

void add(const std::string& name, Copy copy) {
  const struct {
    const char* name;
    Source source;
  } sources[] = {{"own", Source::own}, {"fresh", Source::fresh}, {"read", Source::read}};
  for (const auto& source : sources) {
    benchmark::RegisterBenchmark((name + "/" + source.name).c_str(), measure, copy, source.source)
        ->ArgNames({"bytes", "difference"})
        ->ArgsProduct({{256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20},
                       {0, 1, 16, 64, 2048}})
        ->UseManualTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  add("memcpy", &by_memcpy);
  add("cached", &by_engine<Engine::cached>);
  add("rep_movsb", &by_engine<Engine::rep_movsb>);
  add("four_pages", &by_engine<Engine::four_pages>);
  add("non_temporal", &by_engine<Engine::non_temporal>);
  const hearth::copy::VectorLoops* const* loops = hearth::copy::usable_loops();
  const Copy by_loops[] = {&by_loop<0>, &by_loop<1>, &by_loop<2>};
  for (int i = 0; loops[i] != nullptr; ++i) add(loops[i]->name, by_loops[i]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
