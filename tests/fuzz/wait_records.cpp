// Wait diagnostics of a job's ranks, as `hearth why` reads them: numbers of any size anywhere in their
// records, which are complete or being written.
#include "fuzz.h"
#include "launch/snapshot.h"
#include "launch/why.h"

using namespace hearth;

namespace {

constexpr int kRanks = 3;

void write_anywhere(fuzz::Input& input, shm::RankBlock& block) {
  auto* record = reinterpret_cast<std::byte*>(&block.waiting);
  const uint32_t value = input.take<uint32_t>();
  const size_t words = sizeof block.waiting / sizeof value;
  std::memcpy(record + input.below(words) * sizeof value, &value, sizeof value);
}

void demand_sense(const launch::SeenWait& wait) {
  fuzz::demand(wait.operations.size() <= shm::kOperationsMax && wait.missing.size() <= shm::kMissingMax,
               "a wait has no more than its entry holds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static shm::RankBlock blocks[kRanks];
  std::memset(static_cast<void*>(blocks), 0, sizeof blocks);
  fuzz::Input input(data, bytes);
  const uint8_t how = input.take<uint8_t>();
  for (shm::RankBlock& block : blocks) {
    block.phase = static_cast<uint32_t>(shm::RankPhase::initialized);
    for (shm::WaitEntry& wait : block.waiting.waits) wait.kind = how % 9;
  }
  while (!input.empty()) write_anywhere(input, blocks[input.below(kRanks)]);
  for (shm::RankBlock& block : blocks) {
    if (how < 0x80) block.waiting.version &= ~1u;
  }
  launch::Snapshot snapshot;
  snapshot.before_ns = uint64_t{1} << 40;
  snapshot.now_ns = snapshot.before_ns + launch::kLastingNs;
  for (const shm::RankBlock& block : blocks) {
    const launch::SeenRank& rank = snapshot.ranks.emplace_back(launch::read_rank(block, nullptr));
    fuzz::demand(rank.waits.size() <= shm::kWaitsMax, "a rank has no more waits than places for them");
    for (const launch::SeenWait& wait : rank.waits) demand_sense(wait);
    if (rank.polling) demand_sense(*rank.polling);
    fuzz::demand(rank.unexpected.size() <= shm::kQueuedMax && rank.posted.size() <= shm::kQueuedMax,
                 "a queue shows no more than has a place");
  }
  const launch::Explanation explanation = launch::explain(snapshot);
  for (const int rank : explanation.stuck) {
    fuzz::demand(rank >= 0 && rank < kRanks, "only ranks of the job are named");
  }
  return 0;
}
