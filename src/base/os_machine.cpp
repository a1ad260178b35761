#include "base/os_machine.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/chaos.h"
#include "base/os_io.h"
#include "base/split.h"

namespace hearth::os {
namespace {

constexpr int kProcessorsMax = 1 << 20;

bool lists(std::string_view list, std::string_view word) {
  bool found = false;
  split(list, ',', [&](std::string_view entry) { found = found || entry == word; });
  return found;
}

// The path of this process's group in the hierarchy of `controller`, from lines "number:controllers:path", in
// which version 2 lists no controllers. False if there is no such hierarchy.
bool group_path(std::string_view groups, bool version2, std::string_view controller, std::string& path) {
  bool found = false;
  split(groups, '\n', [&](std::string_view line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || found) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? !controllers.empty() : !lists(controllers, controller)) return;
    path = line.substr(second + 1);
    found = true;
  });
  return found;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// One line of /proc/self/mountinfo: "id parent device root mount options [tags...] - type source
// superoptions".
struct Mount {
  std::string root;
  std::string mount;
  std::string_view type;
  std::string_view super_options;
};

// The kernel writes a blank, tab, line feed or backslash of a path as a backslash and three octal digits.
std::string decode_path(std::string_view text) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  std::string path;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, 3);
    if (text[at] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, is_octal)) {
      path += static_cast<char>((digits[0] - '0') << 6 | (digits[1] - '0') << 3 | (digits[2] - '0'));
      at += 3;
    } else {
      path += text[at];
    }
  }
  return path;
}

bool parse_mount(std::string_view line, Mount& mount) {
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return false;
  std::array<std::string_view, 5> before = {};
  size_t count = 0;
  split(line.substr(0, dash), ' ', [&](std::string_view word) {
    if (count < before.size()) before[count++] = word;
  });
  std::array<std::string_view, 3> after = {};
  size_t after_count = 0;
  split(line.substr(dash + 3), ' ', [&](std::string_view word) {
    if (after_count < after.size()) after[after_count++] = word;
  });
  if (count < before.size() || after_count < 1) return false;
  mount = {decode_path(before[3]), decode_path(before[4]), after[0], after[2]};
  return true;
}

long long counter_in(const std::string& text, const char* name) {
  long long value = -1;
  split(text, '\n', [&](std::string_view line) {
    const size_t bytes = std::strlen(name);
    if (line.size() <= bytes + 1 || line.substr(0, bytes) != name || line[bytes] != ' ') return;
    value = std::strtoll(std::string(line.substr(bytes + 1)).c_str(), nullptr, 10);
  });
  return value;
}

// A quota of `quota_us` per `period_us` in processors, rounded up.
int processors_of(long long quota_us, long long period_us) {
  if (quota_us <= 0 || period_us <= 0) return 0;
  const long long processors = (quota_us + period_us - 1) / period_us;
  return processors > INT_MAX ? 0 : static_cast<int>(processors);
}

int smaller_limit(int a, int b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return a < b ? a : b;
}

int quota_of_folder(const std::string& folder, bool version2) {
  long long quota_us = 0;
  long long period_us = 0;
  if (version2) {
    const std::string text = read_text((folder + "/cpu.max").c_str());  // "max 100000" or "150000 100000"
    if (std::sscanf(text.c_str(), "%lld %lld", &quota_us, &period_us) != 2) return 0;
  } else {
    if (std::sscanf(read_text((folder + "/cpu.cfs_quota_us").c_str()).c_str(), "%lld", &quota_us) != 1)
      return 0;
    if (std::sscanf(read_text((folder + "/cpu.cfs_period_us").c_str()).c_str(), "%lld", &period_us) != 1)
      return 0;
  }
  return processors_of(quota_us, period_us);
}

}  // namespace

