// Conversions of arguments and results between Fortran and C, for the entry points that
// api/generator/fortran_entries.py writes.
//
// An object of this header holds the C form of one argument: get() is the argument of the C call, finish()
// writes results back. Results that the call has not written stay as they are. Short arrays are on the stack.
#pragma once

#include <pthread.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "fortran/handles.h"
#include "fortran/sentinels.h"

#define HEARTH_FORTRAN [[gnu::visibility("default")]]
// Defines `new_name` as an alias of `name`, which the same file defines.
#define HEARTH_FORTRAN_ALIAS(new_name, name) \
  asm(".globl " new_name "\n.type " new_name ", %function\n.set " new_name ", " name "\n")

// The names that other compilers, or options of them, give to the routine `name`, which is defined as
// `name_`.
#define HEARTH_FORTRAN_NAMES(name, NAME)     \
  HEARTH_FORTRAN_ALIAS(name "__", name "_"); \
  HEARTH_FORTRAN_ALIAS(name, name "_");      \
  HEARTH_FORTRAN_ALIAS(NAME, name "_")

// The name of a predefined procedure in Open MPI's module mpi_f08_callbacks.
#define HEARTH_FORTRAN_F08_CALLBACK(name) HEARTH_FORTRAN_ALIAS("__mpi_f08_callbacks_MOD_" name, name "_")

namespace hearth::fortran {

/// A procedure of the program.
using Callback = void();

/// Stores the error code in ierror, which is optional in mpi_f08 (null pointer).
inline void leave(int* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

/// Reports an error of this library through the error handler of an object. `what` names routine and
/// argument.
int refuse(MPI_Comm comm, const char* what, const char* why, int error_class = MPI_ERR_BUFFER);
int refuse(MPI_Win win, const char* what, const char* why);
int refuse(MPI_File file, const char* what, const char* why);

/// An array of `count` elements for the duration of a call; get() is null if there is no memory.
template <class T, int kInline = 64>
class Scratch {
 public:
  explicit Scratch(int64_t count) {
    if (count > kInline) data_ = static_cast<T*>(std::calloc(static_cast<size_t>(count), sizeof(T)));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_ != inline_) std::free(data_);
  }
  T* get() { return data_; }

 private:
  T inline_[kInline];
  T* data_ = inline_;
};

/// A copy of `value` in memory from malloc, which needs no C++ library; null if there is no memory.
template <class T>
T* make(const T& value) {
  auto* const made = static_cast<T*>(std::malloc(sizeof(T)));
  if (made != nullptr) *made = value;
  return made;
}

/// Holds a lock. std::mutex would make this library depend on the C++ library.
class Guard {
 public:
  explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

// Single handles.

template <auto in>
struct FunctionTypes;
template <class To, class From, To (*function)(From)>
struct FunctionTypes<function> {
  using Result = To;
  using Argument = From;
};

template <auto out>
class Out {
  using Handle = typename FunctionTypes<out>::Argument;

 public:
  explicit Out(int* user) : user_(user) {}
  Handle* get() { return &handle_; }
  void finish() {
    if (handle_ != unwritten<Handle>()) *user_ = out(handle_);
  }

 private:
  int* user_;
  Handle handle_ = unwritten<Handle>();
};

template <auto in, auto out>
class InOut {
  using Handle = typename FunctionTypes<in>::Result;

 public:
  explicit InOut(int* user) : user_(user), handle_(in(*user)), before_(handle_) {}
  Handle* get() { return &handle_; }
  void finish() {
    if (handle_ != before_) *user_ = out(handle_);
  }

 private:
  int* user_;
  Handle handle_;
  Handle before_;
};

// Arrays of handles.

template <auto in>
class HandlesIn {
  using Handle = typename FunctionTypes<in>::Result;

 public:
  HandlesIn(const int* user, int count) : handles_(count) {
    if (handles_.get() == nullptr) return;
    for (int i = 0; i < count; ++i) handles_.get()[i] = in(user[i]);
  }
  Handle* get() { return handles_.get(); }

 private:
  Scratch<Handle> handles_;
};

class RequestsInOut {
 public:
  RequestsInOut(int* user, int count) : user_(user), count_(count), requests_(count) {
    MPI_Request* const __restrict requests = get();  // so that the place of the pool is loaded once
    if (requests == nullptr) return;
    for (int i = 0; i < count; ++i) requests[i] = request_in(user[i]);
  }
  MPI_Request* get() { return requests_.get(); }
  void finish() {
    if (get() == nullptr) return;
    const int null = request_out(MPI_REQUEST_NULL);
    for (int i = 0; i < count_; ++i) {
      const MPI_Request request = get()[i];
      if (request == MPI_REQUEST_NULL) {
        user_[i] = null;
      } else if (request != request_in(user_[i])) [[unlikely]] {
        user_[i] = request_out(request);
      }
    }
  }

