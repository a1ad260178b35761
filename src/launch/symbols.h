// Names for addresses in other processes: which file is mapped there, and which function of its symbol table
// it is. Reads /proc and the files; the processes notice nothing. Used by mpiexec and the hearth tool when
// they explain what ranks wait for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth::launch {

/// What lies at an address.
struct CodePlace {
  std::string file;         // path; "" where nothing is known
  uint64_t offset = 0;      // in the file's own addresses, as addr2line takes them
  std::string function;     // "" where the file names none
  uint64_t beyond = 0;      // of the function's begin
  bool in_library = false;  // this one: libmpi_abi.so
};

/// The functions of one ELF file.
class SymbolTable {
 public:
  /// Empty where the file cannot be read or is none.
  explicit SymbolTable(const std::string& path);
  /// From a place in the file to the address that its own tables use.
  uint64_t address_of(uint64_t file_offset) const;
  /// nullptr where no function is at that address.
  const char* function_at(uint64_t address, uint64_t& beyond) const;

 private:
  struct Load {
    uint64_t offset;
    uint64_t bytes;
    uint64_t address;
  };
  struct Function {
    uint64_t address;
    uint64_t bytes;
    std::string name;
  };
  void read(const std::string& path);

  std::vector<Load> loads_;
  std::vector<Function> functions_;  // by address
};

/// Files that have been read are kept, for the next process that maps them.
class SymbolTables {
 public:
  const SymbolTable& of(const std::string& path);

 private:
  std::map<std::string, std::unique_ptr<SymbolTable>> tables_;
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
