#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/os_wait.h"
#include "facts.h"
#include "tune/machine_identity.h"

namespace hearth::tools {
namespace {

using tune::has_word;
using tune::value_in;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string or_unknown(std::string text) {
  return text.empty() ? "unknown" : text;
}

std::string hypervisor(const std::string& processors) {
  const bool told = has_word(value_in(processors, "flags"), "hypervisor");
  std::string name = first_line(os::read_text("/sys/hypervisor/type"));
  if (name.empty() && told) {
    const std::string vendor = first_line(os::read_text("/sys/class/dmi/id/sys_vendor"));
    const std::string product = first_line(os::read_text("/sys/class/dmi/id/product_name"));
    name = vendor.empty() ? product : product.empty() ? vendor : vendor + ", " + product;
  }
  if (!name.empty() && (told || os::path_exists("/sys/hypervisor/type"))) return name;
  return told ? "yes; it does not tell its name" : "none found";
}

/// "4096 kB" of /proc/meminfo.
Json meminfo_bytes(const std::string& text, const std::string& name) {
  const std::string value = value_in(text, name);
  return value.empty() ? Json("unknown") : Json(std::strtoull(value.c_str(), nullptr, 10) * 1024);
}

/// Soft limit in a row of /proc/self/limits, whose columns begin at fixed positions.
Json limit_of(const std::string& limits, const std::string& name) {
  std::istringstream lines(limits);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft;
    words >> soft;
    return soft == "unlimited" ? Json(soft) : Json(std::strtoull(soft.c_str(), nullptr, 10));
  }
  return "unknown";
}

/// The tightest memory limit of this process's control group and its ancestors.
Json group_memory_bytes() {
  uint64_t least = UINT64_MAX;
  bool seen = false;
  for (const os::ControlGroup& group : os::control_groups("memory")) {
    const char* file = group.version2 ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = group.path;; path.erase(path.rfind('/'))) {
      const std::string text = first_line(os::read_text((group.mount + path + file).c_str()));
      seen = seen || !text.empty();
      if (!text.empty() && text != "max")
        least = std::min<uint64_t>(least, std::strtoull(text.c_str(), nullptr, 10));
      if (path.find('/') == std::string::npos) break;
    }
  }
  // Version 1 reports "no limit" as a number near the largest one.
  if (least < UINT64_MAX / 4) return least;
  return seen ? "none" : "not told";
}

std::string yama_scope() {
  const std::string text = first_line(os::read_text("/proc/sys/kernel/yama/ptrace_scope"));
  if (text.empty()) return "Yama is not there: processes of one user may read each other";
  if (text == "0") return "0: processes of one user may read each other";
  if (text == "1") return "1: only a parent may read its children";
  return text + ": only with a privilege";
}

/// The word in brackets: "always [madvise] never".
std::string chosen(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos ? "unknown"
                                                                 : text.substr(open + 1, close - open - 1);
}

}  // namespace

Json machine_facts() {
  const std::string processors = os::read_text("/proc/cpuinfo");
  const std::string memory = os::read_text("/proc/meminfo");
  return {
      {"name", or_unknown(os::host_name())},
      {"processor", or_unknown(value_in(processors, "model name"))},
      {"family_model_stepping", fmt::format("{}, {}, {}", value_in(processors, "cpu family"),
                                            value_in(processors, "model"), value_in(processors, "stepping"))},
      {"microcode", or_unknown(value_in(processors, "microcode"))},
      {"kernel", or_unknown(first_line(os::read_text("/proc/sys/kernel/osrelease")))},
      {"hypervisor", hypervisor(processors)},
      {"memory_bytes", meminfo_bytes(memory, "MemTotal")},
      {"memory_available_bytes", meminfo_bytes(memory, "MemAvailable")}};
}

Json topology_facts(const topo::Machine& machine) {
  // One row for all processors that share package, memory node and last-level cache.
  std::map<std::tuple<int, int, int>, std::vector<topo::Processor>> groups;
  for (const topo::Processor& processor : machine.processors()) {
    groups[{processor.place.package, processor.place.numa, processor.place.l3}].push_back(processor);
  }
  auto number = [](int value) { return value < 0 ? std::string("?") : std::to_string(value); };
  Json rows = Json::array();
  for (const auto& [place, processors] : groups) {
    std::vector<int> cores;
    for (const topo::Processor& processor : processors) cores.push_back(processor.place.core);
    std::sort(cores.begin(), cores.end());
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    rows.push_back({{"package", number(std::get<0>(place))},
                    {"memory_node", number(std::get<1>(place))},
                    {"l3", number(std::get<2>(place))},
                    {"cores", cores.size()},
                    {"processors", topo::processor_list(processors)}});
  }
  return {{"source", machine.detailed() ? "hwloc" : "affinity mask only: hwloc could not tell more"},
          {"processors", machine.processors().size()},
          {"cores", machine.core_count()},
          {"groups", rows}};
}

Json limit_facts() {
  const std::string limits = os::read_text("/proc/self/limits");
  const int quota = os::quota_processors();
  return {{"processors_by_affinity_mask", os::usable_processors()},
          {"processors_by_control_group", quota == 0 ? Json("no limit") : Json(quota)},
          {"memory_by_control_group_bytes", group_memory_bytes()},
          {"locked_memory_bytes", limit_of(limits, "Max locked memory")},
          {"address_space_bytes", limit_of(limits, "Max address space")},
          {"open_files", limit_of(limits, "Max open files")},
          {"processes", limit_of(limits, "Max processes")},
          {"yama_ptrace_scope", yama_scope()},
          {"huge_pages_for_shared_memory",
           chosen(os::read_text("/sys/kernel/mm/transparent_hugepage/shmem_enabled"))}};
}

}  // namespace hearth::tools
