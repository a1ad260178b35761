#include "tune/machine_identity.h"

#include <array>
#include <string_view>

#include "base/os_io.h"
#include "base/split.h"

namespace hearth::tune {
namespace {

// The entry of the first processor. The other entries are the same, and the kernel takes time to write each.
std::string first_processor_text() {
  std::array<char, 8192> text;
  const os::Descriptor file = os::open_to_read("/proc/cpuinfo");
  if (!file.open()) return "";
  const intptr_t bytes = os::read_some(file.number(), text.data(), text.size());
  return bytes <= 0 ? "" : std::string(text.data(), static_cast<size_t>(bytes));
}

std::string processor_of(const std::string& text) {
  const std::string name = value_in(text, "model name");
  // On arm64 the kernel reports these instead of a model name.
  if (name.empty()) return value_in(text, "CPU implementer") + " " + value_in(text, "CPU part");
  return name + " (" + value_in(text, "cpu family") + "." + value_in(text, "model") + "." +
         value_in(text, "stepping") + ")";
}

/// "6.18.5-generic" as "6.18".
std::string kernel_of(const std::string& release) {
  const size_t first = release.find('.');
  if (first == std::string::npos) return release;
  return release.substr(0, release.find_first_not_of("0123456789", first + 1));
}

std::string words_of(const char* what, const std::string& theirs, const std::string& here) {
  return std::string(what) + " '" + theirs + "', here '" + here + "'";
}

const char* yes_or_no(bool value) {
  return value ? "yes" : "no";
}

}  // namespace

MachineIdentity MachineIdentity::of(const topo::Machine& machine) {
  const std::string text = first_processor_text();
  return {processor_of(text), machine.shape(), kernel_of(os::read_text("/proc/sys/kernel/osrelease")),
          has_word(value_in(text, "flags"), "hypervisor")};
}

std::string difference(const MachineIdentity& theirs, const MachineIdentity& here) {
  if (theirs.processor != here.processor) return words_of("processor", theirs.processor, here.processor);
  if (theirs.topology != here.topology) return words_of("topology", theirs.topology, here.topology);
  if (theirs.kernel != here.kernel) return words_of("kernel", theirs.kernel, here.kernel);
  if (theirs.hypervisor != here.hypervisor)
    return words_of("hypervisor", yes_or_no(theirs.hypervisor), yes_or_no(here.hypervisor));
  return "";
}

std::string value_in(const std::string& text, const std::string& name) {
  std::string first;
  bool found = false;
  split(text, '\n', [&](std::string_view line) {
    if (found || !line.starts_with(name)) return;
    const size_t colon = line.find_first_not_of(" \t", name.size());
    if (colon == std::string_view::npos || line[colon] != ':') return;
    found = true;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    if (value != std::string_view::npos) first = line.substr(value);
  });
  return first;
}

bool has_word(const std::string& text, const std::string& word) {
  bool found = false;
  split(text, ' ', [&](std::string_view other) { found = found || other == word; });
  return found;
}

}  // namespace hearth::tune
