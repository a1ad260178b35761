#include "base/param.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace hearth::param {
namespace {

const Row& row(const std::vector<Row>& all, const std::string& name) {
  for (const Row& candidate : all) {
    if (candidate.name == name) return candidate;
  }
  ADD_FAILURE() << "no parameter " << name;
  return all.front();
}

// The environment is read once per process, so one test covers all of it.
TEST(Param, EnvironmentOverDefaultAndNonsenseReportedOnce) {
  ::setenv("HEARTH_SHM_RING_BYTES", "64k", 1);
  ::setenv("HEARTH_WAIT_YIELD", "3 ms", 1);
  ::setenv("HEARTH_P2P_SINGLE_COPY", "No", 1);
  ::setenv("HEARTH_SHM_BUFFER_COUNT", "many", 1);
  ::setenv("HEARTH_SHM_BUFFER_BYTES", "-5", 1);
  ::setenv("HEARTH_P2P_CELLS_IN_FLIGHT", "", 1);
  ::setenv("HEARTH_P2P_UNEXPECTED_BYTES_MAX", "99999999999999999999", 1);
  ::setenv("HEARTH_P2P_STORES", "fast", 1);
  ::setenv("HEARTH_SIMULATED_NODES", "3:cyclic", 1);
  ::setenv("HEARTH_P2P_SINGLE_COPY_METHODS", "cma,cmb", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(get_bytes(Id::shm_ring_bytes), 65536u);
  EXPECT_EQ(get_time_ns(Id::wait_yield), 3'000'000u);
  EXPECT_FALSE(get_flag(Id::p2p_single_copy));
  const int64_t buffers = get_count(Id::shm_buffer_count);
  const std::string complaints = testing::internal::GetCapturedStderr();
  for (const char* name : {"HEARTH_SHM_BUFFER_COUNT='many'", "HEARTH_SHM_BUFFER_BYTES='-5'",
                           "HEARTH_P2P_STORES='fast'", "HEARTH_P2P_SINGLE_COPY_METHODS='cma,cmb'",
                           "HEARTH_P2P_UNEXPECTED_BYTES_MAX='99999999999999999999'"}) {
    const size_t first = complaints.find(name);
    EXPECT_NE(first, std::string::npos) << name << " in " << complaints;
    EXPECT_EQ(complaints.find(name, first + 1), std::string::npos);
  }
  EXPECT_EQ(complaints.find("IN_FLIGHT"), std::string::npos) << "an empty variable counts as unset";

  // Parameters with a list of allowed words.
  EXPECT_NE(complaints.find("expected one of: by_time plain streaming; using the default by_time"),
            std::string::npos)
      << complaints;
  EXPECT_NE(complaints.find("expected one or several, with commas, of: xpmem cma"), std::string::npos);
  EXPECT_EQ(get_text(Id::p2p_stores), "by_time");
  EXPECT_EQ(get_text(Id::p2p_single_copy_methods), "xpmem,cma");

  // The environment is read once: later changes have no effect.
  ::setenv("HEARTH_SHM_RING_BYTES", "1M", 1);
  EXPECT_EQ(get_bytes(Id::shm_ring_bytes), 65536u);

  const std::vector<Row> all = rows();
  EXPECT_EQ(all.size(), static_cast<size_t>(Id::public_count_));
  EXPECT_STREQ(all.back().name, "file_mapped_run_max");
  EXPECT_STREQ(row(all, "shm_ring_bytes").source, "environment");
  EXPECT_EQ(row(all, "shm_ring_bytes").value, "64k");
  EXPECT_EQ(row(all, "shm_ring_bytes").environment, "HEARTH_SHM_RING_BYTES");
  EXPECT_STREQ(row(all, "shm_buffer_count").source, "default");
  const std::string standard = row(all, "shm_buffer_count").standard;
  EXPECT_EQ(row(all, "shm_buffer_count").value, standard);
  EXPECT_EQ(std::to_string(buffers), standard);
  EXPECT_NE(complaints.find("expected a number, as in 16; using the default " + standard), std::string::npos);

  // A tool may set parameters.
  const auto place = [](Id id) { return static_cast<size_t>(id); };
  EXPECT_TRUE(set_number(place(Id::shm_ring_bytes), 4096));
  EXPECT_FALSE(set_number(place(Id::shm_ring_bytes), -1));
  EXPECT_FALSE(set_number(place(Id::p2p_single_copy), 2));
  EXPECT_FALSE(set_number(place(Id::coll_algorithms), 1));
  EXPECT_EQ(get_bytes(Id::shm_ring_bytes), 4096u);
  EXPECT_TRUE(set_text(place(Id::coll_algorithms), "bcast=chain"));
  EXPECT_TRUE(set_text(place(Id::p2p_stores), "plain"));
  EXPECT_FALSE(set_text(place(Id::p2p_stores), "Plain"));
  EXPECT_FALSE(set_text(place(Id::p2p_single_copy_methods), "cma,"));
  EXPECT_EQ(get_text(Id::p2p_stores), "plain");
  EXPECT_EQ(get_text(Id::coll_algorithms), "bcast=chain");
  EXPECT_STREQ(row(rows(), "shm_ring_bytes").source, "tool");
  EXPECT_EQ(row(rows(), "shm_ring_bytes").number, 4096);

  // Settings for tests are read in the same way, but are no parameters.
  const std::vector<Row> of_tests = test_rows();
  EXPECT_EQ(all.size() + of_tests.size(), static_cast<size_t>(Id::count_));
  EXPECT_EQ(get_text(Id::simulated_nodes), "3:cyclic");
  EXPECT_EQ(row(of_tests, "simulated_nodes").environment, "HEARTH_SIMULATED_NODES");
  EXPECT_STREQ(row(of_tests, "simulated_nodes").source, "environment");
  EXPECT_EQ(get_count(Id::pretend_newer_wire), 0);
  for (const Row& parameter : all) EXPECT_STRNE(parameter.name, "simulated_nodes");
}

}  // namespace
}  // namespace hearth::param
