// Access to the arguments of a call by their names in the standard. Reads one word per argument and the table
// of calls.
#pragma once

#include <cstdint>
#include <cstring>

#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::check {

using abi::Call;

class Arguments {
 public:
  Arguments(Call call, const uint64_t* words)
      : call_(call), info_(abi::call_table[index(call)]), words_(words) {
    const size_t length = std::strlen(info_.name);
    large_ = length > 2 && std::strcmp(info_.name + length - 2, "_c") == 0;
  }

  Call call() const { return call_; }
  /// The small-count form of the call, so that both forms compare equal. In the table, the large form follows
  /// the small one.
  Call function() const { return large_ ? static_cast<Call>(index(call_) - 1) : call_; }
  const char* name() const { return info_.name; }
  const char* group() const { return info_.group; }

  int find(const char* name) const {
    for (int i = 0; i < info_.parameter_count; ++i) {
      if (std::strcmp(info_.parameters[i].name, name) == 0) return i;
    }
    return -1;
  }
  int find(abi::Kind kind) const {
    for (int i = 0; i < info_.parameter_count; ++i) {
      if (info_.parameters[i].kind == kind) return i;
    }
    return -1;
  }
  bool has(const char* name) const { return find(name) >= 0; }
  uint64_t word(int place) const { return place < 0 ? 0 : words_[place]; }
  uint64_t word(const char* name) const { return word(find(name)); }
  int64_t number(const char* name) const { return static_cast<int64_t>(word(name)); }
  template <class Handle>
  Handle handle(const char* name) const {
    return reinterpret_cast<Handle>(static_cast<uintptr_t>(word(name)));
  }
  template <class T>
  T* pointer(const char* name) const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(word(name)));
  }
  int count() const { return info_.parameter_count; }
  abi::Kind kind(int place) const { return info_.parameters[place].kind; }
  template <class T>
  T* pointer(int place) const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(words_[place]));
  }
  /// An entry of an array of counts or displacements: int in the small form, 64 bits in the large one.
  int64_t entry(const char* name, int at) const {
    const void* array = pointer<const void>(name);
    if (array == nullptr) return 0;
    return large_ ? static_cast<const int64_t*>(array)[at] : static_cast<const int*>(array)[at];
  }

 private:
  static size_t index(Call call) { return static_cast<size_t>(call); }

  Call call_;
  const abi::CallInfo& info_;
  const uint64_t* words_;
  bool large_;
};

}  // namespace hearth::check
