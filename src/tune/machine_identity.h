// Identifies a machine as far as measured values depend on it: a profile from a different machine is not
// used. For the launcher and the tools, in one thread; the library does not link this.
#pragma once

#include <string>

#include "topo/machine.h"

namespace hearth::tune {

struct MachineIdentity {
  std::string processor;    // model name, family, model and stepping
  std::string topology;     // number of objects of each kind (topo::Machine::shape)
  std::string kernel;       // "6.18": the kernel's copy routines change with releases, not with patches
  bool hypervisor = false;  // whether it is a virtual machine

  static MachineIdentity of(const topo::Machine& machine);
  bool operator==(const MachineIdentity&) const = default;
};

/// "" if both are equal, otherwise the first difference as text.
std::string difference(const MachineIdentity& theirs, const MachineIdentity& here);

// Parsers for files like /proc/cpuinfo, also for other reports about the machine.

/// The value in a line "name   : value"; "" if there is no such line.
std::string value_in(const std::string& text, const std::string& name);
bool has_word(const std::string& text, const std::string& word);

}  // namespace hearth::tune
