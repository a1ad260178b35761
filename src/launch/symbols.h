// Names for addresses in other processes: which file is mapped there, and which function of its symbol table
// it is. Reads /proc and the files; the processes notice nothing. Used by mpiexec and the hearth tool when
// they explain what ranks wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/symbol_table.h"

namespace hearth::launch {

/// What lies at an address.
struct CodePlace {
  std::string file;         // path; "" where nothing is known
  uint64_t offset = 0;      // in the file's own addresses, as addr2line takes them
  std::string function;     // "" where the file names none
  uint64_t beyond = 0;      // of the function's begin
  bool in_library = false;  // this one: libmpi_abi.so
};

/// The code that a process has mapped now.
class ProcessCode {
 public:
  ProcessCode(int pid, SymbolTables& tables);
  /// For tests: from the text of /proc/PID/maps.
  ProcessCode(const std::string& maps, const std::string& root, SymbolTables& tables);
  CodePlace find(uint64_t address) const;

 private:
  struct Mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    std::string path;
  };
  void take(const std::string& maps);

  std::vector<Mapping> mappings_;
  std::string root_;  // how the process's files are reached from here
  SymbolTables& tables_;
};

/// "exchange+0x4c in solver"; "0x1234 in solver" where the function has no name; "" where nothing is known.
std::string words_of(const CodePlace& place, bool with_file = true);

}  // namespace hearth::launch
