#include "launch/program_mpi.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "launch/elf_file.h"
#include "launch/library_search.h"
#include "launch/other_mpi.h"

namespace hearth::launch {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// An ELF file with nothing but a dynamic section, at address 0x1000.
std::string elf_with(const std::vector<std::pair<int64_t, std::string>>& texts) {
  std::string names(1, '\0');
  std::vector<Elf64_Dyn> entries;
  for (const auto& [tag, text] : texts) {
    entries.push_back({tag, {names.size()}});
    names += text + '\0';
  }
  const size_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const size_t names_at = dynamic_at + (entries.size() + 3) * sizeof(Elf64_Dyn);
  entries.push_back({DT_STRTAB, {0x1000 + names_at}});
  entries.push_back({DT_STRSZ, {names.size()}});
  entries.push_back({DT_NULL, {0}});
  Elf64_Ehdr own;
  std::ifstream("/proc/self/exe", std::ios::binary).read(reinterpret_cast<char*>(&own), sizeof own);
  own.e_phoff = sizeof own;
  own.e_phnum = 2;
  Elf64_Phdr load = {};
  load.p_type = PT_LOAD;
  load.p_vaddr = 0x1000;
  load.p_filesz = names_at + names.size();
  Elf64_Phdr dynamic = {};
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_filesz = entries.size() * sizeof(Elf64_Dyn);
  std::string file(reinterpret_cast<const char*>(&own), sizeof own);
  file.append(reinterpret_cast<const char*>(&load), sizeof load);
  file.append(reinterpret_cast<const char*>(&dynamic), sizeof dynamic);
  file.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Elf64_Dyn));
  return file + names;
}

class ProgramOfMpi : public testing::Test {
 protected:
  ProgramOfMpi() : folder_(fs::temp_directory_path() / ("hearth-mpi-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProgramOfMpi() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& contents) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  ProgramMpi find(const std::string& program, const Words& environment = {}) {
    return find_program_mpi(program, environment, "");
  }

  fs::path folder_;
};

TEST(MpiNames, LibrariesAreKnownByTheirNames) {
  EXPECT_EQ(mpi_name_of("libmpi_abi.so.1").abi, MpiAbi::standard);
  EXPECT_EQ(mpi_name_of("libmpi_abi.so.1.0").abi, MpiAbi::standard);
  EXPECT_EQ(mpi_name_of("libmpi_abi.so.2").abi, MpiAbi::other);
  EXPECT_EQ(mpi_name_of("libmpi.so.12").abi, MpiAbi::mpich);
  EXPECT_EQ(mpi_name_of("libmpi.so.12.3.1").abi, MpiAbi::mpich);
  EXPECT_EQ(mpi_name_of("libmpich.so.12").abi, MpiAbi::mpich);
  EXPECT_TRUE(mpi_name_of("libmpifort.so.12").companion);
  EXPECT_EQ(mpi_name_of("libmpi.so.40.30.4").abi, MpiAbi::open_mpi);
  EXPECT_TRUE(mpi_name_of("libopen-pal.so.80").companion);
  for (const char* name : {"libmpi.so.0", "libmpi.so.1", "libmpi.so.20", "libmpi.so.4", "libmpi.so",
                           "libmpich.so.10", "libmpi_ibm.so.3", "libmpi_gnu_123.so.12", "libmsmpi.so"}) {
    EXPECT_EQ(mpi_name_of(name).abi, MpiAbi::other) << name;
  }
  for (const char* name : {"", ".so", "libmpi", "libmpi.a", "libmpir.so.23", "libmpiP.so", "libmpi.sock",
                           "libmpi4py.so", "libhearth_check.so", "libc.so.6"}) {
    EXPECT_EQ(mpi_name_of(name).abi, MpiAbi::none) << name;
  }
}

TEST(Interpreters, AreTheWordsOfTheFirstLine) {
  EXPECT_EQ(interpreter_of("#!/bin/sh\nexit"), (Words{"/bin/sh"}));
  EXPECT_EQ(interpreter_of("#! /usr/bin/env  -S python3 -u\r\n"),
            (Words{"/usr/bin/env", "-S", "python3", "-u"}));
  EXPECT_TRUE(interpreter_of("#!").empty());
  EXPECT_TRUE(interpreter_of("# /bin/sh").empty());
  EXPECT_TRUE(interpreter_of("").empty());
}

TEST_F(ProgramOfMpi, ElfFilesAreRead) {
  const ElfFile file = read_elf(write("a", elf_with({{DT_NEEDED, "libmpi.so.12"},
                                                     {DT_SONAME, "liba.so.1"},
                                                     {DT_RPATH, "/r"},
                                                     {DT_RUNPATH, "/u"},
                                                     {DT_NEEDED, "libc.so.6"}})));
  EXPECT_TRUE(file.is_elf);
  EXPECT_TRUE(file.has_dynamic);
  EXPECT_EQ(file.loader, "");
  EXPECT_EQ(file.needed, (Words{"libmpi.so.12", "libc.so.6"}));
  EXPECT_EQ(file.soname, "liba.so.1");
  EXPECT_EQ(file.rpath, "/r");
  EXPECT_EQ(file.runpath, "/u");
  EXPECT_TRUE(has_dynamic_name(at("a"), "liba.so"));
  EXPECT_FALSE(has_dynamic_name(at("a"), "hearth_"));
  EXPECT_FALSE(has_dynamic_name(at("nowhere"), "x"));
  EXPECT_FALSE(read_elf("/proc/self").is_elf);
}

TEST_F(ProgramOfMpi, EachWordOfTheHeadersMayBeWrong) {
  const std::string good = elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_RUNPATH, "$ORIGIN:/${LIB}::"}});
  for (size_t bytes = 0; bytes < good.size(); bytes += 5) find(write("a", good.substr(0, bytes)));
  for (size_t i = 4; i + 4 <= good.size(); i += 4) {
    std::string broken = good;
    std::memset(broken.data() + i, 0xff, 4);
    find(write("a", broken));
  }
}

