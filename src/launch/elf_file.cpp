#include "launch/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/os_file.h"

namespace hearth::launch {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr size_t kEntriesMax = 4096;
constexpr size_t kNamesBytesMax = size_t{1} << 20;
constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

constexpr size_t kNeededBytesMax = size_t{1} << 16;

class ElfReader {
 public:
  explicit ElfReader(const std::string& path) : file_(os::open_regular_file(path.c_str())) {}

  ElfFile read() {
    ElfFile result;
    Elf64_Ehdr header;
    if (!file_.open() || !get(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return result;
    result.is_elf = true;
    result.machine = header.e_machine;
    result.width = header.e_ident[EI_CLASS];
    if (result.width != ELFCLASS64 || header.e_ident[EI_DATA] != kByteOrder) return result;
    for (size_t i = 0; i < std::min<size_t>(header.e_phnum, kEntriesMax); ++i) {
      Elf64_Phdr part;
      if (!get(header.e_phoff + i * header.e_phentsize, part)) break;
      parts_.push_back(part);
    }
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type == PT_INTERP && result.loader.empty()) result.loader = text_at(part.p_offset);
      if (part.p_type == PT_DYNAMIC && !result.has_dynamic) read_dynamic(part, result);
    }
    return result;
  }

  /// The names of the dynamic section. Pre: read() was called.
  std::string names() {
    std::string result(std::min<uint64_t>(names_bytes_, kNamesBytesMax), '\0');
    if (names_ == 0 || result.empty()) return "";
    const intptr_t bytes = os::read_at(file_.number(), result.data(), result.size(), names_);
    result.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
    return result;
  }

 private:
  template <class T>
  bool get(uint64_t offset, T& value) {
    return os::read_at(file_.number(), &value, sizeof value, offset) == static_cast<intptr_t>(sizeof value);
  }

  std::string text_at(uint64_t offset) {
    char text[kTextBytesMax];
    const intptr_t bytes = os::read_at(file_.number(), text, sizeof text, offset);
    return bytes <= 0 ? "" : std::string(text, strnlen(text, static_cast<size_t>(bytes)));
  }

  uint64_t offset_of(uint64_t address) const {
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
        return address - part.p_vaddr + part.p_offset;
      }
    }
    return 0;
  }

  // Entries refer to the table of names, which may be described after them.
  void read_dynamic(const Elf64_Phdr& part, ElfFile& result) {
    result.has_dynamic = true;
    std::vector<Elf64_Dyn> entries;
    for (size_t i = 0; i < std::min<size_t>(part.p_filesz / sizeof(Elf64_Dyn), kEntriesMax); ++i) {
      Elf64_Dyn entry;
      if (!get(part.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) names_ = offset_of(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRSZ) names_bytes_ = entry.d_un.d_val;
      entries.push_back(entry);
    }
    if (names_ == 0) return;
    size_t needed_bytes = 0;
    for (const Elf64_Dyn& entry : entries) {
      const uint64_t at = names_ + entry.d_un.d_val;
      if (entry.d_tag == DT_NEEDED && needed_bytes < kNeededBytesMax) {
        result.needed.push_back(text_at(at));
        needed_bytes += result.needed.back().size() + 1;
      }
      if (entry.d_tag == DT_SONAME) result.soname = text_at(at);
      if (entry.d_tag == DT_RPATH) result.rpath = text_at(at);
      if (entry.d_tag == DT_RUNPATH) result.runpath = text_at(at);
    }
  }

  os::Descriptor file_;
  std::vector<Elf64_Phdr> parts_;
  uint64_t names_ = 0;  // offset in the file; 0: none
  uint64_t names_bytes_ = 0;
};

}  // namespace

ElfFile read_elf(const std::string& path) {
  return ElfReader(path).read();
}

bool has_dynamic_name(const std::string& path, std::string_view text) {
  ElfReader reader(path);
  return reader.read().has_dynamic && reader.names().find(text) != std::string::npos;
}

}  // namespace hearth::launch
