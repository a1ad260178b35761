// Who keeps a datatype alive: its handle, requests under way, and the datatypes made from it, one reference
// each. Called under the library's lock, also on the data path.
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
/// What MPI_Type_free does: the handle is invalid from here on, even where the type lives on.
/// Pre: the type is not predefined.
inline void free_handle(Type& type) {
  type.alive = 0;
  release(type);
}

objects::AttributeHolder holder_of(Type& type);

}  // namespace hearth::datatype
