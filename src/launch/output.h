// What ranks write, on its way to mpiexec's own output: read from a pipe per rank and stream, written as
// whole lines. Nothing here blocks, so that signals and deaths are seen while a reader is slow; when one is,
// the ranks that write to it are no longer read from, and wait in turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os_io.h"

namespace hearth::launch {

/// A place that text goes to: standard output, standard error or a file.
class Sink {
 public:
  /// Writes to a descriptor that somebody else owns.
  explicit Sink(int descriptor);
  /// Owns the file.
  explicit Sink(os::Descriptor file);

  int descriptor() const { return descriptor_; }
  /// Adds text behind what waits; flush() moves it on.
  void write(std::string_view text);
  /// Hands on what the reader takes without blocking; true when nothing is left.
  bool flush();
  bool empty() const { return sent_ == waiting_.size(); }
  /// The reader is gone, or the disk is full; what is written from now on is dropped.
  bool broken() const { return broken_ != 0; }
  /// errno of what broke it.
  int broken_by() const { return broken_; }
  /// So much waits that ranks should not be read from for now.
  bool congested() const { return waiting_.size() - sent_ > kCongestedBytes; }

 private:
  static constexpr size_t kCongestedBytes = size_t{1} << 20;

  os::Descriptor owned_;
  int descriptor_;
  bool never_blocks_;
  int broken_ = 0;
  std::string waiting_;
  size_t sent_ = 0;
};

/// One of a rank's two streams.
class RankStream {
 public:
  RankStream() = default;
  /// `prefix` begins every line; with an empty one the bytes go through unchanged.
  RankStream(os::Descriptor pipe, Sink* sink, std::string prefix);

  bool open() const { return pipe_.open(); }
  int descriptor() const { return pipe_.number(); }
  Sink* sink() const { return sink_; }
  /// Reads what is there now, up to some bytes; whole lines go to the sink. False once all has been read that
  /// will ever come.
  bool read();
  /// Reads until nothing is there for the moment, within reason.
  void drain();
  /// Hands on a last line that has no end.
  void flush_unfinished();
  bool unfinished() const { return !line_.empty(); }
  /// errno where it could not be read to its end; else 0.
  int broken_by() const { return broken_; }
  void close() { pipe_.reset(); }

 private:
  void take(std::string_view text);

  os::Descriptor pipe_;
  Sink* sink_ = nullptr;
  int broken_ = 0;
  std::string prefix_;
  std::string line_;  // begun, but not ended yet
};

}  // namespace hearth::launch
