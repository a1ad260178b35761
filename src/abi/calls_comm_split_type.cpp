// MPI 5.0 sections 7.4.2 and 9.1.3: the hardware that a process is bound to, and communicators of processes
// that share it. The source is the binding of each rank that the launcher stored (shm::RankPlace).
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "abi/process_sets.h"
#include "abi/runtime.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"

namespace hearth::mpi {
namespace {

using objects::Comm;
using objects::Info;
using shm::RankPlace;

/// A kind of hardware by its hwloc name. From large to small.
struct Resource {
  std::string_view name;
  int32_t RankPlace::*number;
};
constexpr Resource kResources[] = {
    {"Package", &RankPlace::package}, {"NUMANode", &RankPlace::numa}, {"L3Cache", &RankPlace::l3},
    {"L2Cache", &RankPlace::l2},      {"Core", &RankPlace::core},     {"PU", &RankPlace::processor},
};
constexpr std::string_view kHardwareScheme = "hwloc://";
constexpr std::string_view kMachine = "Machine";

constexpr int kNobody = MPI_UNDEFINED;
constexpr int kEverybody = 0;

const RankPlace& place_of(objects::PeerIndex peer) {
  return abi::bound_place_of(peer);
}

/// The color of all processes on this machine.
int color_of_machine() {
  return abi::node_of(p2p::engine().self());
}

/// The color of all processes that are bound to the object with this number on this machine. -1, not bound to
/// a single object, gives no color.
int color_of(int32_t number) {
  constexpr int kNumbersEach = 1 << 16;
  return number < 0 ? kNobody : color_of_machine() * kNumbersEach + number;
}

void set_value(Info& info, const char* key, std::string value) {
  for (auto& entry : info.entries) {
    if (entry.first != key) continue;
    entry.second = std::move(value);
    return;
  }
  info.entries.emplace_back(key, std::move(value));
}

std::string uri_of(std::string_view name) {
  return std::string(kHardwareScheme) + std::string(name);
}

int color_by_resource(std::string_view name) {
  if (name == "mpi_shared_memory") return color_of_machine();
  if (name.substr(0, kHardwareScheme.size()) == kHardwareScheme) name.remove_prefix(kHardwareScheme.size());
  if (name == kMachine) return color_of_machine();
  for (const Resource& resource : kResources) {
    if (resource.name == name) return color_of(place_of(p2p::engine().self()).*resource.number);
  }
  return kNobody;
}

int color_by_process_set(std::string_view name) {
  abi::ProcessSet set = abi::ProcessSet::world;
  if (!abi::find_process_set(name, set)) return kNobody;
  return set == abi::ProcessSet::world ? kEverybody : p2p::engine().self();
}

/// Splits by the largest hardware that not all ranks share, so that each part is smaller than the
/// communicator. `found` is the kind of hardware.
int color_without_guide(const Comm& comm, std::string_view& found) {
  if (!abi::on_one_machine(comm.group->peers)) {
    found = kMachine;
    return color_of_machine();
  }
  for (const Resource& resource : kResources) {
    const auto number_of = [&resource](objects::PeerIndex peer) { return place_of(peer).*resource.number; };
    const int32_t first = number_of(comm.group->peers[0]);
    const bool divides = std::any_of(comm.group->peers.begin(), comm.group->peers.end(),
                                     [&](objects::PeerIndex peer) { return number_of(peer) != first; });
    if (!divides) continue;
    found = resource.name;
    return color_of(number_of(p2p::engine().self()));
  }
  return kNobody;
}

}  // namespace

// A process gets MPI_COMM_NULL if the hardware is unknown, or if it is not bound to a single object of that
// kind.
Status comm_split_type(Comm& comm, int split_type, int key, Info* info, Comm*& newcomm) {
  int color = kNobody;
  std::string_view divided_by;
  Status status;
  const std::string* resource = value_of(info, "mpi_hw_resource_type");
  const std::string* process_set = value_of(info, "mpi_pset_name");
  switch (split_type) {
    case MPI_UNDEFINED:
      break;
    case MPI_COMM_TYPE_SHARED:
      color = color_of_machine();
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
      if (resource != nullptr) color = color_by_resource(*resource);
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (resource != nullptr) {
        color = color_by_resource(*resource);
      } else if (process_set != nullptr) {
        color = color_by_process_set(*process_set);
      }
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      color = color_without_guide(comm, divided_by);
      break;
    default:
      status = fail(MPI_ERR_ARG,
                    "split_type=%d is none of MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, "
                    "_RESOURCE_GUIDED, MPI_UNDEFINED",
                    split_type);
  }
  HEARTH_TRY(comm_split(comm, color, key, newcomm));
  // An unguided split returns the kind of hardware in `info`.
  if (newcomm != nullptr && !divided_by.empty() && info != nullptr) {
    set_value(*info, "mpi_hw_resource_type", uri_of(divided_by));
  }
  return status;
}

// Returns the kinds of hardware, and for each whether this process is bound to a single object of it.
Status get_hw_resource_info(Info*& hw_info) {
  hw_info = objects::pools.infos.create();
  if (hw_info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another info object");
  const auto enter = [&hw_info](std::string_view name, bool bound) {
    hw_info->entries.emplace_back(uri_of(name), bound ? "true" : "false");
  };
  enter(kMachine, true);
  const RankPlace& own = place_of(p2p::engine().self());
  for (const Resource& resource : kResources) enter(resource.name, own.*resource.number >= 0);
  return {};
}

}  // namespace hearth::mpi
