// Which machine this is, as far as measured values depend on it: a profile made on another one is not used.
// For the launcher and the tools, in one thread; the library does not link this.
#pragma once

#include <string>

#include "topo/machine.h"

namespace hearth::tune {

struct MachineIdentity {
  std::string processor;    // model name, family, model and stepping
  std::string topology;     // how many of each kind of object there are (topo::Machine::shape)
  std::string kernel;       // "6.18": what it copies with changes with releases, not with patches
  bool hypervisor = false;  // a virtual machine

  static MachineIdentity of(const topo::Machine& machine);
  bool operator==(const MachineIdentity&) const = default;
};

/// "" where both are the same, else the first difference in words.
std::string difference(const MachineIdentity& theirs, const MachineIdentity& here);

// Parts of files like /proc/cpuinfo, for whoever else tells about the machine.

/// The value behind "name   : value"; "" when no line has it.
std::string value_in(const std::string& text, const std::string& name);
bool has_word(const std::string& text, const std::string& word);

}  // namespace hearth::tune
