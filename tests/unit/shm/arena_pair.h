// Two ranks' views of one arena in one process.
#pragma once

#include <gtest/gtest.h>

#include "base/os_io.h"
#include "base/status.h"
#include "shm/arena.h"

namespace hearth::shm {

struct ArenaPair {
  Arena file;
  Arena first;
  Arena second;

  ArenaPair() {
    EXPECT_TRUE(Arena::create(2, file).ok()) << last_failure_text();
    EXPECT_TRUE(Arena::attach(os::duplicate_out_of_the_way(file.descriptor()), 2, 0, first).ok());
    EXPECT_TRUE(Arena::attach(os::duplicate_out_of_the_way(file.descriptor()), 2, 1, second).ok());
  }
};

}  // namespace hearth::shm