// The loader's order: rpath, LD_LIBRARY_PATH, runpath; runpath switches rpath off.
TEST_F(ProgramOfMpi, FoldersAreSearchedInTheLoadersOrder) {
  const std::string library = elf_with({{DT_SONAME, "libmpi.so.12"}});
  const std::string in_a = write("a/libmpi.so.12", library);
  const std::string in_b = write("b/libmpi.so.12", library);
  const std::string by_runpath =
      write("runpath", elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_RUNPATH, "$ORIGIN/a"}}));
  const std::string by_rpath =
      write("rpath", elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_RPATH, "/no:${ORIGIN}/a"}}));
  const std::string by_both = write(
      "both", elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_RPATH, "$ORIGIN/a"}, {DT_RUNPATH, "$ORIGIN/no"}}));
  const Words environment = {"LD_LIBRARY_PATH=" + at("no") + ";" + at("b")};
  const auto path = [&](const std::string& program, const Words& variables) {
    const ProgramMpi found = find(program, variables);
    return found.libraries.size() == 1 ? found.libraries[0].path : "nothing";
  };
  EXPECT_EQ(path(by_runpath, {}), in_a);
  EXPECT_EQ(path(by_runpath, environment), in_b);
  EXPECT_EQ(path(by_rpath, environment), in_a);
  EXPECT_EQ(path(by_both, environment), in_b);
  EXPECT_EQ(path(by_both, {}), "");
  EXPECT_EQ(find(by_both).abi(), MpiAbi::mpich);
  // Of another processor: passed over.
  std::string strange = library;
  reinterpret_cast<Elf64_Ehdr*>(strange.data())->e_machine = EM_S390;
  write("a/libmpi.so.12", strange);
  EXPECT_EQ(path(by_runpath, {}), "");
}

TEST_F(ProgramOfMpi, LibrariesOfLibrariesCount) {
  write("lib/libx.so", elf_with({{DT_NEEDED, "libmpi.so.40"}}));
  const ProgramMpi found = find(write("p", elf_with({{DT_NEEDED, "libx.so"}, {DT_RUNPATH, "$ORIGIN/lib"}})));
  EXPECT_EQ(found.abi(), MpiAbi::open_mpi);
  EXPECT_EQ(found.description(), "Open MPI 3 to 5 (libmpi.so.40, needed by libx.so)");
  // What an MPI library itself needs says nothing about the program.
  write("lib/libmpi.so.12", elf_with({{DT_NEEDED, "libmpi_abi.so.1"}}));
  const Words needs = {"LD_LIBRARY_PATH=" + at("lib")};
  EXPECT_EQ(find(write("q", elf_with({{DT_NEEDED, "libmpi.so.12"}})), needs).abi(), MpiAbi::mpich);
  const ProgramMpi both =
      find(write("r", elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_NEEDED, "libx.so"}})), needs);
  EXPECT_EQ(both.abi(), MpiAbi::other);
  EXPECT_EQ(both.libraries.size(), 2u);
}

TEST_F(ProgramOfMpi, ACompanionAloneIsNoMpi) {
  EXPECT_EQ(find(write("mpirun", elf_with({{DT_NEEDED, "libopen-pal.so.40"}}))).abi(), MpiAbi::none);
}

