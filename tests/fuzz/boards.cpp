// The board of a profile and trace into which ranks have written anything anywhere: mpiexec still writes its
// reports.
#include "fuzz.h"
#include "profile/board.h"
#include "profile/report/json.h"
#include "profile/report/page.h"
#include "profile/report/summary.h"
#include "profile/report/trace.h"

using namespace hearth;

namespace {

constexpr int kRanks = 2;
constexpr uint64_t kEvents = 16;

struct Place {
  void* memory;
  size_t bytes;
};

Place place_of(fuzz::Input& input, const profile::Part& part) {
  switch (input.below(5)) {
    case 0:
      return {part.head, sizeof *part.head};
    case 1:
      return {part.calls + input.below(profile::kCallsMax), sizeof *part.calls};
    case 2:
      return {part.peers + input.below(kRanks), sizeof *part.peers};
    case 3:
      return {part.comms + input.below(profile::kCommsMax), sizeof *part.comms};
    default:
      return {part.events, static_cast<size_t>(part.event_count) * sizeof *part.events};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  profile::Board board;
  fuzz::demand(profile::Board::create(kRanks, kEvents, board).ok(), "there are memory files");
  fuzz::Input input(data, bytes);
  const uint8_t how = input.take<uint8_t>();
  for (int rank = 0; rank < kRanks; ++rank) {
    const profile::Part part = board.part(rank);
    part.head->attached = 1;
    part.head->begun_ns = board.begun_ns();
    part.head->trace_written = how % (kEvents + 1);
    for (uint64_t event = 0; event < part.event_count; ++event) {
      part.events[event].kind = static_cast<profile::EventKind>(how / 8 % 7);
    }
    for (int comm = 0; comm < 2; ++comm) {
      part.comms[comm].used = 1;
      part.comms[comm].size = kRanks;
    }
  }
  while (!input.empty()) {
    const Place place = place_of(input, board.part(static_cast<int>(input.below(kRanks))));
    const uint64_t value = input.take<uint64_t>();
    const size_t words = place.bytes / sizeof value;
    std::memcpy(
        static_cast<std::byte*>(place.memory) + input.below(std::min<size_t>(words, 1 << 16)) * sizeof value,
        &value, sizeof value);
  }
  profile::JobFacts facts;
  facts.command = "program";
  facts.version = "1";
  facts.processors = kRanks;
  facts.ended_ns = board.begun_ns() + 1'000'000'000;
  facts.call_name = [](int) { return "MPI_Send"; };
  facts.places.resize(kRanks);
  const profile::Summary summary = profile::summarize(board, facts);
  fuzz::demand(!profile::to_json(summary).empty() && !profile::to_page(summary).empty(), "there is a report");
  uint64_t pieces = 0;
  const profile::TraceCounts told = profile::write_trace(board, facts, [&pieces](const std::string&) {
    ++pieces;
    return true;
  });
  fuzz::demand(told.events <= kRanks * kEvents && pieces > 0,
               "no more events are told than there is room for");
  return 0;
}
