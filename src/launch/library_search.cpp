#include "launch/library_search.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "base/os_io.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCacheFile = "/etc/ld.so.cache";
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr size_t kCacheHeaderBytes = 48;
// More than the largest programs load; a bound for cycles of names that differ.
constexpr size_t kFilesMax = 4096;

// Those of Debian and of the others; files of another processor do not fit.
constexpr const char* kUsualFolders =
    "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
    "/lib64:/usr/lib64:/lib:/usr/lib";

// An entry of the cache: flags, name, path, version of the system, hardware capabilities.
struct CacheEntry {
  int32_t flags;
  uint32_t name;
  uint32_t path;
  uint32_t system;
  uint64_t capabilities;
};
static_assert(sizeof(CacheEntry) == 24);

std::string_view text_at(std::string_view contents, size_t at) {
  if (at >= contents.size()) return "";
  const std::string_view rest = contents.substr(at);
  return rest.substr(0, rest.find('\0'));
}

// "$ORIGIN" and "${ORIGIN}" are replaced. Returns "" for a folder with another of the loader's tokens, whose
// value depends on the system.
std::string expand(std::string folder, const std::string& origin) {
  for (const char* token : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = folder.find(token); at != std::string::npos;
         at = folder.find(token, at + origin.size())) {
      folder.replace(at, std::strlen(token), origin);
    }
  }
  return folder.find('$') == std::string::npos ? folder : "";
}

}  // namespace

std::vector<std::string> paths_in_cache(std::string_view contents, std::string_view name) {
  std::vector<std::string> paths;
  // Old systems put a table of the former format in front.
  const size_t begin = contents.find(kCacheMagic);
  if (begin == std::string_view::npos || contents.size() - begin < kCacheHeaderBytes) return paths;
  const std::string_view cache = contents.substr(begin);
  uint32_t count = 0;
  std::memcpy(&count, cache.data() + kCacheMagic.size(), sizeof count);
  const size_t entries = std::min<size_t>(count, (cache.size() - kCacheHeaderBytes) / sizeof(CacheEntry));
  for (size_t i = 0; i < entries; ++i) {
    CacheEntry entry;
    std::memcpy(&entry, cache.data() + kCacheHeaderBytes + i * sizeof entry, sizeof entry);
    if (text_at(cache, entry.name) == name) paths.emplace_back(text_at(cache, entry.path));
  }
  return paths;
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

LibrarySearch::LibrarySearch(const std::vector<std::string>& environment, const std::string& folder)
    : folder_(folder), preloads_(preloads_of(environment)) {
  const char* value = find_variable(environment, "LD_LIBRARY_PATH");
  library_path_ = value == nullptr ? "" : value;
  std::replace(library_path_.begin(), library_path_.end(), ';', ':');
}

// A file of another processor or width is skipped, as the loader does.
bool LibrarySearch::fits(const std::string& path) const {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  const ElfFile elf = read_elf(path);
  return elf.is_elf && elf.machine == files_[0].elf.machine && elf.width == files_[0].elf.width;
}

std::string LibrarySearch::origin_of(size_t index) const {
  const std::string& path = files_[index].path;
  std::error_code error;
  const fs::path file = index == 0 ? fs::canonical(in_folder(folder_, path), error) : fs::path(path);
  return (error ? fs::path(path) : file).parent_path().string();
}

std::string LibrarySearch::find_in(const std::string& folders, const std::string& origin,
                                   const std::string& name) const {
  if (folders.empty()) return "";
  for (size_t start = 0; start <= folders.size();) {
    const size_t end = std::min(folders.find(':', start), folders.size());
    const std::string given = folders.substr(start, end - start);
    const std::string place = given.empty() ? "." : expand(given, origin);
    start = end + 1;
    if (place.empty()) continue;
    const std::string path = in_folder(folder_, place) + "/" + name;
    if (fits(path)) return path;
  }
  return "";
}

std::string LibrarySearch::find_in_cache(const std::string& name) {
  if (cache_.empty()) cache_ = os::read_text(kCacheFile);
  const std::vector<std::string> paths = paths_in_cache(cache_, name);
  const auto fitting = std::find_if(paths.begin(), paths.end(), [&](const auto& path) { return fits(path); });
  return fitting == paths.end() ? "" : *fitting;
}

std::string LibrarySearch::find(const std::string& name, size_t needed_by) {
  if (name.find('/') != std::string::npos) {
    const std::string path = in_folder(folder_, expand(name, origin_of(needed_by)));
    return fits(path) ? path : "";
  }
  std::string path;
  if (files_[needed_by].elf.runpath.empty()) {
    for (size_t at = needed_by;; at = files_[at].needed_by) {
      const ElfFile& elf = files_[at].elf;
      if (elf.runpath.empty()) path = find_in(elf.rpath, origin_of(at), name);
      if (!path.empty()) return path;
      if (at == 0) break;
    }
  }
  path = find_in(library_path_, origin_of(0), name);
  if (path.empty()) path = find_in(files_[needed_by].elf.runpath, origin_of(needed_by), name);
  if (path.empty()) path = find_in_cache(name);
  if (path.empty()) path = find_in(kUsualFolders, "", name);
  return path;
}

// The loader compares a needed name with the names and the sonames of the files that it has loaded.
bool LibrarySearch::is_loaded(const std::string& name) const {
  return std::any_of(files_.begin(), files_.end(), [&](const LoadedFile& file) {
    return file.name == name || (!file.elf.soname.empty() && file.elf.soname == name);
  });
}

std::vector<LoadedFile> LibrarySearch::files_of(const std::string& program,
                                                bool (*is_leaf)(const std::string& name)) {
  files_.assign(1, {program, program, 0, read_elf(in_folder(folder_, program))});
  // Preloaded libraries come first, as if the program named them before all others.
  std::vector<std::string>& needed = files_[0].elf.needed;
  if (!files_[0].elf.loader.empty()) needed.insert(needed.begin(), preloads_.begin(), preloads_.end());
  for (size_t at = 0; at < files_.size(); ++at) {
    if (at > 0 && (files_[at].path.empty() || is_leaf(files_[at].name))) continue;
    const std::vector<std::string> names = files_[at].elf.needed;
    for (const std::string& name : names) {
      if (files_.size() >= kFilesMax) return files_;
      if (name.empty() || is_loaded(name)) continue;
      LoadedFile file = {name, find(name, at), at, {}};
      if (!file.path.empty()) file.elf = read_elf(file.path);
      files_.push_back(std::move(file));
    }
  }
  return files_;
}

}  // namespace hearth::launch