TEST_F(ProgramOfMpi, OldOpenMpiHasTheNumberOfMpich) {
  const std::string old = elf_with({{DT_NEEDED, "libmpi.so.12"}, {DT_FLAGS, "ompi_mpi_comm_world"}});
  const ProgramMpi found = find(write("old", old));
  EXPECT_EQ(found.abi(), MpiAbi::other);
  EXPECT_EQ(found.description(), "Open MPI before 3 (libmpi.so.12)");
}

TEST_F(ProgramOfMpi, LibrariesThatNeedEachOtherEnd) {
  write("lib/liba.so", elf_with({{DT_NEEDED, "libb.so"}}));
  write("lib/libb.so", elf_with({{DT_NEEDED, "liba.so"}, {DT_NEEDED, "libmpi.so.12"}}));
  const Words environment = {"LD_LIBRARY_PATH=" + at("lib")};
  EXPECT_EQ(find(write("p", elf_with({{DT_NEEDED, "liba.so"}})), environment).abi(), MpiAbi::mpich);
}

TEST_F(ProgramOfMpi, ScriptsAreKnownByTheirInterpreter) {
  const Words environment = {"PATH=" + at("bin")};
  write("bin/python3", elf_with({{DT_NEEDED, "libc.so.6"}}));
  const ProgramMpi script = find(write("app.py", "#!/usr/bin/env -S A=1 python3 -u\n"), environment);
  EXPECT_TRUE(script.is_script && script.is_python);
  EXPECT_EQ(script.program, at("bin/python3"));
  EXPECT_EQ(script.abi(), MpiAbi::none);
  // A script whose interpreter is itself never ends.
  EXPECT_TRUE(find(write("loop", "#!" + at("loop") + "\n")).is_script);
  const ProgramMpi lost = find(write("lost", "#!/usr/bin/env no-such-program\n"), environment);
  EXPECT_TRUE(lost.is_script);
  EXPECT_EQ(lost.program, "");
}

TEST_F(ProgramOfMpi, OrdinaryPrograms) {
  EXPECT_EQ(find("/bin/sh").abi(), MpiAbi::none);
  EXPECT_FALSE(find("/bin/sh").is_static);
  EXPECT_EQ(find("/no/such/program").abi(), MpiAbi::none);
  EXPECT_EQ(find(write("empty", "")).abi(), MpiAbi::none);
  EXPECT_TRUE(find(write("static", elf_with({}))).is_static);
}

TEST(LoaderCache, IsReadOrRefused) {
  // Header: magic, entries, bytes of the texts, 20 bytes unused. Two entries; both texts follow.
  std::string cache = "glibc-ld.so.cache1.1";
  const auto number = [&cache](uint32_t value) {
    cache.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const uint32_t value : {2, 0, 0, 0, 0, 0, 0}) number(value);
  const uint32_t texts = 48 + 2 * 24;
  for (const uint32_t value : {3u, texts, texts + 8, 0u, 0u, 0u}) number(value);
  for (const uint32_t value : {3u, 0xffffffffu, texts, 0u, 0u, 0u}) number(value);
  cache += std::string("liba.so\0/lib/liba.so\0", 21);
  EXPECT_EQ(paths_in_cache(cache, "liba.so"), (Words{"/lib/liba.so"}));
  EXPECT_EQ(paths_in_cache("old table" + cache, "liba.so"), (Words{"/lib/liba.so"}));
  EXPECT_TRUE(paths_in_cache(cache, "libb.so").empty());
  for (size_t bytes = 0; bytes < cache.size(); ++bytes) paths_in_cache(cache.substr(0, bytes), "liba.so");
  EXPECT_TRUE(paths_in_cache("glibc-ld.so.cache1.1", "liba.so").empty());
}

TEST_F(ProgramOfMpi, MappedLibrariesAreFound) {
  const std::string line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42   ";
  write("lib/libmpi.so.40", elf_with({{DT_SONAME, "libmpi.so.40"}}));
  write("own/libmpi_abi.so.1", elf_with({{DT_SONAME, "libmpi_abi.so.1"}, {DT_FLAGS, "hearth_heap_open"}}));
  const std::string others = line + "/lib/libc.so.6\n" + line + "/lib/libmpi.so.40\n" + line +
                             "/lib/libmpi.so.40\n" + line + "[heap]\n" + line + "\n";
  const auto found = other_mpis_mapped(others, folder_.string());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "/lib/libmpi.so.40");
  EXPECT_TRUE(other_mpis_mapped(others + line + "/own/libmpi_abi.so.1", folder_.string()).empty());
  EXPECT_TRUE(other_mpis_mapped("", "").empty());
}

}  // namespace
}  // namespace hearth::launch
