// Forwards the ranks' output to mpiexec's own: read from a pipe per rank and stream, written as whole lines.
// Nothing here blocks, so that mpiexec handles signals and deaths while a reader is slow. While a sink is
// congested, mpiexec stops reading from the ranks that write to it, and their writes block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os_io.h"

namespace hearth::launch {

/// A destination of text: standard output, standard error or a file.
class Sink {
 public:
  /// Writes to a descriptor that the caller owns.
  explicit Sink(int descriptor);
  /// Owns the file.
  explicit Sink(os::Descriptor file);

  int descriptor() const { return descriptor_; }
  /// Appends text to the buffer; flush() writes it out.
  void write(std::string_view text);
  /// Writes as much as the reader takes without blocking; true when nothing is left.
  bool flush();
  bool empty() const { return sent_ == waiting_.size(); }
  /// The reader is gone or the disk is full; further output is dropped.
  bool broken() const { return broken_ != 0; }
  /// The errno of the failed write.
  int broken_by() const { return broken_; }
  /// Whether so much text is buffered that mpiexec should stop reading from the ranks.
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
  /// `prefix` is put in front of every line; if it is empty, the bytes go through unchanged.
  RankStream(os::Descriptor pipe, Sink* sink, std::string prefix);

  bool open() const { return pipe_.open(); }
  int descriptor() const { return pipe_.number(); }
  Sink* sink() const { return sink_; }
  /// Reads what is available, up to a limit; whole lines go to the sink. False at the end of the stream.
  bool read();
  /// Reads until nothing is available for the moment, up to a limit.
  void drain();
  /// Writes a last line that has no newline.
  void flush_unfinished();
  bool unfinished() const { return !line_.empty(); }
  /// The errno if a read failed; else 0.
  int broken_by() const { return broken_; }
  void close() { pipe_.reset(); }

 private:
  void take(std::string_view text);

  os::Descriptor pipe_;
  Sink* sink_ = nullptr;
  int broken_ = 0;
  std::string prefix_;
  std::string line_;  // incomplete last line
};

}  // namespace hearth::launch
