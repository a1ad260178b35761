// Descriptors, pipes, files and polling. Used by the launcher and the tools, and by the library when it
// starts and ends; not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearth::os {

void close_descriptor(int descriptor);
/// Whether a program that this process executes loses the descriptor.
void set_close_on_exec(int descriptor, bool close_on_exec);
void set_nonblocking(int descriptor, bool nonblocking);
bool is_terminal(int descriptor);
bool is_regular_file(int descriptor);
/// Whether this process is in the foreground of the terminal, so that it may read from it.
bool in_foreground(int terminal);
/// Identifies a file: equal for all descriptors of the same file.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Zeros if the descriptor is not open.
FileIdentity identity_of(int descriptor);

/// Owns one descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = other.release();
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void reset() {
    if (number_ >= 0) close_descriptor(number_);
    number_ = -1;
  }
  int release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_ = -1;
};

/// Duplicates a descriptor, close-on-exec, to a number that shell scripts do not use (they may redirect 3 to
/// 9); not open with errno on failure.
Descriptor duplicate_out_of_the_way(int descriptor);

/// Both ends are close-on-exec.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};
/// False with errno on failure.
bool make_pipe(Pipe& pipe);

/// Return the bytes moved, or -1 with errno: EAGAIN if a non-blocking descriptor would block. 0 from
/// read_some means end of file.
intptr_t read_some(int descriptor, void* to, size_t bytes);
/// The same at an offset of a file.
intptr_t read_at(int descriptor, void* to, size_t bytes, uint64_t offset);
intptr_t write_some(int descriptor, const void* from, size_t bytes);

/// Open a file; not open with errno on failure. Descriptors are close-on-exec.
Descriptor open_to_read(const char* path);
/// Creates or empties a file.
Descriptor open_to_write(const char* path);
Descriptor open_to_read_and_write(const char* path);
/// Creates a file of that many zeros. Replaces an existing file; processes that have that one open keep it.
Descriptor make_file(const char* path, uint64_t bytes);
/// The contents of a small text file; "" if it does not exist.
std::string read_text(const char* path);

/// Opens a null device for each of the descriptors 0, 1 and 2 that is closed, so that no file opened later
/// gets its number.
void fill_standard_descriptors();
/// Raises the soft limit on descriptors to the hard limit; spawned processes get the former limit back.
void raise_descriptor_limit();

/// Waits for many descriptors at once (epoll).
class Poller {
 public:
  struct Event {
    uint64_t token;
    bool readable;  // or the other end is closed
    bool writable;  // or the other end is closed
  };
  Poller();
  /// False on failure. A regular file, which is always ready, cannot be added.
  bool add(int descriptor, uint64_t token, bool readable, bool writable);
  void remove(int descriptor);
  /// Waits up to timeout_ms; -1 without limit. The events stay valid until the next call; none if a signal
  /// interrupts the wait or the system refuses it.
  std::span<const Event> wait(int timeout_ms);
  /// The errno of a refused wait, which would fail again if repeated; 0 if none was refused.
  int refusal() const { return refusal_; }

 private:
  Descriptor descriptor_;
  std::vector<Event> events_;
  int refusal_ = 0;
};

/// Whether a pipe or terminal accepts a page of bytes now without blocking.
bool ready_to_write(int descriptor);

}  // namespace hearth::os
