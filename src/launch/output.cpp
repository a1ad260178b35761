#include "launch/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace hearth::launch {
namespace {

// A pipe that poll() calls writable takes at least this much without blocking.
constexpr size_t kPieceBytes = 4096;
constexpr size_t kReadBytes = size_t{64} << 10;
// Not on the stack, which may be short (ulimit -s); all streams are read by one thread.
std::array<char, kReadBytes> read_buffer;
// A pipe holds at most 1 MiB unless root allows more; drain() does not wait for processes that keep writing.
constexpr size_t kDrainBytesMax = size_t{4} << 20;
// Longer lines are forwarded in parts.
constexpr size_t kLineBytesMax = size_t{1} << 20;

}  // namespace

Sink::Sink(int descriptor) : descriptor_(descriptor), never_blocks_(os::is_regular_file(descriptor)) {}

Sink::Sink(os::Descriptor file) : Sink(file.number()) {
  owned_ = std::move(file);
}

void Sink::write(std::string_view text) {
  if (broken_ == 0) waiting_.append(text);
}

bool Sink::flush() {
  while (!empty()) {
    if (!never_blocks_ && !os::ready_to_write(descriptor_)) break;
    const size_t left = waiting_.size() - sent_;
    const intptr_t bytes = os::write_some(descriptor_, waiting_.data() + sent_,
                                          never_blocks_ ? left : std::min(left, kPieceBytes));
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) {
      broken_ = errno;
      waiting_.clear();
      sent_ = 0;
      return true;
    }
    sent_ += static_cast<size_t>(bytes);
  }
  if (empty()) {
    waiting_.clear();
    sent_ = 0;
    return true;
  }
  if (sent_ > kReadBytes) {
    waiting_.erase(0, sent_);
    sent_ = 0;
  }
  return false;
}

RankStream::RankStream(os::Descriptor pipe, Sink* sink, std::string prefix)
    : pipe_(std::move(pipe)), sink_(sink), prefix_(std::move(prefix)) {
  os::set_nonblocking(pipe_.number(), true);
}

void RankStream::take(std::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    line_.append(text);
    if (line_.size() > kLineBytesMax) flush_unfinished();
    return;
  }
  const std::string_view whole = text.substr(0, end + 1);
  if (prefix_.empty()) {
    sink_->write(line_);
    sink_->write(whole);
  } else {
    for (size_t start = 0; start < whole.size();) {
      const size_t next = whole.find('\n', start) + 1;
      sink_->write(prefix_);
      if (start == 0) sink_->write(line_);
      sink_->write(whole.substr(start, next - start));
      start = next;
    }
  }
  line_ = text.substr(end + 1);
}

bool RankStream::read() {
  std::array<char, kReadBytes>& piece = read_buffer;
  const intptr_t bytes = os::read_some(pipe_.number(), piece.data(), piece.size());
  if (bytes > 0) take({piece.data(), static_cast<size_t>(bytes)});
  if (bytes < 0 && errno != EAGAIN) broken_ = errno;
  return bytes > 0 || (bytes < 0 && errno == EAGAIN);
}

void RankStream::drain() {
  std::array<char, kReadBytes>& piece = read_buffer;
  for (size_t total = 0; open() && total < kDrainBytesMax;) {
    const intptr_t bytes = os::read_some(pipe_.number(), piece.data(), piece.size());
    if (bytes < 0 && errno == EAGAIN) return;
    if (bytes < 0) broken_ = errno;
    if (bytes <= 0) {
      close();
      return;
    }
    take({piece.data(), static_cast<size_t>(bytes)});
    total += static_cast<size_t>(bytes);
  }
}

void RankStream::flush_unfinished() {
  if (line_.empty()) return;
  sink_->write(prefix_);
  sink_->write(line_);
  if (!prefix_.empty()) sink_->write("\n");
  line_.clear();
}

}  // namespace hearth::launch
