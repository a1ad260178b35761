// What the system says about the machine and about this process's share of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::os {

/// Processors that this process may run on, in rising order: its affinity mask; where the system does not let
/// us ask, all that are online.
std::vector<int> allowed_processors();

/// Bytes of the last cache between the first of these processors and memory; 0 when the system does not tell.
size_t last_level_cache_bytes();
/// The same from a folder in the form of /sys/devices/system/cpu/cpu0/cache.
size_t last_level_cache_bytes_in(const std::string& folder);

/// The control group in which this process is, as far as it can be seen from here.
struct ControlGroup {
  std::string mount;  // where the hierarchy is mounted
  std::string path;   // the group's place below, "" for the top; otherwise it begins with a slash
  bool version2 = false;
};
/// The hierarchies that limit `controller` ("cpu", "memory") for this process: none, one, or, where both
/// versions are mounted, two.
std::vector<ControlGroup> control_groups(const char* controller);
/// The same from the texts of /proc/self/cgroup and /proc/self/mountinfo.
std::vector<ControlGroup> control_groups_in(const std::string& groups, const std::string& mounts,
                                            const char* controller);
/// Processors' worth of time that a group and those above it grant, rounded up; 0 when none sets a limit.
int quota_processors_of(const ControlGroup& group);

/// How often the kernel has ended a process because memory ran out: in this process's control group where
/// there is one, otherwise in the whole system. -1 when it does not tell.
long long out_of_memory_kills();

/// The machine's own name.
std::string host_name();

/// Equal for two processes exactly when one machine, since its start, runs both and they find each other by
/// abstract socket names: the same network namespace.
std::string shared_surroundings();

/// Whether a file or folder is there.
bool path_exists(const char* path);
/// Whether it is a file, not a folder, that this process may execute.
bool is_executable(const char* path);

}  // namespace hearth::os
