// The objects that the program has made and not freed yet: which call made each, and where. Under a lock of
// its own, and no MPI call is made under it, so that callbacks of the user may make and free objects too.
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

enum class ObjectKind : uint8_t { comm, group, type, op, info, errhandler, session, message, count_ };

struct MadeBy {
  abi::Call call;
  const void* return_address;
};

class Ledger {
 public:
  /// `lasting`: of the kind that nobody frees.
  void add(ObjectKind kind, uint64_t handle, MadeBy made_by, bool lasting = false);
  /// Who made it; nothing where it is not known.
  std::optional<MadeBy> remove(ObjectKind kind, uint64_t handle);
  /// Another one each time that the handle has come to mean another object; 0 for none.
  uint64_t generation(uint64_t handle) const;

  struct Left {
    ObjectKind kind;
    MadeBy made_by;
    uint64_t number;
  };
  /// What is left, objects of one place together.
  std::vector<Left> left(bool any_time) const;

 private:
  struct Entry {
    ObjectKind kind;
    uint64_t generation;
    bool lasting;
    std::vector<MadeBy> makers;  // a handle may be handed out several times, and is freed as often
  };
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Entry> entries_;
  uint64_t generations_ = 1;
};

/// "communicator".
const char* name_of(ObjectKind kind);

}  // namespace hearth::check
