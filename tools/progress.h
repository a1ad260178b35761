// A progress line that is redrawn in place; nothing if standard error is no terminal. Used by `hearth tune`,
// in one thread.
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
  /// Removes the line, so that other text can be printed; show() draws it again.
  void clear() const;

 private:
  const size_t steps_;
  const bool shown_;
  size_t done_ = 0;
};

}  // namespace hearth::tools
