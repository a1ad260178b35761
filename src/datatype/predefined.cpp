#include "datatype/predefined.h"

#include <cwchar>

#include "mpi.h"
#include "objects/pools.h"

namespace hearth::datatype {
namespace {

constexpr int kTypesMax = 96;

// The layout of struct { First first; Second second; } in C, which is the standard's definition of pair
// types.
template <class First, class Second>
struct Pair {
  First first;
  Second second;
};

struct Table {
  Type types[kTypesMax];
  int used = 0;

  Type& add(const char* name, uint32_t constant) {
    HEARTH_CHECK(used < kTypesMax && constant < objects::kPredefinedLimit);
    Type& type = types[used++];
    type.slot = 0;
    type.alive = Pool<Type>::kAlive;
    type.predefined = constant;
    type.name = name;
    type.combiner = MPI_COMBINER_NAMED;
    type.committed = true;
    objects::pools.predefined[constant] = &type;
    return type;
  }

  void add_plain(const char* name, uint32_t constant, size_t bytes, size_t alignment, Element element) {
    Type& type = add(name, constant);
    type.alignment = static_cast<uint8_t>(alignment);
    type.size = type.extent = type.true_extent = static_cast<int64_t>(bytes);
    type.element = element;
  }

  // A pair may have padding after its second member (double, int) or between the two (short, int).
  template <class First, class Second>
  void add_pair(const char* name, uint32_t constant, Element element) {
    using Struct = Pair<First, Second>;
    Type& type = add(name, constant);
    type.size = sizeof(First) + sizeof(Second);
    type.extent = sizeof(Struct);
    type.true_extent = offsetof(Struct, second) + sizeof(Second);
    type.contiguous = type.size == type.extent;
    type.alignment = alignof(Struct);
    if (!type.contiguous) {
      LayoutBuilder builder;
      builder.add_block(0, sizeof(First));
      builder.add_block(offsetof(Struct, second), sizeof(Second));
      type.layout = builder.finish();
    }
    type.element = element;
  }

  void add_absent(const char* name, uint32_t constant) {
    Type& type = add(name, constant);
    type.size = type.extent = type.true_extent = 0;
    type.supported = false;
    type.committed = false;  // so that communication rejects it
  }
};

// Never destroyed: see base/immortal.h.
Table& table() {
  static Table& the_table = *new Table;
  return the_table;
}

}  // namespace

void enter_predefined_types() {
  if (table().used > 0) return;
#define HEARTH_TYPE(name, constant, c_type, element_kind) \
  table().add_plain(#name, constant, sizeof(c_type), alignof(c_type), Element::element_kind);
#define HEARTH_COMPLEX(name, constant, c_type, element_kind) \
  table().add_plain(#name, constant, 2 * sizeof(c_type), alignof(c_type), Element::element_kind);
#define HEARTH_PAIR(name, constant, first_type, second_type, element_kind) \
  table().add_pair<first_type, second_type>(#name, constant, Element::element_kind);
#define HEARTH_ABSENT(name, constant) table().add_absent(#name, constant);
#include "hearth_types.inc"
#undef HEARTH_TYPE
#undef HEARTH_COMPLEX
#undef HEARTH_PAIR
#undef HEARTH_ABSENT
}

Type* predefined_type(uint32_t constant) {
  enter_predefined_types();
  return constant >= 0x200 && constant < objects::kPredefinedLimit
             ? static_cast<Type*>(objects::pools.predefined[constant])
             : nullptr;
}

Type& null_type() {
  static Type& type = []() -> Type& {
    Type& fresh = *new Type;
    fresh.slot = 0;
    fresh.alive = Pool<Type>::kAlive;
    fresh.predefined = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL));
    fresh.name = "MPI_DATATYPE_NULL";
    fresh.combiner = MPI_COMBINER_NAMED;
    fresh.committed = true;
    return fresh;
  }();
  return type;
}

}  // namespace hearth::datatype
