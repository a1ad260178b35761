#include "launch/heap_preload.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "launch/program.h"

namespace hearth::launch {
namespace {

using Words = std::vector<std::string>;

class HeapPreload : public testing::Test {
 protected:
  HeapPreload() : file_(std::filesystem::temp_directory_path() / ("hearth-" + std::to_string(::getpid()))) {}
  ~HeapPreload() override { std::filesystem::remove(file_); }

  std::string reason_against(const std::string& contents) {
    std::ofstream(file_, std::ios::binary) << contents;
    return reason_against_heap(file_.string(), {});
  }
  static std::string own_program() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string head(1 << 16, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    return head;
  }

  std::filesystem::path file_;
};

TEST_F(HeapPreload, OrdinaryProgramsAndScriptsGetIt) {
  EXPECT_EQ(reason_against_heap("/bin/sh", {}), "");
  EXPECT_EQ(reason_against("#!/bin/sh\n"), "");
  EXPECT_EQ(reason_against(""), "");
  EXPECT_EQ(reason_against_heap("/no/such/program", {}), "");
}

TEST_F(HeapPreload, OtherMachinesAndStaticProgramsDoNot) {
  std::string program = own_program();
  Elf64_Ehdr header;
  std::memcpy(&header, program.data(), sizeof header);
  Elf64_Ehdr changed = header;
  changed.e_machine = EM_S390;
  EXPECT_NE(
      reason_against(program.replace(0, sizeof changed, reinterpret_cast<char*>(&changed), sizeof changed))
          .find("another kind of processor"),
      std::string::npos);
  changed = header;
  changed.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(
      reason_against(program.replace(0, sizeof changed, reinterpret_cast<char*>(&changed), sizeof changed))
          .find("another kind of processor"),
      std::string::npos);
  changed = header;
  changed.e_phnum = 0;  // without a program interpreter
  EXPECT_NE(
      reason_against(program.replace(0, sizeof changed, reinterpret_cast<char*>(&changed), sizeof changed))
          .find("statically"),
      std::string::npos);
}

TEST_F(HeapPreload, BrokenProgramsAreReadWithoutHarm) {
  const std::string program = own_program();
  for (size_t bytes = 0; bytes < 3000; bytes += 37) reason_against(program.substr(0, bytes));
  // Every word of the ELF header and of the program header table, with all bits set.
  for (size_t at = 4; at < 1200; at += 4) {
    std::string broken = program;
    std::memset(broken.data() + at, 0xff, 4);
    reason_against(broken);
  }
}

TEST_F(HeapPreload, APreloadedMallocKeepsItOut) {
  EXPECT_NE(
      reason_against_heap("/bin/sh", {"LD_PRELOAD=libm.so.6:/usr/lib/libtcmalloc.so.4"}).find("libtcmalloc"),
      std::string::npos);
  EXPECT_EQ(reason_against_heap("/bin/sh", {"LD_PRELOAD=libm.so.6"}), "");
}

TEST_F(HeapPreload, ComesBehindWhatThereIs) {
  Words environment = {"A=1"};
  add_preload("/lib/libhearth_heap.so", environment);
  EXPECT_EQ(environment, (Words{"A=1", "LD_PRELOAD=/lib/libhearth_heap.so"}));
  environment = {"LD_PRELOAD= one.so:two.so "};
  add_preload("/lib/libhearth_heap.so", environment);
  EXPECT_EQ(environment, (Words{"LD_PRELOAD=one.so:two.so:/lib/libhearth_heap.so"}));
}

}  // namespace
}  // namespace hearth::launch
