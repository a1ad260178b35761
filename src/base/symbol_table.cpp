#include "base/symbol_table.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/os_file.h"
#include "base/os_memory.h"

namespace hearth {
namespace {

// Larger tables are not read: some programs have gigabytes of them.
constexpr uint64_t kTableBytesMax = uint64_t{256} << 20;

template <class T>
bool read_table(int file, uint64_t offset, uint64_t count, uint64_t each, std::vector<T>& table) {
  if (each != sizeof(T) || count > kTableBytesMax / sizeof(T)) return false;
  table.resize(count);
  const auto bytes = static_cast<intptr_t>(count * sizeof(T));
  auto* to = reinterpret_cast<std::byte*>(table.data());
  for (intptr_t done = 0; done < bytes;) {
    const intptr_t more =
        os::read_at(file, to + done, static_cast<size_t>(bytes - done), offset + static_cast<uint64_t>(done));
    if (more <= 0) return false;
    done += more;
  }
  return true;
}

/// Without the parameters, which only distinguish overloads.
std::string without_parameters(const std::string& text) {
  const size_t last = text.rfind(')');
  if (last == std::string::npos) return text;
  int depth = 0;
  for (size_t i = last + 1; i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i == 0 ? text : text.substr(0, i);
  }
  return text;
}

}  // namespace

// Also removes the compiler's suffixes for parts and clones of a function.
std::string readable_name(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const bool is_plain = status == 0 && plain != nullptr;
  std::string text = is_plain ? without_parameters(plain) : name;
  std::free(plain);
  if (const size_t dot = text.find('.'); !is_plain && dot != 0) text = text.substr(0, dot);
  return text;
}

SymbolTable::SymbolTable(const std::string& path) {
  read(path);
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.address < b.address; });
}

void SymbolTable::read(const std::string& path) {
  const os::Descriptor file = os::open_regular_file(path.c_str());
  std::vector<Elf64_Ehdr> head;
  if (!file.open() || !read_table(file.number(), 0, 1, sizeof(Elf64_Ehdr), head)) return;
  const Elf64_Ehdr& elf = head[0];
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return;
  std::vector<Elf64_Phdr> parts;
  if (!read_table(file.number(), elf.e_phoff, elf.e_phnum, elf.e_phentsize, parts)) return;
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type == PT_LOAD) loads_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
  }
  std::vector<Elf64_Shdr> sections;
  if (elf.e_shnum == 0 || !read_table(file.number(), elf.e_shoff, elf.e_shnum, elf.e_shentsize, sections)) {
    return;
  }
  // The full table, unless the file is stripped.
  const Elf64_Shdr* symbols = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && symbols == nullptr)) {
      symbols = &section;
    }
  }
  if (symbols == nullptr || symbols->sh_entsize == 0 || symbols->sh_link >= sections.size()) return;
  const Elf64_Shdr& strings = sections[symbols->sh_link];
  std::vector<Elf64_Sym> table;
  std::vector<char> names;
  if (!read_table(file.number(), symbols->sh_offset, symbols->sh_size / symbols->sh_entsize,
                  symbols->sh_entsize, table) ||
      !read_table(file.number(), strings.sh_offset, strings.sh_size, 1, names)) {
    return;
  }
  if (names.empty() || names.back() != '\0') return;
  for (const Elf64_Sym& symbol : table) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) continue;
    if (symbol.st_name >= names.size() || names[symbol.st_name] == '\0') continue;
    functions_.push_back({symbol.st_value, symbol.st_size, &names[symbol.st_name]});
  }
}

uint64_t SymbolTable::address_of(uint64_t file_offset) const {
  for (const Load& load : loads_) {
    if (file_offset >= load.offset && file_offset - load.offset < load.bytes) {
      return file_offset - load.offset + load.address;
    }
  }
  return file_offset;
}

uint64_t SymbolTable::address_from_begin(uint64_t distance) const {
  // The kernel maps a file from the page in which its first segment begins.
  const uint64_t page = os::page_bytes();
  const auto first = std::min_element(loads_.begin(), loads_.end(), [](const Load& one, const Load& other) {
    return one.address < other.address;
  });
  return distance + (first == loads_.end() ? 0 : first->address & ~(page - 1));
}

const char* SymbolTable::function_at(uint64_t address, uint64_t& beyond) const {
  auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                               [](uint64_t at, const Function& function) { return at < function.address; });
  // The list also contains aliases and parts of functions: takes the nearest one that includes the address.
  for (int steps = 0; next != functions_.begin() && steps < 8; ++steps) {
    --next;
    if (next->bytes != 0 && address - next->address >= next->bytes) continue;
    beyond = address - next->address;
    return next->name.c_str();
  }
  return nullptr;
}

const SymbolTable& SymbolTables::of(const std::string& path) {
  std::unique_ptr<SymbolTable>& table = tables_[path];
  if (table == nullptr) table = std::make_unique<SymbolTable>(path);
  return *table;
}

}  // namespace hearth
