#include "p2p/memory_access.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "p2p/cma_access.h"
#include "recording_transport.h"
#include "shm/node.h"
#include "shm/segment.h"

namespace hearth::p2p {
namespace {

/// A method that a filter may forbid.
class FakeMethod final : public single_copy::Method {
 public:
  FakeMethod(bool reads, bool writes, bool locks) : reads_(reads), writes_(writes), locks_(locks) {}
  const char* name() const override { return "fake"; }
  bool takes_lock() const override { return locks_; }
  bool probe_read(const single_copy::Target& target) override {
    ++read_probes;
    return reads_ && target.pid != 0;
  }
  bool probe_write(const single_copy::Target&) override {
    ++write_probes;
    return writes_;
  }
  bool read(const single_copy::Target&, void*, uint64_t, size_t) override { return reads_; }
  bool write(const single_copy::Target&, uint64_t, const void*, size_t) override { return writes_; }
  int read_probes = 0;
  int write_probes = 0;

 private:
  const bool reads_;
  const bool writes_;
  const bool locks_;
};

/// Process 2 is on another machine.
struct Reachable : RecordingTransport {
  bool target_of(PeerIndex peer, single_copy::Target& target) override {
    target.pid = 100 + peer;
    return peer != 2;
  }
};

struct MemoryAccessTest : testing::Test {
  void SetUp() override {
    shm::SegmentPlan plan;
    plan.rank_count = 3;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    ASSERT_TRUE(shm::Segment::create(plan, segment).ok()) << last_failure_text();
    node.emplace(segment, 0, nullptr, std::vector<int>{0, 1, -1});
  }
  MemoryAccess access_by(const std::vector<single_copy::Method*>& methods) {
    return {0, 3, transport, &*node, methods, nullptr};
  }
  shm::CopyControlBlock& block(PeerIndex peer) { return node->block_of(peer).control_block; }
  Reachable transport;
  shm::Segment segment;
  std::optional<shm::Node> node;
};

TEST_F(MemoryAccessTest, the_first_method_that_works_is_probed_once) {
  FakeMethod forbidden(false, true, false);
  FakeMethod works(true, true, false);
  MemoryAccess access = access_by({&forbidden, &works});
  EXPECT_EQ(access.reader_of(1), &works);
  EXPECT_EQ(access.reader_of(1), &works);
  EXPECT_EQ(forbidden.read_probes, 1);
  EXPECT_EQ(works.read_probes, 1);
  EXPECT_EQ(access.target_of(1).pid, 101);
}

TEST_F(MemoryAccessTest, a_write_needs_a_successful_read_first) {
  FakeMethod reads(true, false, false);
  MemoryAccess access = access_by({&reads});
  EXPECT_EQ(access.writer_of(1), nullptr);
  EXPECT_EQ(reads.read_probes, 1);
  EXPECT_EQ(access.reader_of(1), &reads);
  FakeMethod writes(false, true, false);
  MemoryAccess blind = access_by({&writes});
  EXPECT_EQ(blind.writer_of(1), nullptr);
  EXPECT_EQ(writes.write_probes, 0);
}

TEST_F(MemoryAccessTest, a_process_without_a_target_has_no_method) {
  FakeMethod works(true, true, false);
  MemoryAccess access = access_by({&works});
  EXPECT_EQ(access.reader_of(2), nullptr);
  EXPECT_EQ(works.read_probes, 0);
}

TEST_F(MemoryAccessTest, a_refusal_is_permanent) {
  FakeMethod works(true, true, false);
  MemoryAccess access = access_by({&works});
  ASSERT_EQ(access.writer_of(1), &works);
  access.refuse_reading(1);
  EXPECT_EQ(access.reader_of(1), nullptr);
  EXPECT_EQ(access.writer_of(1), &works);
  access.refuse_writing(1);
  EXPECT_EQ(access.writer_of(1), nullptr);
}

TEST_F(MemoryAccessTest, only_methods_that_take_a_lock_are_counted) {
  FakeMethod locks(true, true, true);
  FakeMethod maps(true, true, false);
  MemoryAccess access = access_by({&locks});
  EXPECT_EQ(access.counted_block(1, locks), &block(1));
  EXPECT_EQ(access.counted_block(1, maps), nullptr);
}

TEST_F(MemoryAccessTest, without_a_node_there_are_no_control_blocks) {
  FakeMethod locks(true, true, true);
  MemoryAccess access(0, 3, transport, nullptr, {&locks}, nullptr);
  EXPECT_FALSE(access.has_control_blocks(1));
  EXPECT_EQ(access.counted_block(1, locks), nullptr);
  EXPECT_EQ(access.local_rank_of(2), 2);
  access.reap(1);
}

TEST_F(MemoryAccessTest, accesses_of_a_dead_process_end) {
  MemoryAccess access = access_by({});
  const CmaAccess own(&block(0), 4, 2);
  {
    const CmaAccess of_dead(&block(0), 4, 1);
    EXPECT_EQ(CmaAccess::count(block(0)), 2);
    access.reap(1);
    EXPECT_EQ(CmaAccess::count(block(0)), 1);
  }
  access.reap(2);  // on another machine, where local rank 2 is not its own
  EXPECT_EQ(CmaAccess::count(block(0)), 1);
}

}  // namespace
}  // namespace hearth::p2p
