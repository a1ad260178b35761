#include "base/symbol_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os_library.h"

namespace hearth {
namespace {

// A function of this program, which exports no symbols.
[[gnu::noinline]] int a_function_of_this_test(int number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}

TEST(SymbolTable, FindsWhatIsNotExported) {
  EXPECT_EQ(a_function_of_this_test(1), 2);
  const os::LibraryPlace place = os::library_of(reinterpret_cast<const void*>(&a_function_of_this_test));
  const SymbolTable table{std::string(place.path)};
  uint64_t beyond = 1;
  const char* name = table.function_at(table.address_from_begin(place.offset), beyond);
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(beyond, 0u);
  EXPECT_EQ(readable_name(name), "hearth::(anonymous namespace)::a_function_of_this_test");
}

TEST(SymbolTable, SaysNothingOfOtherFiles) {
  uint64_t beyond = 0;
  EXPECT_EQ(SymbolTable("/nowhere").function_at(0, beyond), nullptr);
  EXPECT_EQ(SymbolTable("/proc/self/cmdline").function_at(0, beyond), nullptr);
}

TEST(SymbolTable, WaitsForNoPipe) {
  const std::string pipe = testing::TempDir() + "hearth_pipe_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  uint64_t beyond = 0;
  EXPECT_EQ(SymbolTable(pipe).function_at(0, beyond), nullptr);
  ::unlink(pipe.c_str());
}

}  // namespace
}  // namespace hearth
