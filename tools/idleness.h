// Detects whether other programs use the machine, by the kernel's number of runnable tasks. For measurements
// in the background, in one thread.
#pragma once

namespace hearth::tools {

/// Samples for half a second: true if hardly anything but this process ran. False if the kernel reports
/// nothing.
bool machine_is_idle();

/// Detects that other programs have begun to use the machine, while the ranks of a measuring job wait for a
/// question.
class Disturbance {
 public:
  /// Takes one sample; true once several consecutive samples have shown other programs.
  bool sample();

 private:
  int samples_with_others_ = 0;
};

}  // namespace hearth::tools
