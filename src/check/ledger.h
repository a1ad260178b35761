// The objects that the program has created and not freed yet, each with the creating call and its site. Has a
// lock of its own, under which no MPI call is made, because user callbacks may create and free objects too.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hearth_calls.h"

namespace hearth::check {

enum class ObjectKind : uint8_t { comm, group, type, op, info, errhandler, session, message, file, count_ };

struct MadeBy {
  abi::Call call;
  const void* return_address;
};

class Ledger {
 public:
  /// `lasting`: of a kind that need not be freed.
  void add(ObjectKind kind, uint64_t handle, MadeBy made_by, bool lasting = false);
  /// Returns the creating call; nothing if it is unknown.
  std::optional<MadeBy> remove(ObjectKind kind, uint64_t handle);
  /// Number of the object that the handle means: differs whenever the handle is reused; 0 if unknown.
  uint64_t generation(uint64_t handle) const;

  struct Left {
    ObjectKind kind;
    MadeBy made_by;
    uint64_t number;
  };
  /// The objects left, grouped by creating call and site. `any_time`: only kinds that may be freed after
  /// MPI_Finalize; otherwise only the others.
  std::vector<Left> left(bool any_time) const;

 private:
  struct Entry {
    ObjectKind kind;
    uint64_t generation;
    bool lasting;
    std::vector<MadeBy> makers;  // a handle may be returned several times, and is freed as often
  };
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Entry> entries_;
  uint64_t generations_ = 1;
};

/// "communicator".
const char* name_of(ObjectKind kind);

}  // namespace hearth::check
