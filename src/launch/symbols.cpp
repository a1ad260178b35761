#include "launch/symbols.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/os_io.h"
#include "launch/base_name.h"

namespace hearth::launch {
ProcessCode::ProcessCode(int pid, SymbolTables& tables)
    : root_("/proc/" + std::to_string(pid) + "/root"), tables_(tables) {
  take(os::read_text(("/proc/" + std::to_string(pid) + "/maps").c_str()));
}

ProcessCode::ProcessCode(const std::string& maps, const std::string& root, SymbolTables& tables)
    : root_(root), tables_(tables) {
  take(maps);
}

void ProcessCode::take(const std::string& maps) {
  for (size_t begin = 0; begin < maps.size();) {
    const size_t end = std::min(maps.find('\n', begin), maps.size());
    const std::string line = maps.substr(begin, end - begin);
    begin = end + 1;
    Mapping mapping;
    char rights[8] = "";
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapping.begin,
                    &mapping.end, rights, &mapping.offset, &path_at) < 4) {
      continue;
    }
    if (std::strchr(rights, 'x') == nullptr || path_at <= 0) continue;
    mapping.path = line.substr(static_cast<size_t>(path_at));
    if (mapping.path.empty() || mapping.path[0] != '/') continue;
    mappings_.push_back(std::move(mapping));
  }
}

CodePlace ProcessCode::find(uint64_t address) const {
  CodePlace place;
  for (const Mapping& mapping : mappings_) {
    if (address < mapping.begin || address >= mapping.end) continue;
    place.file = mapping.path;
    const std::string name = base_of(place.file);
    place.in_library = name.starts_with("libmpi_abi.so") || name == "libhearth_check.so";
    const SymbolTable& table = tables_.of(root_ + mapping.path);
    place.offset = table.address_of(address - mapping.begin + mapping.offset);
    if (const char* function = table.function_at(place.offset, place.beyond)) {
      place.function = readable_name(function);
    }
    break;
  }
  return place;
}

std::string words_of(const CodePlace& place, bool with_file) {
  if (place.file.empty()) return "";
  char offset[32];
  if (place.function.empty()) {
    std::snprintf(offset, sizeof offset, "0x%" PRIx64, place.offset);
    return offset + (with_file ? " in " + base_of(place.file) : "");
  }
  std::snprintf(offset, sizeof offset, "+0x%" PRIx64, place.beyond);
  return place.function + offset + (with_file ? " in " + base_of(place.file) : "");
}

}  // namespace hearth::launch
