// The packed data of elements, for algorithms that cut or join blocks: in place if the elements are
// contiguous, else in a copy.
#pragma once

#include "coll/schedule.h"

namespace hearth::coll {

class Packed {
 public:
  Status reserve(Schedule& schedule, void* buffer, Count count, Type& type) {
    if (type.contiguous) {
      data_ = static_cast<std::byte*>(buffer) + type.true_lower_bound;
      return {};
    }
    buffer_ = buffer;
    count_ = count;
    type_ = &type;
    return schedule.scratch(count * type.size, data_);
  }
  /// Adds a step that packs the elements into data().
  void fill(Schedule& schedule) {
    if (type_ != nullptr) schedule.pack(buffer_, count_, *type_, data_);
  }
  /// Adds a step that unpacks data() into the elements.
  void empty(Schedule& schedule) {
    if (type_ != nullptr) schedule.unpack(data_, buffer_, count_, *type_);
  }
  std::byte* data() { return data_; }

 private:
  std::byte* data_ = nullptr;
  void* buffer_ = nullptr;
  Count count_ = 0;
  Type* type_ = nullptr;  // nullptr: in place
};

}  // namespace hearth::coll
