#include "launch/placement.h"

#include <algorithm>
#include <span>
#include <utility>

#include "mpi.h"

namespace hearth::launch {
namespace {

using topo::Machine;
using topo::Processor;

int32_t number_at(const Processor& processor, Level level) {
  switch (level) {
    case Level::hwthread:
      return processor.number;
    case Level::core:
      return processor.place.core;
    case Level::l2:
      return processor.place.l2;
    case Level::l3:
      return processor.place.l3;
    case Level::numa:
      return processor.place.numa;
    case Level::package:
      return processor.place.package;
    default:
      return 0;
  }
}

using Group = std::vector<Processor>;

// Groups the processors by their object of a level. Processors whose object is unknown form one group.
std::vector<Group> groups_at(std::span<const Processor> processors, Level level) {
  std::vector<Group> groups;
  for (const Processor& processor : processors) {
    const auto same = [&](const Group& group) {
      return number_at(group.front(), level) == number_at(processor, level);
    };
    // Processors are sorted by shared hardware, so the group is nearly always the last one.
    if (!groups.empty() && same(groups.back())) {
      groups.back().push_back(processor);
      continue;
    }
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({processor});
    } else {
      found->push_back(processor);
    }
  }
  return groups;
}

void append(Group& to, const Group& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A run of `count` consecutive groups that begins at `first` and wraps around at the end.
Group take(const std::vector<Group>& groups, size_t first, size_t count) {
  Group result;
  for (size_t i = 0; i < count && i < groups.size(); ++i) append(result, groups[(first + i) % groups.size()]);
  return result;
}

Binding make_binding(const Machine& machine, const Group& processors) {
  Binding binding;
  // No binding is needed if the rank may use all processors that mpiexec may use.
  const bool smaller = !processors.empty() && processors.size() < machine.processors().size();
  const bool bound = smaller || machine.restricted();
  const Group& mine = smaller ? processors : machine.processors();
  binding.place = topo::common_place(mine);
  std::vector<int> numbers;
  for (const Processor& processor : mine) numbers.push_back(processor.number);
  binding.memory = topo::memory_near(machine.memory_nodes(), numbers);
  if (bound) binding.processors = std::move(numbers);
  binding.description = std::string(bound ? "bound to" : "not bound:") + " processor" +
                        (mine.size() > 1 ? "s " : " ") + topo::processor_list(mine);
  const auto mention = [&](const char* name, int32_t number) {
    if (number >= 0 && machine.detailed())
      binding.description += std::string(", ") + name + " " + std::to_string(number);
  };
  mention("core", binding.place.core);
  mention("l2", binding.place.l2);
  mention("l3", binding.place.l3);
  mention("numa", binding.place.numa);
  mention("package", binding.place.package);
  return binding;
}

// An equal share of the cores for each rank, so that its threads have room and no core stays idle.
std::vector<Group> shares(const Machine& machine, int ranks) {
  const std::vector<Group> cores = groups_at(machine.processors(), Level::core);
  std::vector<Group> result;
  for (int rank = 0; rank < ranks; ++rank) {
    const size_t first = cores.size() * static_cast<size_t>(rank) / static_cast<size_t>(ranks);
    const size_t last = cores.size() * (static_cast<size_t>(rank) + 1) / static_cast<size_t>(ranks);
    result.push_back(take(cores, first, last - first));
  }
  return result;
}

// Runs of `width` adjacent units, within one L3 if it holds at least one run.
std::vector<Group> runs_of(const Machine& machine, Level unit, size_t width) {
  std::vector<Group> runs;
  for (const Group& cache : groups_at(machine.processors(), Level::l3)) {
    const std::vector<Group> units = groups_at(cache, unit);
    for (size_t first = 0; first + width <= units.size(); first += width) {
      runs.push_back(take(units, first, width));
    }
  }
  if (!runs.empty()) return runs;
  const std::vector<Group> units = groups_at(machine.processors(), unit);
  for (size_t first = 0; first < units.size(); first += width) runs.push_back(take(units, first, width));
  return runs;
}

// Reorders the groups so that each is as far as possible from the previous ones: round-robin over packages,
// within them over memory nodes, and so on down to the processors of a core. The first processor of a group
// determines its place.
std::vector<Group> spread(std::vector<Group> groups, Level level = Level::package) {
  if (level < Level::core || groups.size() < 2) return groups;
  const auto below = static_cast<Level>(static_cast<int>(level) - 1);
  std::vector<std::vector<Group>> parts;
  std::vector<int32_t> numbers;
  for (Group& group : groups) {
    const int32_t number = number_at(group.front(), level);
    const auto found = std::find(numbers.begin(), numbers.end(), number);
    if (found == numbers.end()) {
      numbers.push_back(number);
      parts.emplace_back();
      parts.back().push_back(std::move(group));
    } else {
      parts[static_cast<size_t>(found - numbers.begin())].push_back(std::move(group));
    }
  }
  for (std::vector<Group>& part : parts) part = spread(std::move(part), below);
  std::vector<Group> result;
  for (size_t turn = 0; result.size() < groups.size(); ++turn) {
    for (std::vector<Group>& part : parts) {
      if (turn < part.size()) result.push_back(std::move(part[turn]));
    }
  }
  return result;
}

// The processors with these numbers.
Group named(const Machine& machine, std::span<const int> numbers) {
  Group result;
  for (const Processor& processor : machine.processors()) {
    if (std::find(numbers.begin(), numbers.end(), processor.number) != numbers.end())
      result.push_back(processor);
  }
  return result;
}

// One group per processor, in the system's order.
std::vector<Group> by_number(const Machine& machine) {
  std::vector<Group> result;
  for (const Processor& processor : machine.processors()) result.push_back({processor});
  std::sort(result.begin(), result.end(),
            [](const Group& a, const Group& b) { return a.front().number < b.front().number; });
  return result;
}

// The object that a rank is assigned to, and its index among the ranks of that object.
struct Deal {
  size_t object;
  size_t turn;
};
Deal deal(int rank, size_t objects, int ranks_per_object) {
  const auto number = static_cast<size_t>(rank);
  if (ranks_per_object == 0) return {number % objects, number / objects};
  const auto each = static_cast<size_t>(ranks_per_object);
  return {number / each % objects, number % each};
}

// The processors that --map-by assigns to a rank, before --bind-to widens or narrows them.
Group dealt(const Machine& machine, const PlacementRequest& request, Level map, int rank) {
  const auto width = static_cast<size_t>(request.cores_per_rank);
  const bool by_thread = map == Level::hwthread || (map > Level::core && request.bind == Level::hwthread);
  const Level unit = by_thread ? Level::hwthread : Level::core;
  if ((map == Level::core || map == Level::hwthread) && request.ranks_per_object == 0) {
    return take(groups_at(machine.processors(), unit), static_cast<size_t>(rank) * width, width);
  }
  const std::vector<Group> objects = groups_at(machine.processors(), map);
  const Deal place = deal(rank, objects.size(), request.ranks_per_object);
  return take(groups_at(objects[place.object], unit), place.turn * width, width);
}

// All processors of the `level` object that contains the first of `processors`.
Group widened(const Machine& machine, const Group& processors, Level level) {
  const int32_t number = number_at(processors.front(), level);
  Group result;
  for (const Processor& processor : machine.processors()) {
    if (number_at(processor, level) == number) result.push_back(processor);
  }
  return result;
}

}  // namespace

int object_count(const Machine& machine, Level level) {
  return static_cast<int>(groups_at(machine.processors(), level).size());
}

Status check_processors(const Machine& machine, const PlacementRequest& request) {
  std::vector<std::vector<int>> sets = request.processor_sets;
  if (!request.only_processors.empty()) sets.push_back(request.only_processors);
  for (const std::vector<int>& set : sets) {
    for (const int number : set) {
      if (!named(machine, std::span(&number, 1)).empty()) continue;
      return fail(MPI_ERR_ARG, "processor %d is not one that this job may use; these are %s", number,
                  topo::processor_list(machine.processors()).c_str());
    }
  }
  return {};
}

namespace {

// Assigns the groups to ranks round-robin.
std::vector<Binding> in_turn(const Machine& machine, const std::vector<Group>& groups, int ranks) {
  std::vector<Binding> bindings;
  for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
    bindings.push_back(make_binding(machine, groups[rank % groups.size()]));
  }
  return bindings;
}

// Reduces a binding to the requested number of hardware threads. With more ranks than cores, each further
// pass over the cores takes the next threads.
void narrow(Group& binding, const PlacementRequest& request, size_t rank, size_t core_count) {
  const auto width = static_cast<size_t>(request.cores_per_rank);
  const size_t turn = rank * width / core_count;
  std::rotate(binding.begin(), binding.begin() + static_cast<ptrdiff_t>(turn * width % binding.size()),
              binding.end());
  binding.resize(std::min(binding.size(), width));
}

}  // namespace

