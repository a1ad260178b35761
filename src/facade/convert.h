// Conversions of arguments and results, for the functions that api/generator/facade.py writes.
//
// An object of this header holds the converted form of one argument. get() is the argument of the library's
// call; finish() writes results back in the form of the facade's ABI. Results that the call has not written
// stay unchanged. A null pointer of the user is passed on, so that the library reports it.
//
// Arrays of up to kInline entries are on the stack, longer ones from calloc, which checks the size. If it
// fails, get() is null, and the library reports an invalid array.
#pragma once

#include <cstdlib>
#include <cstring>
#include <type_traits>

#if HEARTH_FACADE_OPENMPI
#include "facade/openmpi/abi.h"
#else
#include "facade/mpich/abi.h"
#endif

namespace hearth::facade {

// Codes: classes by the table, codes of the library (2047 to 16382) unchanged, codes of the user by offset.

inline constexpr int kLastLibraryCode = MPI_ERR_LASTCODE;

int error_in(int there);
int error_out(int here);
/// The result of a function.
inline int code_out(int code) {
  if (code == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  return error_out(code);
}

// Single handles.

template <auto out>
struct FunctionTypes;
template <class To, class From, To (*function)(From)>
struct FunctionTypes<function> {
  using Argument = From;
  using Result = To;
};
template <auto function>
using ArgumentOf = typename FunctionTypes<function>::Argument;
template <auto function>
using ResultOf = typename FunctionTypes<function>::Result;

template <auto out>
class Out {
  using There = ResultOf<out>;
  using Here = ArgumentOf<out>;

 public:
  explicit Out(There* user) : user_(user) {}
  Here* get() { return user_ != nullptr ? &here_ : nullptr; }
  Here value() const { return here_; }
  void finish() {
    if (here_ != kUnwritten && user_ != nullptr) *user_ = out(here_);
  }

 private:
  static inline Here const kUnwritten = reinterpret_cast<Here>(intptr_t{-1});
  There* user_;
  Here here_ = reinterpret_cast<Here>(intptr_t{-1});
};

template <auto in, auto out>
class InOut {
  using There = ArgumentOf<in>;
  using Here = ResultOf<in>;

 public:
  explicit InOut(There* user) : user_(user) {
    if (user != nullptr) here_ = before_ = in(*user);
  }
  Here* get() { return user_ != nullptr ? &here_ : nullptr; }
  void finish() {
    if (user_ != nullptr && here_ != before_) *user_ = out(here_);
  }

 private:
  There* user_;
  Here here_{};
  Here before_{};
};

// Arrays.

inline constexpr int kInline = 64;

template <class T>
class Array {
 public:
  explicit Array(MPI_Count count) {
    if (count > kInline) data_ = static_cast<T*>(std::calloc(static_cast<size_t>(count), sizeof(T)));
  }
  ~Array() {
    if (data_ != reinterpret_cast<T*>(inline_)) std::free(data_);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() { return data_; }

 private:
  // Raw memory: entries are written before they are read.
  alignas(T) std::byte inline_[sizeof(T) * kInline];
  T* data_ = reinterpret_cast<T*>(inline_);
};

template <auto in>
class ArrayIn {
  using There = ArgumentOf<in>;
  using Here = ResultOf<in>;

 public:
  ArrayIn(const There* user, MPI_Count count) : is_given_(user != nullptr), here_(is_given_ ? count : 0) {
    if (!is_given_ || here_.data() == nullptr) return;
    for (MPI_Count i = 0; i < count; ++i) here_.data()[i] = in(user[i]);
  }
  Here* get() { return is_given_ ? here_.data() : nullptr; }

 private:
  bool is_given_;
  Array<Here> here_;
};
template <auto in>
using IntsIn = ArrayIn<in>;

/// An array of requests. A call changes a request to MPI_REQUEST_NULL or not at all.
class RequestsInOut {
 public:
  RequestsInOut(Request* user, int count) : user_(user), count_(count), here_(user != nullptr ? count : 0) {
    if (user == nullptr || here_.data() == nullptr) return;
    for (int i = 0; i < count; ++i) here_.data()[i] = request_in(user[i]);
  }
  MPI_Request* get() { return user_ != nullptr ? here_.data() : nullptr; }
  void finish() {
    if (get() == nullptr) return;
    const Request null = request_out(MPI_REQUEST_NULL);
    for (int i = 0; i < count_; ++i) {
      if (here_.data()[i] == MPI_REQUEST_NULL) user_[i] = null;
    }
  }

 private:
  Request* user_;
  int count_;
  Array<MPI_Request> here_;
};

// Statuses.

inline constexpr int kUnwrittenField = -2147483646;

inline void prepare_status(MPI_Status& here) {
  here.MPI_SOURCE = here.MPI_ERROR = kUnwrittenField;
}
inline void finish_status(Status& there, const MPI_Status& here) {
  if (here.MPI_SOURCE != kUnwrittenField) write_status(there, here);
  if (here.MPI_ERROR != kUnwrittenField) there.MPI_ERROR = code_out(here.MPI_ERROR);
}

class StatusOut {
 public:
  explicit StatusOut(Status* user) : user_(is_ignored(user) ? nullptr : user) { prepare_status(here_); }
  MPI_Status* get() { return user_ != nullptr ? &here_ : MPI_STATUS_IGNORE; }
  void finish() {
    if (user_ != nullptr) finish_status(*user_, here_);
  }

 private:
  Status* user_;
  MPI_Status here_;
};

class StatusesOut {
 public:
  StatusesOut(Status* user, int count)
      : user_(is_ignored(user) ? nullptr : user), count_(count), here_(user_ != nullptr ? count : 0) {
    if (get() == nullptr) return;
    for (int i = 0; i < count; ++i) prepare_status(here_.data()[i]);
  }
  MPI_Status* get() { return user_ != nullptr ? here_.data() : MPI_STATUSES_IGNORE; }
  void finish() {
    if (get() == nullptr) return;
    for (int i = 0; i < count_; ++i) finish_status(user_[i], here_.data()[i]);
  }

 private:
  Status* user_;
  int count_;
  Array<MPI_Status> here_;
};

/// A status of the user in the standard form.
inline MPI_Status status_in(const Status& there) {
  MPI_Status here{};
  read_status(there, here);
  here.MPI_ERROR = error_in(there.MPI_ERROR);
  return here;
}

class StatusIn {
 public:
  explicit StatusIn(const Status* user) : is_given_(!is_ignored(user)) {
    if (is_given_) here_ = status_in(*user);
  }
  const MPI_Status* get() const { return is_given_ ? &here_ : nullptr; }

 private:
  bool is_given_;
  MPI_Status here_{};
};

class StatusInOut {
 public:
  explicit StatusInOut(Status* user) : user_(is_ignored(user) ? nullptr : user) {
    if (user_ != nullptr) here_ = status_in(*user_);
  }
  MPI_Status* get() { return user_ != nullptr ? &here_ : nullptr; }
  /// Leaves the three public fields unchanged: the calls write other fields only.
  void finish() {
    if (user_ == nullptr) return;
    const Status before = *user_;
    write_status(*user_, here_);
    user_->MPI_SOURCE = before.MPI_SOURCE;
    user_->MPI_TAG = before.MPI_TAG;
  }

 private:
  Status* user_;
  MPI_Status here_{};
};

// Numbers, strings, addresses.

/// Converts the results of a call that has succeeded. `place` may be null.
template <auto out>
inline void convert_in_place(int* place, int count, int code) {
  if (place == nullptr || code != MPI_SUCCESS) return;
  for (int i = 0; i < count; ++i) place[i] = out(place[i]);
}
template <auto out, class Enumeration>
requires std::is_enum_v<Enumeration>
inline void convert_in_place(Enumeration* place, int, int code) {
  if (place != nullptr && code == MPI_SUCCESS)
    *place = static_cast<Enumeration>(out(static_cast<int>(*place)));
}

/// A string whose buffer has `limit_there` characters in the facade's ABI: longer strings are truncated.
template <int limit_here, int limit_there>
class StringOut {
  static constexpr bool kCuts = limit_there < limit_here;

 public:
  explicit StringOut(char* user) : user_(user) {}
  char* get() {
    if constexpr (!kCuts) return user_;
    return user_ != nullptr ? here_ : nullptr;
  }
  void finish(int* length, int code) {
    if constexpr (kCuts) {
      if (user_ == nullptr || code != MPI_SUCCESS) return;
      const size_t kept = strnlen(here_, limit_there - 1);
      std::memcpy(user_, here_, kept);
      user_[kept] = 0;
      if (length != nullptr) *length = static_cast<int>(kept);
    }
  }

 private:
  char* user_;
  char here_[kCuts ? limit_here : 1] = {};
};

template <class T>
inline bool is_in_place(T* buffer) {
  return buffer == kInPlace;
}
template <class T>
inline T* buffer_in(T* buffer) {
  if (buffer == kInPlace) return static_cast<T*>(MPI_IN_PLACE);
  return buffer == kBufferAutomatic && kBufferAutomatic != nullptr ? static_cast<T*>(MPI_BUFFER_AUTOMATIC)
                                                                   : buffer;
}
inline void* buffer_out(void* buffer) {
  return buffer == MPI_BUFFER_AUTOMATIC && kBufferAutomatic != nullptr ? kBufferAutomatic : buffer;
}
template <class T>
inline T* weights_in(T* weights) {
  if (weights == weights_unweighted) return MPI_UNWEIGHTED;
  return weights == weights_empty ? MPI_WEIGHTS_EMPTY : weights;
}
inline MPI_T_pvar_handle variable_in(MPI_T_pvar_handle handle) {
  return handle == all_variables ? MPI_T_PVAR_ALL_HANDLES : handle;
}

// Open files have the same number in each ABI. That of MPI_FILE_NULL is 0 in MPICH's and Open MPI's Fortran.
inline int file_number(File there) {
  const MPI_File here = file_in(there);
  return here == MPI_FILE_NULL ? 0 : core().File_toint(here);
}
inline File file_of_number(int number) {
  return file_out(number == 0 ? MPI_FILE_NULL : core().File_fromint(number));
}

// Lengths of arrays of datatypes, which no argument gives. 0 for an invalid communicator: the call itself
// reports it.

enum class Direction { source, destination };

/// The number of processes that a collective communicates with.
int peer_count(Comm comm);
/// Entries of an array that is significant at the root only: `count` there, 0 elsewhere.
int entries_at_root(int count, int root, Comm comm);
/// The number of neighbours that a process receives from or sends to.
int degree(Comm comm, Direction direction);

/// Converts the codes of MPI_Comm_spawn, one for each process of the new intercommunicator.
void spawn_codes_out(int* codes, MPI_Comm intercomm, int code);

}  // namespace hearth::facade
