#include "launch/placement.h"

#include <algorithm>
#include <span>

namespace hearth::launch {
namespace {

using topo::Machine;
using topo::Processor;

struct LevelName {
  const char* name;
  Level level;
};
// The first name of a level is the one that we print.
constexpr LevelName kLevelNames[] = {{"none", Level::none},
                                     {"no", Level::none},
                                     {"hwthread", Level::hwthread},
                                     {"thread", Level::hwthread},
                                     {"core", Level::core},
                                     {"slot", Level::core},
                                     {"rr", Level::core},
                                     {"user", Level::core},
                                     {"l2", Level::l2},
                                     {"l2cache", Level::l2},
                                     {"l3", Level::l3},
                                     {"l3cache", Level::l3},
                                     {"numa", Level::numa},
                                     {"package", Level::package},
                                     {"socket", Level::package},
                                     {"machine", Level::machine},
                                     {"board", Level::machine},
                                     {"node", Level::machine},
                                     {"automatic", Level::automatic}};

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

// The processors, sorted into the objects of a level; those of which it is not known share one.
std::vector<Group> groups_at(std::span<const Processor> processors, Level level) {
  std::vector<Group> groups;
  for (const Processor& processor : processors) {
    const auto same = [&](const Group& group) {
      return number_at(group.front(), level) == number_at(processor, level);
    };
    // Processors are sorted by nearness, so the group is nearly always the last one.
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

// A run of `count` consecutive groups from `first` on, around the end if need be.
Group take(const std::vector<Group>& groups, size_t first, size_t count) {
  Group result;
  for (size_t i = 0; i < count && i < groups.size(); ++i) append(result, groups[(first + i) % groups.size()]);
  return result;
}

Seat make_seat(const Machine& machine, const Group& processors) {
  Seat seat;
  // A seat as large as the job's whole share needs no binding.
  const bool bound = !processors.empty() && processors.size() < machine.processors().size();
  const Group& mine = bound ? processors : machine.processors();
  seat.place = topo::common_place(mine);
  if (bound) {
    for (const Processor& processor : processors) seat.processors.push_back(processor.number);
  }
  seat.description = std::string(bound ? "bound to" : "not bound:") + " processor" +
                     (mine.size() > 1 ? "s " : " ") + topo::processor_list(mine);
  const auto mention = [&](const char* name, int32_t number) {
    if (number >= 0 && machine.detailed())
      seat.description += std::string(", ") + name + " " + std::to_string(number);
  };
  mention("core", seat.place.core);
  mention("l2", seat.place.l2);
  mention("l3", seat.place.l3);
  mention("numa", seat.place.numa);
  mention("package", seat.place.package);
  return seat;
}

// Every rank gets its share of the cores, so that its threads have room and no core is left idle.
std::vector<Seat> shares(const Machine& machine, int ranks) {
  const std::vector<Group> cores = groups_at(machine.processors(), Level::core);
  std::vector<Seat> seats;
  for (int rank = 0; rank < ranks; ++rank) {
    const size_t first = cores.size() * static_cast<size_t>(rank) / static_cast<size_t>(ranks);
    const size_t last = cores.size() * (static_cast<size_t>(rank) + 1) / static_cast<size_t>(ranks);
    seats.push_back(make_seat(machine, take(cores, first, last - first)));
  }
  return seats;
}

// Which object a rank is dealt to, and which of the seats in it.
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

// The processors that a rank is dealt, before the binding widens or narrows them.
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

// All processors in the object of `level` that holds the first of `processors`.
Group widened(const Machine& machine, const Group& processors, Level level) {
  const int32_t number = number_at(processors.front(), level);
  Group result;
  for (const Processor& processor : machine.processors()) {
    if (number_at(processor, level) == number) result.push_back(processor);
  }
  return result;
}

}  // namespace

bool level_of_name(const std::string& name, Level& level) {
  for (const LevelName& known : kLevelNames) {
    if (name == known.name) return level = known.level, true;
  }
  return false;
}

const char* level_name(Level level) {
  for (const LevelName& known : kLevelNames) {
    if (level == known.level) return known.name;
  }
  return "";
}

int object_count(const Machine& machine, Level level) {
  return static_cast<int>(groups_at(machine.processors(), level).size());
}

std::vector<Seat> seat_ranks(const Machine& machine, const PlacementRequest& request, int ranks,
                             int processors_to_share) {
  const bool room = ranks * request.cores_per_rank <= std::min(machine.core_count(), processors_to_share);
  Level bind = request.bind;
  if (bind == Level::automatic) {
    if (room && request.map == Level::automatic && request.cores_per_rank == 1) return shares(machine, ranks);
    bind = room && request.map != Level::none ? Level::core : Level::none;
  }
  std::vector<Seat> seats;
  if (bind == Level::none || bind == Level::machine) {
    seats.assign(static_cast<size_t>(ranks), make_seat(machine, {}));
    return seats;
  }
  // Bound to something large and not told how to deal: one rank to each in turn.
  const Level map = request.map == Level::automatic || request.map == Level::none ? bind : request.map;
  for (int rank = 0; rank < ranks; ++rank) {
    Group mine = dealt(machine, request, map, rank);
    if (bind == Level::hwthread)
      mine.resize(std::min(mine.size(), static_cast<size_t>(request.cores_per_rank)));
    if (bind == Level::core && map == Level::hwthread) mine = widened(machine, mine, Level::core);
    if (bind > Level::core) mine = widened(machine, mine, bind);
    seats.push_back(make_seat(machine, mine));
  }
  return seats;
}

}  // namespace hearth::launch
