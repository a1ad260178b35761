#include "base/os_io.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/os_file.h"
#include "base/os_library.h"

namespace hearth::os {
namespace {

TEST(Pipe, MovesBytesAndEnds) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  EXPECT_EQ(write_some(pipe.write_end.number(), "hello", 5), 5);
  char text[8];
  EXPECT_EQ(read_some(pipe.read_end.number(), text, sizeof text), 5);
  EXPECT_EQ(std::string(text, 5), "hello");
  pipe.write_end.reset();
  EXPECT_EQ(read_some(pipe.read_end.number(), text, sizeof text), 0);
}

TEST(Pipe, NonblockingSaysThatItHasToWait) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  set_nonblocking(pipe.read_end.number(), true);
  char letter;
  EXPECT_EQ(read_some(pipe.read_end.number(), &letter, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(Pipe, ReadyToWriteUntilFull) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  const std::string piece(4096, 'x');
  int pieces = 0;
  // Like the launcher: each write is at most what a ready pipe takes without blocking.
  while (ready_to_write(pipe.write_end.number()) && pieces < 10'000) {
    ASSERT_EQ(write_some(pipe.write_end.number(), piece.data(), piece.size()), 4096);
    ++pieces;
  }
  EXPECT_GE(pieces, 1);
  EXPECT_LT(pieces, 10'000);
  std::string back(4096, ' ');
  ASSERT_EQ(read_some(pipe.read_end.number(), back.data(), back.size()), 4096);
  EXPECT_TRUE(ready_to_write(pipe.write_end.number()));
}

TEST(Descriptor, ClosesWhenItGoes) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  { const Descriptor taken = std::move(pipe.write_end); }
  char letter;
  EXPECT_EQ(read_some(pipe.read_end.number(), &letter, 1), 0) << "the write end is still open";
}

TEST(Descriptor, OutOfTheWayOfShells) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  const Descriptor copy = duplicate_out_of_the_way(pipe.read_end.number());
  EXPECT_GT(copy.number(), 9);
  EXPECT_EQ(identity_of(copy.number()), identity_of(pipe.read_end.number()));
}

TEST(Identity, TellsFilesApart) {
  Pipe one;
  Pipe other;
  ASSERT_TRUE(make_pipe(one));
  ASSERT_TRUE(make_pipe(other));
  EXPECT_EQ(identity_of(one.read_end.number()), identity_of(one.write_end.number()));
  EXPECT_NE(identity_of(one.read_end.number()), identity_of(other.read_end.number()));
  EXPECT_EQ(identity_of(-1), FileIdentity());
}

TEST(Files, AreWrittenAndReadWhole) {
  const std::string path = testing::TempDir() + "hearth_os_io_test";
  const std::string text(10'000, 'y');
  {
    const Descriptor file = open_to_write(path.c_str());
    ASSERT_TRUE(file.open());
    EXPECT_TRUE(is_regular_file(file.number()));
    EXPECT_EQ(write_some(file.number(), text.data(), text.size()), 10'000);
  }
  EXPECT_EQ(read_text(path.c_str()), text);
  std::remove(path.c_str());
  EXPECT_EQ(read_text(path.c_str()), "");
  EXPECT_FALSE(open_to_read(path.c_str()).open());
  EXPECT_EQ(errno, ENOENT);
}

TEST(Files, OnlyRegularOnesAreOpenedWithoutBlocking) {
  const std::string folder = testing::TempDir();
  const std::string fifo = folder + "hearth_os_io_fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(open_regular_file(fifo.c_str()).open());
  ::unlink(fifo.c_str());
  EXPECT_FALSE(open_regular_file(folder.c_str()).open());
  EXPECT_FALSE(open_regular_file("/no/such/file").open());
  EXPECT_TRUE(open_regular_file("/proc/self/exe").open());
}

TEST(Poller, ReportsReadyDescriptors) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  Poller poller;
  ASSERT_TRUE(poller.add(pipe.read_end.number(), 7, true, false));
  EXPECT_TRUE(poller.wait(0).empty());
  write_some(pipe.write_end.number(), "x", 1);
  auto events = poller.wait(1000);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].token, 7u);
  EXPECT_TRUE(events[0].readable);
  poller.remove(pipe.read_end.number());
  EXPECT_TRUE(poller.wait(0).empty());
}

TEST(Poller, HearsOfTheOtherSidesEnd) {
  Pipe pipe;
  ASSERT_TRUE(make_pipe(pipe));
  Poller poller;
  ASSERT_TRUE(poller.add(pipe.read_end.number(), 1, true, false));
  pipe.write_end.reset();
  ASSERT_EQ(poller.wait(1000).size(), 1u);
}

TEST(Library, IsNotLookedForInTheWorkingFolder) {
  std::string problem;
  EXPECT_EQ(open_library("./libm.so.6", problem), nullptr);
  EXPECT_NE(problem.find("depends on the working folder"), std::string::npos);
  EXPECT_EQ(open_library("lib/libm.so.6", problem), nullptr);
  EXPECT_NE(open_library("libm.so.6", problem), nullptr) << problem;
}

}  // namespace
}  // namespace hearth::os
