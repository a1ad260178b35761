// Whether other programs use the machine, by what the kernel counts as running. For measuring that nobody has
// asked for, in one thread.
#pragma once

namespace hearth::tools {

/// Watches for half a second: nearly nothing but this process has run. False where the kernel does not tell.
bool machine_is_idle();

/// Looks whether others have begun to use the machine, while the ranks of a measuring job wait for a
/// question.
class Disturbance {
 public:
  /// One look; true once several in a row have seen others.
  bool look();

 private:
  int looks_with_others_ = 0;
};

}  // namespace hearth::tools
