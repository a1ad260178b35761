// The functions that an ELF file names, for who has an address in a program: mpiexec and the hearth tool. The
// library does not use it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth {

/// The functions of one ELF file.
class SymbolTable {
 public:
  /// Empty where the file cannot be read or is none.
  explicit SymbolTable(const std::string& path);
  /// From a place in the file to the address that its own tables use.
  uint64_t address_of(uint64_t file_offset) const;
  /// The same from a distance to where the file begins in memory.
  uint64_t address_from_begin(uint64_t distance) const;
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

/// A name of C++ in the program's words, without parameters.
std::string readable_name(const char* name);

}  // namespace hearth
