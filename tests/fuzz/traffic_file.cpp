// The file of --place-by, and the binding of ranks that follows from it.
#include "launch/traffic_file.h"

#include "fuzz.h"
#include "topo/mapping.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  const int ranks = 1 + static_cast<int>(input.below(4));
  std::vector<topo::Traffic> traffic;
  if (!launch::read_traffic("input", input.rest(), ranks, traffic).ok()) return 0;
  int64_t sum = 0;
  for (const topo::Traffic& pair : traffic) {
    fuzz::demand(pair.weight > 0, "only what is sent counts");
    fuzz::demand(!__builtin_add_overflow(sum, pair.weight, &sum), "all of it fits a number");
  }
  const std::vector<int> numbers = {0, 1, 2, 3};
  std::vector<launch::Binding> bindings(static_cast<size_t>(ranks));
  const launch::PlacementGain gain =
      launch::place_by(topo::Machine::from_numbers(numbers), traffic, bindings);
  fuzz::demand(gain.after <= gain.before, "seats are never given out dearer");
  return 0;
}
