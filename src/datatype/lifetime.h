// References on datatypes: the handle, each request in flight and each datatype made from the type hold one.
// Called under the library's lock, also on the data path.
#pragma once

#include "datatype/type.h"

namespace hearth::datatype {

void destroy(Type& type);

inline void retain(Type& type) {
  ++type.references;
}
inline void release(Type& type) {
  if (__builtin_expect(--type.references == 0, 0)) destroy(type);
}
/// Holds a reference for a scope, also if an exception ends it.
class Reference {
 public:
  explicit Reference(Type& type) : type_(type) { retain(type); }
  ~Reference() { release(type_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

 private:
  Type& type_;
};
/// Implements MPI_Type_free: the handle is invalid afterwards, even if the type still exists.
/// Pre: the type is not predefined.
inline void free_handle(Type& type) {
  type.alive = 0;
  release(type);
}

objects::AttributeHolder holder_of(Type& type);

}  // namespace hearth::datatype
