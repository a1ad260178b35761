// MPI 5.0 sections 7.4.2 and 9.1.3: what hardware a process is bound to, and communicators of those that
// share some. What is known of it is where the launcher has bound each rank (shm::RankPlace).
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

/// A kind of hardware, under hwloc's name for it. From large to small.
struct Resource {
  std::string_view name;
  int32_t RankPlace::*number;
};
constexpr Resource kResources[] = {
    {"Package", &RankPlace::package}, {"NUMANode", &RankPlace::numa}, {"L3Cache", &RankPlace::l3},
    {"L2Cache", &RankPlace::l2},      {"Core", &RankPlace::core},     {"PU", &RankPlace::processor},
};
constexpr std::string_view kScheme = "hwloc://";
constexpr std::string_view kMachine = "Machine";

constexpr int kNobody = MPI_UNDEFINED;
constexpr int kEverybody = 0;

const RankPlace& place_of(objects::PeerIndex peer) {
  return abi::bound_place_of(peer);
}

/// The processes of this one's machine.
int color_of_machine() {
  return abi::node_of(p2p::engine().self());
}

/// Of those that are bound to the piece of hardware with this number on this one's machine. -1, for "not
/// bound to one of them", is no part.
int color_of(int32_t number) {
  constexpr int kNumbersEach = 1 << 16;
  return number < 0 ? kNobody : color_of_machine() * kNumbersEach + number;
}

const std::string* value_of(const Info* info, std::string_view key) {
  if (info == nullptr) return nullptr;
  const auto found = std::find_if(info->entries.begin(), info->entries.end(),
                                  [key](const auto& entry) { return entry.first == key; });
  return found == info->entries.end() ? nullptr : &found->second;
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
  return std::string(kScheme) + std::string(name);
}

int color_by_resource(std::string_view name) {
  if (name == "mpi_shared_memory") return color_of_machine();
  if (name.substr(0, kScheme.size()) == kScheme) name.remove_prefix(kScheme.size());
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

/// By the largest hardware that not all ranks share: each part is smaller than the communicator. `found` is
/// its kind.
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

// A process gets MPI_COMM_NULL where the hardware is not known, or it is not bound to one piece of it.
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
  // Without a guide, the caller is told what it was by.
  if (newcomm != nullptr && !divided_by.empty() && info != nullptr) {
    set_value(*info, "mpi_hw_resource_type", uri_of(divided_by));
  }
  return status;
}

// Which kinds of hardware there are, and whether this process is bound to one piece of that kind.
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
