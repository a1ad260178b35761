// Attributes: values that users attach to communicators, datatypes and windows by a key (MPI 5.0 section
// 7.7). A key has functions that are called when an object is duplicated and when a value is deleted.
//
// Under the library's lock. User functions run with the lock held and may call MPI.
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
/// In the order in which they were set; deleted in reverse order.
using Attributes = std::vector<Attribute>;

/// The kind of objects that a key is for; a key is valid only for its kind.
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

/// An object with attributes.
struct AttributeHolder {
  KeyvalKind kind;
  void* handle;  // as the ABI represents it
  Attributes* attributes;
};
AttributeHolder holder_of(Comm& comm);

/// Creates a key. The functions may be the ABI's constants for "do not copy", "copy" and "do nothing".
int create_keyval(KeyvalKind kind, CopyFunction copy, DeleteFunction erase, void* extra_state);
/// Frees the user's key and sets it to MPI_KEYVAL_INVALID; existing attributes keep its functions.
Status free_keyval(KeyvalKind kind, int& keyval);

// An invalid key, or one of another kind, is MPI_ERR_KEYVAL. If a user function fails, the call fails with
// the code that it returned.

/// Calls the key's delete function first if the attribute has a value.
Status set_attribute(const AttributeHolder& holder, int keyval, void* value);
Status get_attribute(const AttributeHolder& holder, int keyval, void*& value, bool& found);
Status delete_attribute(const AttributeHolder& holder, int keyval);
/// Deletes all attributes, the one set last first. Stops at the first failure and keeps that attribute and
/// those set before it.
Status delete_attributes(const AttributeHolder& holder);
Status delete_attributes(Comm& comm);
/// Copies the attributes that the keys' copy functions select. Pre: `to` has no attributes. After a failure
/// it has none.
Status copy_attributes(const AttributeHolder& from, const AttributeHolder& to);

}  // namespace hearth::objects