std::vector<Binding> bind_ranks(const Machine& machine, const PlacementRequest& request, int ranks,
                                int processors_to_share) {
  if (!request.processor_sets.empty()) {
    std::vector<Group> sets;
    for (const std::vector<int>& numbers : request.processor_sets) sets.push_back(named(machine, numbers));
    return in_turn(machine, sets, ranks);
  }
  if (request.by_number) return in_turn(machine, by_number(machine), ranks);
  const bool room =
      int64_t{ranks} * request.cores_per_rank <= std::min(machine.core_count(), processors_to_share);
  Level bind = request.bind;
  if (bind == Level::automatic) {
    if (room && request.map == Level::automatic && request.cores_per_rank == 1) {
      const std::vector<Group> even = shares(machine, ranks);
      return in_turn(machine, request.spread ? spread(even) : even, ranks);
    }
    bind = room && request.map != Level::none ? Level::core : Level::none;
  }
  if (bind == Level::none || bind == Level::machine) return in_turn(machine, {Group()}, ranks);
  std::vector<Group> scattered;
  if (request.spread) {
    const Level unit = bind == Level::hwthread ? Level::hwthread : Level::core;
    scattered = spread(runs_of(machine, unit, static_cast<size_t>(request.cores_per_rank)));
  }
  // Without a mapping, ranks are distributed round-robin over the objects that they are bound to.
  const Level map = request.map == Level::automatic || request.map == Level::none ? bind : request.map;
  const auto core_count = static_cast<size_t>(machine.core_count());
  std::vector<Binding> bindings;
  for (int rank = 0; rank < ranks; ++rank) {
    Group mine = request.spread ? scattered[static_cast<size_t>(rank) % scattered.size()]
                                : dealt(machine, request, map, rank);
    if (bind == Level::hwthread) narrow(mine, request, static_cast<size_t>(rank), core_count);
    if (bind == Level::core && map == Level::hwthread) mine = widened(machine, mine, Level::core);
    if (bind > Level::core) mine = widened(machine, mine, bind);
    bindings.push_back(make_binding(machine, mine));
  }
  return bindings;
}

}  // namespace hearth::launch
