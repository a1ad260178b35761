#include "launch/heap_preload.h"

#include <filesystem>

#include "base/os_machine.h"
#include "launch/base_name.h"
#include "launch/elf_file.h"
#include "launch/library_search.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

// Libraries with their own malloc: sanitizers must be the first in the lookup order, and a program may call
// the others by additional names.
constexpr const char* kOwnMalloc[] = {"libasan.so",       "libtsan.so",       "liblsan.so",
                                      "libhwasan.so",     "libclang_rt.asan", "libclang_rt.hwasan",
                                      "libclang_rt.tsan", "libjemalloc.so",   "libtcmalloc",
                                      "libmimalloc.so",   "libtbbmalloc.so"};

std::string own_malloc_among(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    const std::string name = base_of(library);
    for (const char* known : kOwnMalloc) {
      if (name.starts_with(known)) return name;
    }
  }
  return "";
}

}  // namespace

std::string library_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path().parent_path() / HEARTH_LIBDIR).string();
}

std::string library_beside(const std::string& name) {
  const std::string path = library_folder() + "/" + name;
  return os::path_exists(path.c_str()) && path.find_first_of(": ") == std::string::npos ? path : "";
}

std::string heap_library() {
  return library_beside("libhearth_heap.so");
}

std::string reason_against_heap(const std::string& program, const std::vector<std::string>& environment) {
  const ElfFile executable = read_elf(program);
  if (!executable.is_elf) return "";
  const ElfFile self = read_elf("/proc/self/exe");
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
