// The order of MPI_Comm_spawn to mpiexec as bytes.
#include <gtest/gtest.h>

#include "launch/bootstrap_spawn.h"

namespace hearth::launch {
namespace {

SpawnOrder order() {
  SpawnOrder order;
  order.port = "hearth:socket:secret:host";
  order.launcher = 4711;
  order.others = 3;
  order.hosts = "localhost";
  order.bind_to = "core";
  order.programs.push_back(
      {{"./worker", "two words", ":", ""}, 4, "/tmp", "/bin:/usr/bin", {{"NAME", "a=b"}}});
  order.programs.push_back({{"other"}, 1, "", "", {}});
  return order;
}

TEST(SpawnOrder, ArrivesAsItWasSent) {
  SpawnOrder read;
  ASSERT_TRUE(from_bytes(to_bytes(order()), read));
  EXPECT_EQ(read.port, order().port);
  EXPECT_EQ(read.launcher, 4711u);
  EXPECT_EQ(read.others, 3u);
  EXPECT_EQ(read.bind_to, "core");
  EXPECT_EQ(read.map_by, "");
  ASSERT_EQ(read.programs.size(), 2u);
  EXPECT_EQ(read.programs[0].command, order().programs[0].command);
  EXPECT_EQ(read.programs[0].ranks, 4);
  EXPECT_EQ(read.programs[0].variables, order().programs[0].variables);
  EXPECT_EQ(read.programs[0].search_path, "/bin:/usr/bin");
  EXPECT_EQ(read.programs[1].command, order().programs[1].command);
}

TEST(SpawnOrder, EveryShorterOneIsRefused) {
  const std::string bytes = to_bytes(order());
  for (size_t length = 0; length < bytes.size(); ++length) {
    SpawnOrder read;
    EXPECT_FALSE(from_bytes(std::string_view(bytes).substr(0, length), read)) << length;
  }
  SpawnOrder read;
  EXPECT_FALSE(from_bytes(bytes + "x", read));
}

}  // namespace
}  // namespace hearth::launch
