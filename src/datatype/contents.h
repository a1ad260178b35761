// The arguments of a constructor, stored in the type that it makes: for MPI_Type_get_envelope and _contents
// (MPI 5.0 section 5.1.13), and for code that inspects the construction of a type.
#pragma once

#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// Takes a type from the pool and sets its shape.
Status create(const Shape& shape, Type*& made);

/// Stores the arguments of a constructor in `type`, in the order of the standard.
class Contents {
 public:
  Contents(Type& type, int combiner, Form form) : type_(type), form_(form) { type.combiner = combiner; }

  Contents& integer(int value) {
    type_.integers.push_back(value);
    return *this;
  }
  /// An integer; an MPI_Count in the large form.
  Contents& count(int64_t value) {
    if (form_ == Form::large) {
      type_.counts.push_back(value);
    } else {
      type_.integers.push_back(static_cast<int>(value));
    }
    return *this;
  }
  /// An address; an MPI_Count in the large form.
  Contents& address(int64_t value) {
    (form_ == Form::large ? type_.counts : type_.addresses).push_back(value);
    return *this;
  }
  Contents& count_array(CountArray values, int64_t length) {
    for (int64_t i = 0; i < length; ++i) count(values[i]);
    return *this;
  }
  Contents& address_array(CountArray values, int64_t length) {
    for (int64_t i = 0; i < length; ++i) address(values[i]);
    return *this;
  }
  Contents& integer_array(const int* values, int64_t length) {
    type_.integers.insert(type_.integers.end(), values, values + length);
    return *this;
  }
  Contents& old_type(Type& old);

 private:
  Type& type_;
  Form form_;
};

/// MPI_ERR_TYPE for a predefined type that this compiler lacks.
Status check_usable(const Type& old);
Status too_large(const Type& old);

}  // namespace hearth::datatype
