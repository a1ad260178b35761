#include "launch/heap_preload.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/os_io.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr size_t kEntriesMax = 4096;

// Libraries with their own malloc: sanitizers must be the first in the lookup order, and a program may call
// the others by additional names.
constexpr const char* kOwnMalloc[] = {"libasan.so",       "libtsan.so",       "liblsan.so",
                                      "libhwasan.so",     "libclang_rt.asan", "libclang_rt.hwasan",
                                      "libclang_rt.tsan", "libjemalloc.so",   "libtcmalloc",
                                      "libmimalloc.so",   "libtbbmalloc.so"};

/// Facts from an executable's ELF headers.
struct Executable {
  bool is_elf = false;
  uint16_t machine = 0;
  unsigned char width = 0;          // ELFCLASS64
  std::string loader;               // "" if it is linked statically
  std::vector<std::string> needed;  // libraries
};

class ElfReader {
 public:
  explicit ElfReader(const std::string& path) : file_(os::open_to_read(path.c_str())) {}

  Executable read() {
    Executable result;
    Elf64_Ehdr header;
    if (!file_.open() || !get(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return result;
    result.is_elf = true;
    result.machine = header.e_machine;
    result.width = header.e_ident[EI_CLASS];
    if (result.width != ELFCLASS64) return result;
    for (size_t i = 0; i < std::min<size_t>(header.e_phnum, kEntriesMax); ++i) {
      Elf64_Phdr part;
      if (!get(header.e_phoff + i * header.e_phentsize, part)) break;
      parts_.push_back(part);
    }
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type == PT_INTERP) result.loader = text_at(part.p_offset);
      if (part.p_type == PT_DYNAMIC) read_needed(part, result.needed);
    }
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

  void read_needed(const Elf64_Phdr& part, std::vector<std::string>& needed) {
    uint64_t texts = 0;
    std::vector<uint64_t> names;
    for (size_t i = 0; i < std::min<size_t>(part.p_filesz / sizeof(Elf64_Dyn), kEntriesMax); ++i) {
      Elf64_Dyn entry;
      if (!get(part.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) texts = offset_of(entry.d_un.d_ptr);
    }
    if (texts == 0) return;
    for (const uint64_t name : names) needed.push_back(text_at(texts + name));
  }

  os::Descriptor file_;
  std::vector<Elf64_Phdr> parts_;
};

std::string own_malloc_among(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    const std::string name = library.substr(library.rfind('/') + 1);
    for (const char* known : kOwnMalloc) {
      if (name.starts_with(known)) return name;
    }
  }
  return "";
}

std::vector<std::string> preloads_of(const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  const char* value = find_variable(environment, "LD_PRELOAD");
  const std::string all = value == nullptr ? "" : value;
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find_first_of(": ", start), all.size());
    if (end > start) result.push_back(all.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

}  // namespace

std::string library_beside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path library = self.parent_path().parent_path() / HEARTH_LIBDIR / name;
  const std::string path = library.string();
  return std::filesystem::exists(library, error) && path.find_first_of(": ") == std::string::npos ? path : "";
}

std::string heap_library() {
  return library_beside("libhearth_heap.so");
}

bool is_known_to_use_mpi(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  if (name.starts_with("python")) return true;
  return std::ranges::any_of(ElfReader(program).read().needed, [](const std::string& library) {
    return library.substr(library.rfind('/') + 1).starts_with("libmpi");
  });
}

std::string reason_against_heap(const std::string& program, const std::vector<std::string>& environment) {
  const Executable executable = ElfReader(program).read();
  if (!executable.is_elf) return "";
  const Executable self = ElfReader("/proc/self/exe").read();
  if (executable.machine != self.machine || executable.width != self.width) {
    return "it is made for another kind of processor";
  }
  if (executable.loader.empty()) return "it is linked statically";
  if (executable.loader != self.loader) return "it uses another C library";
  std::string found = own_malloc_among(executable.needed);
  if (found.empty()) found = own_malloc_among(preloads_of(environment));
  return found.empty() ? "" : found + " has a malloc of its own";
}

void add_preload(const std::string& library, std::vector<std::string>& environment) {
  std::string preloads;
  for (const std::string& preload : preloads_of(environment)) preloads += preload + ":";
  set_variable(environment, "LD_PRELOAD", preloads + library);
}

}  // namespace hearth::launch
