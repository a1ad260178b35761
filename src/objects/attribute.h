// Attributes: values that users attach to communicators, datatypes and windows under a key (MPI 5.0 section
// 7.7). A key has functions that run when an object is duplicated and when a value goes away.
//
// Called under the library's lock, which the user's functions run with; they may call MPI again.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "mpi.h"

namespace hearth::objects {

struct Comm;

struct Attribute {
  int keyval;
  void* value;
};
/// In the order in which they were set; they go away in the reverse order.
using Attributes = std::vector<Attribute>;

/// What a key is for; keys of one kind are no keys of another.
enum class KeyvalKind : uint8_t { comm, type, win };

union CopyFunction {
  MPI_Comm_copy_attr_function* comm;
  MPI_Type_copy_attr_function* type;
  MPI_Win_copy_attr_function* win;
};
union DeleteFunction {
  MPI_Comm_delete_attr_function* comm;
  MPI_Type_delete_attr_function* type;
  MPI_Win_delete_attr_function* win;
};

/// An object whose attributes are meant.
struct AttributeHolder {
  KeyvalKind kind;
  void* handle;  // in the ABI's form
  Attributes* attributes;
};
AttributeHolder holder_of(Comm& comm);

/// A new key. The functions may be the ABI's constants for "do not copy", "copy" and "nothing to do".
int create_keyval(KeyvalKind kind, CopyFunction copy, DeleteFunction erase, void* extra_state);
/// Takes the key from its user; attributes under it keep its functions. Sets it to MPI_KEYVAL_INVALID.
Status free_keyval(KeyvalKind kind, int& keyval);

// A key that is free or of another kind is MPI_ERR_KEYVAL; a function of the user that fails makes the call
// fail with the code that it returned.

/// A value that was there goes through the key's delete function first.
Status set_attribute(const AttributeHolder& holder, int keyval, void* value);
Status get_attribute(const AttributeHolder& holder, int keyval, void*& value, bool& found);
Status delete_attribute(const AttributeHolder& holder, int keyval);
/// All of them, the last one set first. Stops at the first failure; that attribute and earlier ones stay.
Status delete_attributes(const AttributeHolder& holder);
Status delete_attributes(Comm& comm);
/// As the keys' copy functions wish. `to` has no attributes before; it has none after a failure.
Status copy_attributes(const AttributeHolder& from, const AttributeHolder& to);

}  // namespace hearth::objects