 private:
  int* user_;
  int count_;
  Scratch<MPI_Request> requests_;
};

// LOGICAL. The values of .TRUE. and .FALSE. depend on the compiler; with all of them the lowest bit differs.

struct Booleans {
  int yes = 1;
  int no = 0;
};
inline Booleans booleans;
/// Takes over the values that MPI_Abi_set_fortran_booleans has set.
void read_booleans();

inline int logical_in(int logical) {
  return logical & 1;
}
inline int logical_out(int flag) {
  return flag != 0 ? booleans.yes : booleans.no;
}

class LogicalOut {
 public:
  explicit LogicalOut(int* user) : user_(user) {}
  int* get() { return &flag_; }
  void finish() {
    if (flag_ != kUnwritten) *user_ = logical_out(flag_);
  }

 private:
  static constexpr int kUnwritten = INT_MIN;
  int* user_;
  int flag_ = kUnwritten;
};

class LogicalsIn {
 public:
  LogicalsIn(const int* user, int count) : flags_(count) {
    if (flags_.get() == nullptr) return;
    for (int i = 0; i < count; ++i) flags_.get()[i] = logical_in(user[i]);
  }
  int* get() { return flags_.get(); }

 private:
  Scratch<int> flags_;
};

inline void logicals_out(int* flags, int count) {
  for (int i = 0; i < count; ++i) flags[i] = logical_out(flags[i]);
}

// Indices of arrays begin with 1.

class IndexOut {
 public:
  explicit IndexOut(int* user) : user_(user) {}
  int* get() { return &index_; }
  void finish() {
    if (index_ != kUnwritten) *user_ = index_ == MPI_UNDEFINED ? index_ : index_ + 1;
  }

 private:
  static constexpr int kUnwritten = INT_MIN;
  int* user_;
  int index_ = kUnwritten;
};

/// Errors of other classes than MPI_ERR_IN_STATUS leave the count unwritten.
inline void indices_out(int* indices, const int* count, int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  if ((code != MPI_SUCCESS && error_class != MPI_ERR_IN_STATUS) || *count == MPI_UNDEFINED) return;
  for (int i = 0; i < *count; ++i) ++indices[i];
}

// Strings.

enum class Trim { trailing, both };

/// A string of C from a CHARACTER of `length` characters, without its trailing blanks.
class TextIn {
 public:
  TextIn(const char* text, size_t length, Trim trim = Trim::trailing);
  TextIn(const TextIn&) = delete;
  TextIn& operator=(const TextIn&) = delete;
  ~TextIn() {
    if (text_ != inline_) std::free(text_);
  }
  /// A null pointer if there is no memory.
  const char* get() const { return text_; }

 private:
  static constexpr size_t kInline = 256;
  char inline_[kInline];
  char* text_ = inline_;
};

/// Copies a string of C into a CHARACTER of `length` characters and pads it with blanks.
void fill(char* to, size_t length, const char* text);

/// A string that the library returns: at most `kBytes` with the terminating zero.
template <size_t kBytes>
class TextOut {
 public:
  TextOut(char* user, size_t length) : user_(user), length_(length) { text_[0] = '\0'; }
  char* get() { return text_; }
  void finish(int code) {
    if (code == MPI_SUCCESS) fill(user_, length_, text_);
  }

 private:
  char* user_;
  size_t length_;
  char text_[kBytes];
};

// Lengths of arrays that no argument gives.

enum class Direction { source, destination };
/// Processes that a collective operation of the communicator exchanges data with.
int peer_count(int comm);
/// Neighbours in the process topology.
int degree(int comm, Direction direction);
/// Dimensions of a Cartesian communicator, at most `limit`; 0 of another one, which the call reports.
int cart_dimensions(int comm, int limit = INT_MAX);

/// The address that MPI_Buffer_detach returns. Only mpi_f08 has an argument that can hold it; in the other
/// forms the argument stays as it is (MPI 5.0 section 3.6).
class Detached {
 public:
  Detached(void* user, bool is_f08) : user_(is_f08 ? static_cast<const void**>(user) : nullptr) {}
  void* get() { return &address_; }
  void finish(int code) {
    if (code != MPI_SUCCESS || user_ == nullptr) return;
    *user_ = address_ == MPI_BUFFER_AUTOMATIC ? automatic_buffer() : address_;
  }

 private:
  const void** user_;
  const void* address_ = nullptr;
};

}  // namespace hearth::fortran
