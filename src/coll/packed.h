// The data of elements one after another, for algorithms that cut or join blocks: in place where they lie so,
// else in a copy.
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
  /// A step: from the elements to data().
  void fill(Schedule& schedule) {
    if (type_ != nullptr) schedule.pack(buffer_, count_, *type_, data_);
  }
  /// A step: what came to data() goes to the elements.
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
