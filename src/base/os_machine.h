// Properties of the machine and this process's share of it, as the system reports them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::os {

/// The affinity mask of this process, in rising order; all online processors if the system does not report
/// it.
std::vector<int> allowed_processors();

/// Gives this process the affinity mask of another one; no effect if the system refuses or there is none.
void adopt_processors_of(int pid);

/// Size of the last-level cache of the first of these processors; 0 if unknown.
size_t last_level_cache_bytes();
/// The same from a folder with the layout of /sys/devices/system/cpu/cpu0/cache.
size_t last_level_cache_bytes_in(const std::string& folder);

/// The control group of this process, as visible in its mount namespace.
struct ControlGroup {
  std::string mount;  // where the hierarchy is mounted
  std::string path;   // of the group below the mount; "" for the root, otherwise begins with a slash
  bool version2 = false;
};
/// The hierarchies that limit `controller` ("cpu", "memory") for this process: none, one, or two if both
/// versions are mounted.
std::vector<ControlGroup> control_groups(const char* controller);
/// The same from the contents of /proc/self/cgroup and /proc/self/mountinfo.
std::vector<ControlGroup> control_groups_in(const std::string& groups, const std::string& mounts,
                                            const char* controller);
/// The limit of processor time of a group and its ancestors, in processors, rounded up; 0 if none sets a
/// limit.
int quota_processors_of(const ControlGroup& group);

/// Number of out-of-memory kills: in this process's control group if it has one, otherwise in the whole
/// system. -1 if unknown.
long long out_of_memory_kills();

std::string host_name();

/// Identifies a boot of a machine and a network namespace: equal for two processes exactly if they run in the
/// same ones, so that they can connect by abstract socket names.
std::string shared_surroundings();

/// Whether a file or folder exists.
bool path_exists(const char* path);
/// Whether it is a regular file that this process may execute.
bool is_executable(const char* path);

}  // namespace hearth::os
