#include "profile/symbols.h"

#include <gtest/gtest.h>

#include "base/os_library.h"

namespace hearth::profile {
namespace {

// In this program, which exports nothing.
[[gnu::noinline]] int a_function_of_this_test(int number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}

TEST(FunctionAt, FindsWhatIsNotExported) {
  EXPECT_EQ(a_function_of_this_test(1), 2);
  const os::LibraryPlace place = os::library_of(reinterpret_cast<const void*>(&a_function_of_this_test));
  const std::string name = function_at(place.path, place.offset);
  EXPECT_NE(name.find("a_function_of_this_test"), std::string::npos) << name;
}

TEST(FunctionAt, SaysNothingOfOtherFiles) {
  EXPECT_EQ(function_at("/nowhere", 0), "");
  EXPECT_EQ(function_at("/proc/self/cmdline", 0), "");
}

}  // namespace
}  // namespace hearth::profile
