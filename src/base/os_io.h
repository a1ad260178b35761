// Descriptors, pipes, files and waiting for them. Used by the launcher and the tools, and by the library when
// it starts and ends; nothing here is on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearth::os {

void close_descriptor(int descriptor);
/// Whether programs started from here on lose the descriptor.
void set_close_on_exec(int descriptor, bool close_on_exec);
void set_nonblocking(int descriptor, bool nonblocking);
bool is_terminal(int descriptor);
bool is_regular_file(int descriptor);
/// Whether this process may read its terminal now: it is not in the background.
bool in_foreground(int terminal);
/// A pair of numbers that tells one file from every other, also through another descriptor of it.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Zeros when the descriptor is not open.
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

/// Another descriptor of the same file, close-on-exec, with a number that shell scripts do not use (they may
/// redirect 3 to 9); not open with errno on failure.
Descriptor duplicate_out_of_the_way(int descriptor);

/// Both ends are close-on-exec.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};
/// False with errno when the system has no more descriptors.
bool make_pipe(Pipe& pipe);

/// Bytes moved; 0 from read_some means the end; -1 with errno, EAGAIN where a non-blocking one has to wait.
intptr_t read_some(int descriptor, void* to, size_t bytes);
/// The same at a place of a file.
intptr_t read_at(int descriptor, void* to, size_t bytes, uint64_t offset);
intptr_t write_some(int descriptor, const void* from, size_t bytes);

/// Opens a file; not open with errno on failure. Descriptors are close-on-exec.
Descriptor open_to_read(const char* path);
/// Makes or empties a file.
Descriptor open_to_write(const char* path);
Descriptor open_to_read_and_write(const char* path);
/// Makes a file of so many zeros, in place of one that is there, which whoever has it open keeps.
Descriptor make_file(const char* path, uint64_t bytes);
/// The whole of a small text file; "" when it is not there.
std::string read_text(const char* path);

/// Gives every one of the descriptors 0, 1 and 2 that is closed a null device, so that no file that is opened
/// later takes its number.
void fill_standard_descriptors();
/// Raises the soft limit on descriptors to the hard one; spawned processes get the former limit back.
void raise_descriptor_limit();

/// Waits for many descriptors at once.
class Poller {
 public:
  struct Event {
    uint64_t token;
    bool readable;  // or the other side is gone
    bool writable;  // or the other side is gone
  };
  Poller();
  /// False for what cannot be waited for because it is always ready: a regular file.
  bool add(int descriptor, uint64_t token, bool readable, bool writable);
  void remove(int descriptor);
  /// Waits up to timeout_ms, -1 for ever. The events stay valid until the next call; none, too, when a
  /// signal interrupts the wait or the system refuses it.
  std::span<const Event> wait(int timeout_ms);
  /// The errno of a refused wait, of which repetition is no use; 0 if none was refused.
  int refusal() const { return refusal_; }

 private:
  Descriptor descriptor_;
  std::vector<Event> events_;
  int refusal_ = 0;
};

/// Whether a pipe or terminal takes a page's worth of bytes now without blocking.
bool ready_to_write(int descriptor);

}  // namespace hearth::os