void adopt_processors_of(int pid) {
  const size_t bytes = CPU_ALLOC_SIZE(kProcessorsMax);
  cpu_set_t* set = CPU_ALLOC(kProcessorsMax);
  if (set == nullptr) return;
  CPU_ZERO_S(bytes, set);
  if (pid > 0 && ::sched_getaffinity(pid, bytes, set) == 0) ::sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

std::vector<int> allowed_processors() {
  std::vector<int> result;
  // The kernel refuses a mask shorter than its own: double the length until it fits.
  for (int limit = 1024; limit <= kProcessorsMax; limit *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(limit);
    cpu_set_t* set = CPU_ALLOC(limit);
    if (set == nullptr) return result;
    CPU_ZERO_S(bytes, set);
    const bool done = !chaos::refuses(chaos::Call::affinity) && ::sched_getaffinity(0, bytes, set) == 0;
    const bool too_short = !done && errno == EINVAL;
    for (int processor = 0; done && processor < limit; ++processor) {
      if (CPU_ISSET_S(processor, bytes, set)) result.push_back(processor);
    }
    CPU_FREE(set);
    if (!too_short) break;
  }
  if (!result.empty()) return result;
  // Fallback for sandboxes that refuse sched_getaffinity.
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  for (int processor = 0; processor < online; ++processor) result.push_back(processor);
  return result;
}

size_t last_level_cache_bytes() {
  // Not from sysconf(_SC_LEVEL3_CACHE_SIZE), which returned ten times the real size in virtual machines.
  const std::vector<int> processors = allowed_processors();
  const int first = processors.empty() ? 0 : processors.front();
  return last_level_cache_bytes_in("/sys/devices/system/cpu/cpu" + std::to_string(first) + "/cache");
}

size_t last_level_cache_bytes_in(const std::string& folder) {
  long last_level = 0;
  size_t bytes = 0;
  for (int index = 0;; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index) + "/";
    const long level = std::strtol(read_text((cache + "level").c_str()).c_str(), nullptr, 10);
    if (level <= 0) return bytes;
    if (level < last_level) continue;
    last_level = level;
    bytes = std::strtoul(read_text((cache + "size").c_str()).c_str(), nullptr, 10) << 10;
  }
}

std::vector<ControlGroup> control_groups(const char* controller) {
  const std::string groups = read_text("/proc/self/cgroup");
  if (groups.empty()) return {};
  return control_groups_in(groups, read_text("/proc/self/mountinfo"), controller);
}

std::vector<ControlGroup> control_groups_in(const std::string& groups, const std::string& mounts,
                                            const char* controller) {
  std::vector<ControlGroup> result;
  split(mounts, '\n', [&](std::string_view line) {
    Mount mount;
    if (line.find(" - cgroup") == std::string_view::npos || !parse_mount(line, mount)) return;
    const bool version2 = mount.type == "cgroup2";
    if (!version2 && (mount.type != "cgroup" || !lists(mount.super_options, controller))) return;
    ControlGroup group;
    group.version2 = version2;
    group.mount = mount.mount;
    if (!group_path(groups, version2, controller, group.path)) return;
    // In a container the mount may begin at this process's group, while /proc/self/cgroup gives the path from
    // the host's root.
    if (mount.root != "/" && lies_in(group.path, mount.root)) group.path.erase(0, mount.root.size());
    // An unusable path counts as the root of the mount: limits are searched from the group upward, folder by
    // folder.
    if (group.path == "/" || !group.path.starts_with("/") || group.path.starts_with("/..")) {
      group.path.clear();
    }
    result.push_back(std::move(group));
  });
  return result;
}

// A limit applies to all groups below it, so the smallest one from the group up to the root counts.
int quota_processors_of(const ControlGroup& group) {
  int limit = 0;
  for (std::string path = group.path;; path.resize(path.rfind('/'))) {
    limit = smaller_limit(limit, quota_of_folder(group.mount + path, group.version2));
    if (path.empty()) return limit;
  }
}

// The groups are determined once: this is called when a rank has died, while processes wait for the result.
long long out_of_memory_kills() {
  static const std::vector<ControlGroup> groups = control_groups("memory");
  for (const ControlGroup& group : groups) {
    const char* file = group.version2 ? "/memory.events" : "/memory.oom_control";
    const long long kills = counter_in(read_text((group.mount + group.path + file).c_str()), "oom_kill");
    if (kills >= 0) return kills;
  }
  return counter_in(read_text("/proc/vmstat"), "oom_kill");
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::string shared_surroundings() {
  std::string boot = read_text("/proc/sys/kernel/random/boot_id");
  boot.resize(std::min(boot.find('\n'), boot.size()));
  struct stat status = {};
  if (::stat("/proc/self/ns/net", &status) != 0) status.st_ino = 0;
  return (boot.empty() ? host_name() : boot) + "/" + std::to_string(status.st_ino);
}

bool path_exists(const char* path) {
  struct stat status;
  return !chaos::refuses(chaos::Call::status) && ::stat(path, &status) == 0;
}

bool is_executable(const char* path) {
  struct stat status;
  return ::stat(path, &status) == 0 && S_ISREG(status.st_mode) && ::access(path, X_OK) == 0;
}

}  // namespace hearth::os
