#include "datatype/unnamed.h"

#include "datatype/contents.h"
#include "datatype/predefined.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// All types that were made. Never destroyed: see base/immortal.h.
std::vector<Type*>& made_types() {
  static auto& types = *new std::vector<Type*>;
  return types;
}

Type* find_made(int combiner, const std::vector<int>& integers, const std::vector<Type*>& types) {
  for (Type* type : made_types()) {
    if (type->combiner == combiner && type->integers == integers && type->types == types) return type;
  }
  return nullptr;
}

Status add(const Shape& shape, Element element, Type*& made) {
  HEARTH_TRY(create(shape, made));
  made->element = element;
  made->committed = true;
  made->permanent = true;
  made_types().push_back(made);
  return {};
}

/// The precision of a kind of numbers in decimal digits, and its range of decimal exponents.
struct NumberKind {
  int precision;
  int range;
  MPI_Datatype real;
  MPI_Datatype complex;
};

Status f90_floating(int combiner, int precision, int range, Type*& type) {
  const NumberKind kinds[] = {{6, 37, MPI_REAL4, MPI_COMPLEX8},
                              {15, 307, MPI_REAL8, MPI_COMPLEX16},
                              {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
                              {33, 4931, MPI_REAL16, MPI_COMPLEX32}};
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED) {
    return fail(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED: one of them must be given");
  }
  type = find_made(combiner, {precision, range}, {});
  if (type != nullptr) return {};
  for (const NumberKind& kind : kinds) {
    const Type& basis = predefined(combiner == MPI_COMBINER_F90_REAL ? kind.real : kind.complex);
    const bool precise = precision == MPI_UNDEFINED || precision <= kind.precision;
    const bool wide = range == MPI_UNDEFINED || range <= kind.range;
    if (!precise || !wide || !basis.supported) continue;
    HEARTH_TRY(add(basis, basis.element, type));
    Contents(*type, combiner, Form::small).integer(precision).integer(range);
    return {};
  }
  return fail(MPI_ERR_ARG,
              "no kind of real number here has %d decimal digits and a decimal exponent range of %d",
              precision, range);
}

bool is_index(Element element) {
  return element >= Element::int8 && element <= Element::uint64;
}

/// Pairs that have a constant.
Type* named_pair(const Type& value, const Type& index) {
  const struct {
    MPI_Datatype value, index, pair;
  } rows[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
  };
  for (const auto& row : rows) {
    if (&predefined(row.value) == &value && &predefined(row.index) == &index) return &predefined(row.pair);
  }
  return nullptr;
}

}  // namespace

Status f90_real(int precision, int range, Type*& type) {
  return f90_floating(MPI_COMBINER_F90_REAL, precision, range, type);
}

Status f90_complex(int precision, int range, Type*& type) {
  return f90_floating(MPI_COMBINER_F90_COMPLEX, precision, range, type);
}

Status f90_integer(int range, Type*& type) {
  const struct {
    int range;
    MPI_Datatype handle;
  } kinds[] = {
      {2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}, {38, MPI_INTEGER16}};
  type = find_made(MPI_COMBINER_F90_INTEGER, {range}, {});
  if (type != nullptr) return {};
  for (const auto& kind : kinds) {
    const Type& basis = predefined(kind.handle);
    if (range > kind.range || !basis.supported) continue;
    HEARTH_TRY(add(basis, basis.element, type));
    Contents(*type, MPI_COMBINER_F90_INTEGER, Form::small).integer(range);
    return {};
  }
  return fail(MPI_ERR_ARG, "no kind of integer here has a decimal exponent range of %d", range);
}

Status value_index(Type& value, Type& index, Type*& pair) {
  pair = named_pair(value, index);
  if (pair != nullptr) return {};
  const bool predefined_both = value.predefined != 0 && index.predefined != 0;
  if (!predefined_both || !is_index(index.element) || !has_pair_kernel(value.element)) return {};
  pair = find_made(MPI_COMBINER_VALUE_INDEX, {}, {&value, &index});
  if (pair != nullptr) return {};
  const int64_t alignment = index.alignment;
  const int64_t place = (value.size + alignment - 1) / alignment * alignment;
  ShapeJoiner joiner;
  Shape shape;
  if (!joiner.add(value, 0) || !joiner.add(index, place) || !joiner.finish(shape)) return too_large(value);
  HEARTH_TRY(add(shape, Element::value_index, pair));
  Contents(*pair, MPI_COMBINER_VALUE_INDEX, Form::small).old_type(value).old_type(index);
  return {};
}

}  // namespace hearth::datatype
