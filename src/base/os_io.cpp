#include "base/os_io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/chaos.h"

namespace hearth::os {
namespace {

using chaos::Call;
using chaos::refuses;

constexpr size_t kEventsMax = 64;
constexpr int kHighDescriptor = 200;

uint32_t interest(bool readable, bool writable) {
  return (readable ? uint32_t{EPOLLIN} : 0u) | (writable ? uint32_t{EPOLLOUT} : 0u);
}

// Fault injection: transfers fewer bytes, but never of a short message, because the launcher relies on its
// short internal messages to arrive whole.
size_t at_once(size_t bytes) {
  constexpr size_t kShortBytes = 512;
  return bytes <= kShortBytes ? bytes : kShortBytes + chaos::shortened(bytes - kShortBytes);
}

Descriptor open_file(const char* path, int flags) {
  if (refuses(Call::open)) return Descriptor();
  int number;
  do {
    number = ::open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

}  // namespace

void close_descriptor(int descriptor) {
  ::close(descriptor);
}

void set_close_on_exec(int descriptor, bool close_on_exec) {
  ::fcntl(descriptor, F_SETFD, close_on_exec ? FD_CLOEXEC : 0);
}

void set_nonblocking(int descriptor, bool nonblocking) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) return;
  ::fcntl(descriptor, F_SETFL, nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

bool is_regular_file(int descriptor) {
  struct stat status;
  return !refuses(Call::status) && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

bool in_foreground(int terminal) {
  const pid_t foreground = ::tcgetpgrp(terminal);
  return foreground < 0 || foreground == ::getpgrp();
}

FileIdentity identity_of(int descriptor) {
  struct stat status;
  if (refuses(Call::status) || ::fstat(descriptor, &status) != 0) return {};
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
}

Descriptor duplicate_out_of_the_way(int descriptor) {
  if (refuses(Call::duplicate)) return Descriptor();
  Descriptor high(::fcntl(descriptor, F_DUPFD_CLOEXEC, kHighDescriptor));
  // If the limit on descriptors is low, any number will do.
  return high.open() ? std::move(high) : Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
}

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (refuses(Call::pipe) || ::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read_end = Descriptor(ends[0]);
  pipe.write_end = Descriptor(ends[1]);
  return true;
}

intptr_t read_some(int descriptor, void* to, size_t bytes) {
  if (refuses(Call::read)) return -1;
  bytes = at_once(bytes);
  ssize_t result;
  do {
    result = ::read(descriptor, to, bytes);
  } while (result < 0 && errno == EINTR);
  return result;
}

intptr_t read_at(int descriptor, void* to, size_t bytes, uint64_t offset) {
  if (refuses(Call::read)) return -1;
  intptr_t result;
  do {
    result = ::pread(descriptor, to, bytes, static_cast<off_t>(offset));
  } while (result < 0 && errno == EINTR);
  return result;
}

intptr_t write_some(int descriptor, const void* from, size_t bytes) {
  if (refuses(Call::write)) return -1;
  bytes = at_once(bytes);
  ssize_t result;
  do {
    result = ::write(descriptor, from, bytes);
  } while (result < 0 && errno == EINTR);
  return result;
}

Descriptor open_to_read(const char* path) {
  return open_file(path, O_RDONLY);
}
Descriptor open_to_write(const char* path) {
  return open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
}
Descriptor open_to_read_and_write(const char* path) {
  return open_file(path, O_RDWR);
}
Descriptor make_file(const char* path, uint64_t bytes) {
  if (::unlink(path) != 0 && errno != ENOENT) return {};
  Descriptor file = open_file(path, O_RDWR | O_CREAT | O_EXCL);
  if (file.open() && ::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) return {};
  return file;
}

// Reads into the text itself, not through a buffer on the stack: user-level threads have stacks of 16 KiB.
std::string read_text(const char* path) {
  constexpr size_t kPieceBytes = 4096;
  std::string text;
  const Descriptor file = open_to_read(path);
  if (!file.open()) return text;
  for (size_t done = 0;;) {
    text.resize(done + kPieceBytes);
    const intptr_t bytes = read_some(file.number(), text.data() + done, kPieceBytes);
    done += static_cast<size_t>(std::max<intptr_t>(bytes, 0));
    if (bytes > 0) continue;
    text.resize(done);
    return text;
  }
}

void fill_standard_descriptors() {
  for (;;) {
    const int number = ::open("/dev/null", O_RDWR);
    if (number > 2) ::close(number);
    if (number < 0 || number > 2) return;
  }
}

Poller::Poller() : descriptor_(refuses(Call::poller) ? -1 : ::epoll_create1(EPOLL_CLOEXEC)) {}

bool Poller::add(int descriptor, uint64_t token, bool readable, bool writable) {
  epoll_event event = {};
  event.events = interest(readable, writable);
  event.data.u64 = token;
  return !refuses(Call::poller) && ::epoll_ctl(descriptor_.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::remove(int descriptor) {
  ::epoll_ctl(descriptor_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const Poller::Event> Poller::wait(int timeout_ms) {
  epoll_event found[kEventsMax];
  const int count =
      refuses(Call::poll) ? -1 : ::epoll_wait(descriptor_.number(), found, kEventsMax, timeout_ms);
  if (count < 0 && errno != EINTR) refusal_ = errno;
  events_.clear();
  for (int i = 0; i < count; ++i) {
    const bool gone = (found[i].events & (EPOLLHUP | EPOLLERR)) != 0;
    events_.push_back({found[i].data.u64, gone || (found[i].events & EPOLLIN) != 0,
                       gone || (found[i].events & EPOLLOUT) != 0});
  }
  return events_;
}

bool ready_to_write(int descriptor) {
  pollfd entry = {descriptor, POLLOUT, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace hearth::os
