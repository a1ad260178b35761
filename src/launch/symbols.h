// Names for addresses in other processes: the file mapped at an address, and the function in its symbol
// table. Reads /proc and the files; the processes are not affected. Used by mpiexec and the hearth tool to
// explain what ranks wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/symbol_table.h"

namespace hearth::launch {

/// The code at an address.
struct CodePlace {
  std::string file;         // path; "" if unknown
  uint64_t offset = 0;      // in the file's own addresses, as addr2line expects them
  std::string function;     // "" if the file has no name for it
  uint64_t beyond = 0;      // distance from the function's begin
  bool in_library = false;  // libmpi_abi.so or libhearth_check.so
};

/// The code that a process has mapped at the moment.
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
  std::string root_;  // prefix under which the process's files are visible here
  SymbolTables& tables_;
};

/// "exchange+0x4c in solver"; "0x1234 in solver" if the function has no name; "" if nothing is known.
std::string words_of(const CodePlace& place, bool with_file = true);

}  // namespace hearth::launch
