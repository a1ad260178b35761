// The functions of an ELF file, by address: for mpiexec and the hearth tool. The library does not use it.
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
  /// Empty if the file cannot be read or is not an ELF file.
  explicit SymbolTable(const std::string& path);
  /// Converts an offset in the file to an address in the file's own tables.
  uint64_t address_of(uint64_t file_offset) const;
  /// The same for the distance from the beginning of the file's mapping.
  uint64_t address_from_begin(uint64_t distance) const;
  /// The function that contains an address, and the distance from its beginning in `beyond`; nullptr if there
  /// is none.
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
  std::vector<Function> functions_;  // sorted by address
};

/// Cache of the files that have been read, because many processes map the same ones.
class SymbolTables {
 public:
  const SymbolTable& of(const std::string& path);

 private:
  std::map<std::string, std::unique_ptr<SymbolTable>> tables_;
};

/// A demangled C++ name without parameters.
std::string readable_name(const char* name);

}  // namespace hearth
