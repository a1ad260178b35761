#include <filesystem>

#include "base/os_machine.h"
#include "base/os_wait.h"
#include "facts.h"
#include "pretty.h"

namespace hearth::tools {
namespace {

// A /dev/shm below a container's usual 64 MiB is reported.
constexpr uint64_t kSharedFolderBytesMin = uint64_t{64} << 20;
constexpr const char* kSharedFolder = "/dev/shm";

constexpr std::string_view kNo = "no";

class MissingRows {
 public:
  void add(const std::string& what, const std::string& because, const std::string& instead) {
    rows_.push_back({{"missing", what}, {"because", because}, {"instead", instead}});
  }

  // If several probes test one feature, the last is closest to what ranks do.
  void add_failed_probes(bool several_nodes) {
    for (const Json& probe : probe_facts()) {
      const auto works = probe.at("works").get<std::string>();
      const auto what = probe.at("what").get<std::string>();
      if (!works.starts_with(kNo) || (what == "mbind" && !several_nodes)) continue;
      if (!rows_.empty() && rows_.back().at("missing") == probe.at("needed_for"))
        rows_.erase(rows_.size() - 1);
      add(probe.at("needed_for").get<std::string>(), what + works.substr(kNo.size()),
          probe.at("without_it").get<std::string>());
    }
  }

  void add_processors(const topo::Machine& machine) {
    if (machine.processors().size() == 1) {
      add("a second processor", "this process may run on one only: its affinity mask says so",
          "ranks take turns and sleep instead of spinning; `hearth tune` has nothing to measure");
    } else if (os::quota_processors() == 1) {
      add("a second processor", "the control group grants the time of one",
          "ranks take turns and sleep instead of spinning");
    }
    if (!machine.detailed()) {
      const bool there = os::path_exists("/sys/devices/system/cpu");
      add(there ? "what processors share" : "/sys",
          there ? "the system does not tell it"
                : "it is empty or not mounted, so it is unknown what processors share",
          "the thresholds of `unknown` count, cores are taken in the order of their numbers, and memory is "
          "left where the system puts it");
    }
  }

  void add_shared_folder() {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(kSharedFolder, error);
    if (error) {
      add("/dev/shm", error.message(), "nothing else: no file is made there");
    } else if (space.capacity < kSharedFolderBytesMin) {
      add("room in /dev/shm", "it holds " + bytes_text(space.capacity) + " in all",
          "nothing else: no file is made there");
    }
  }

  const Json& rows() const { return rows_; }

 private:
  Json rows_ = Json::array();
};

}  // namespace

Json missing_facts(const topo::Machine& machine) {
  MissingRows missing;
  missing.add_failed_probes(machine.memory_nodes().size() > 1);
  missing.add_processors(machine);
  missing.add_shared_folder();
  return missing.rows();
}

}  // namespace hearth::tools
