#include "profile/symbols.h"

#include <elf.h>

#include <algorithm>
#include <vector>

#include "base/os_io.h"

namespace hearth::profile {
namespace {

// More than any program has; a damaged file must not take all memory.
constexpr uint64_t kTableBytesMax = uint64_t{256} << 20;

class File {
 public:
  explicit File(const std::string& path) : descriptor_(os::open_to_read(path.c_str())) {}
  template <class T>
  bool read(uint64_t offset, T& to) const {
    return descriptor_.open() && os::read_at(descriptor_.number(), &to, sizeof to, offset) == sizeof to;
  }
  template <class T>
  std::vector<T> read_all(uint64_t offset, uint64_t bytes) const {
    if (bytes > kTableBytesMax) return {};
    std::vector<T> all(bytes / sizeof(T));
    const auto length = static_cast<intptr_t>(all.size() * sizeof(T));
    if (os::read_at(descriptor_.number(), all.data(), static_cast<size_t>(length), offset) != length)
      return {};
    return all;
  }

 private:
  os::Descriptor descriptor_;
};

// Addresses in the file count from here: 0 for a shared object, elsewhere for a program with a fixed place.
uint64_t first_address(const File& file, const Elf64_Ehdr& head) {
  uint64_t first = UINT64_MAX;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!file.read(head.e_phoff + static_cast<uint64_t>(i) * sizeof part, part)) break;
    if (part.p_type == PT_LOAD) first = std::min(first, part.p_vaddr);
  }
  return first == UINT64_MAX ? 0 : first & ~uint64_t{4095};
}

}  // namespace

std::string function_at(const std::string& path, uint64_t offset) {
  const File file(path);
  Elf64_Ehdr head;
  if (!file.read(0, head) || !std::equal(ELFMAG, ELFMAG + SELFMAG, head.e_ident) ||
      head.e_ident[EI_CLASS] != ELFCLASS64) {
    return "";
  }
  const uint64_t address = first_address(file, head) + offset;
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr table;
    Elf64_Shdr names;
    if (!file.read(head.e_shoff + static_cast<uint64_t>(i) * sizeof table, table)) break;
    if (table.sh_type != SHT_SYMTAB ||
        !file.read(head.e_shoff + uint64_t{table.sh_link} * sizeof names, names)) {
      continue;
    }
    std::vector<char> text = file.read_all<char>(names.sh_offset, names.sh_size);
    text.push_back('\0');
    for (const Elf64_Sym& symbol : file.read_all<Elf64_Sym>(table.sh_offset, table.sh_size)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address < symbol.st_value ||
          address >= symbol.st_value + symbol.st_size || symbol.st_name >= text.size()) {
        continue;
      }
      return &text[symbol.st_name];
    }
  }
  return "";
}

}  // namespace hearth::profile
