// The time that a cache line takes from processor to processor, as the measuring programs report it
// repeatedly. It shows what the two processors share at that moment, which a virtual machine may change from
// second to second. Used by the benchmarks, in one thread.
#pragma once

#include <string>
#include <vector>

namespace hearth::tools {

class Floors {
 public:
  /// 0: the measurement failed.
  void add(double ns) {
    if (ns > 0) values_.push_back(ns);
  }
  /// As text, such as "cores that share a cache".
  static const char* state_of(double ns);
  /// The new state if it has changed since the last call, else "".
  std::string take_change();
  /// Prints the typical value, and how often the machine was in another state.
  void print() const;

 private:
  std::vector<double> values_;
  size_t seen_ = 0;  // by take_change()
  const char* last_state_ = nullptr;
};

}  // namespace hearth::tools
