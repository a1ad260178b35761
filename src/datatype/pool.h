// The pool of user-defined datatypes. Predefined datatypes: datatype/predefined.h.
#pragma once

#include "base/immortal.h"
#include "base/pool.h"
#include "datatype/type.h"

namespace hearth::datatype {

inline constinit Immortal<Pool<Type>> immortal_pool{size_t{1} << 20};
inline constinit Pool<Type>& pool = immortal_pool.value;

}  // namespace hearth::datatype
