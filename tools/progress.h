// A line on the terminal that is drawn over, or nothing where nobody watches. Used by `hearth tune`, in one
// thread.
#pragma once

#include <cstddef>
#include <string>

namespace hearth::tools {

class Progress {
 public:
  explicit Progress(size_t steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  void step(size_t steps = 1) { done_ += steps; }
  /// Takes the line away, so that something else can be printed; show() draws it again.
  void clear() const;

 private:
  const size_t steps_;
  const bool shown_;
  size_t done_ = 0;
};

}  // namespace hearth::tools
