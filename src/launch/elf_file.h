// Reads the headers of an ELF file: for which processor it is, its loader, and the libraries that it needs.
// mpiexec and the hearth tool use it. A malformed file gives incomplete facts, never a failure: offsets and
// counts in it are not trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::launch {

struct ElfFile {
  bool is_elf = false;
  uint16_t machine = 0;             // EM_X86_64
  unsigned char width = 0;          // ELFCLASS64; the fields below are filled in for this width only
  std::string loader;               // "" for libraries and statically linked programs
  bool has_dynamic = false;         // has a dynamic section; static programs have none
  std::string soname;               // the name by which other files need it; "" if it has none
  std::string rpath;                // folders separated by colons, searched before LD_LIBRARY_PATH
  std::string runpath;              // the same, searched after it; rpath is ignored if this is set
  std::vector<std::string> needed;  // names of libraries, in order
};

/// Reads the headers, the dynamic section and its names. is_elf is false if the file cannot be read or is of
/// another kind.
ElfFile read_elf(const std::string& path);

/// Whether a text occurs among the names of a file's dynamic section: its symbols and libraries. Reads the
/// first MiB of them.
bool has_dynamic_name(const std::string& path, std::string_view text);

}  // namespace hearth::launch
