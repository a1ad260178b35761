#include "objects/attribute.h"

#include <algorithm>

#include "base/inside.h"
#include "objects/callback_adapters.h"
#include "objects/comm.h"
#include "objects/win.h"

namespace hearth::objects {
namespace {

struct Keyval {
  KeyvalKind kind = KeyvalKind::comm;
  bool owned = false;       // by the user: not freed yet
  uint32_t references = 0;  // by the user and by each attribute with this key; 0: the entry is free
  CopyFunction copy = {nullptr};
  DeleteFunction erase = {nullptr};
  void* extra_state = nullptr;
};

// Greater than the keys that the standard defines.
constexpr int kFirstUserKeyval = 1024;
// The ABI's constants MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN and MPI_WIN_DUP_FN; the "null" functions are nullptr.
const auto kDuplicate = reinterpret_cast<MPI_Comm_copy_attr_function*>(uintptr_t{1});

// Created at first use and never destroyed: programs free keys in destructors that run after main.
std::vector<Keyval>& keyvals() {
  static auto& all = *new std::vector<Keyval>;
  return all;
}

Keyval& keyval_at(int keyval) {
  return keyvals()[static_cast<size_t>(keyval - kFirstUserKeyval)];
}

const char* name_of(KeyvalKind kind) {
  switch (kind) {
    case KeyvalKind::comm:
      return "communicators";
    case KeyvalKind::type:
      return "datatypes";
    case KeyvalKind::win:
      return "windows";
  }
  return "";
}

bool is_predefined(int keyval) {
  return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) ||
         (keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL);
}

/// The use of a key. A freed key still identifies existing attributes, until they are deleted (MPI 5.0
/// section 7.7.2).
enum class Use { anything, old_attributes };

/// Whether the user may use the key on objects of this kind.
Status check_keyval(KeyvalKind kind, int keyval, Use use = Use::anything) {
  if (is_predefined(keyval)) {
    return fail(MPI_ERR_KEYVAL,
                "keyval %d is predefined: its attribute can be read on objects that have it, not changed",
                keyval);
  }
  const int64_t index = int64_t{keyval} - kFirstUserKeyval;
  const bool is_there = index >= 0 && index < static_cast<int64_t>(keyvals().size());
  if (!is_there || !(use == Use::anything ? keyval_at(keyval).owned : keyval_at(keyval).references > 0)) {
    return fail(MPI_ERR_KEYVAL, "%d is no keyval. Likely cause: it was freed, or never created", keyval);
  }
  if (keyval_at(keyval).kind != kind) {
    return fail(MPI_ERR_KEYVAL, "keyval %d is for %s, not for %s", keyval, name_of(keyval_at(keyval).kind),
                name_of(kind));
  }
  return {};
}

void drop_reference(int keyval) {
  Keyval& key = keyval_at(keyval);
  if (--key.references == 0) key = Keyval();
}

Attributes::iterator find(Attributes& attributes, int keyval) {
  return std::find_if(attributes.begin(), attributes.end(),
                      [keyval](const Attribute& attribute) { return attribute.keyval == keyval; });
}

Status outcome_of(int code, const char* function, int keyval) {
  if (code == MPI_SUCCESS) return {};
  return fail(code > 0 ? code : MPI_ERR_OTHER, "the attribute %s function of keyval %d returned %d", function,
              keyval, code);
}

// By value: a user function may create keys, which moves the table.
Status call_delete(const AttributeHolder& holder, Attribute attribute) {
  const Keyval key = keyval_at(attribute.keyval);
  if (key.erase.comm == nullptr) return {};
  const int code = Inside::call_user([&] {
    if (callback_adapters.delete_attribute != nullptr) {
      return callback_adapters.delete_attribute(key.erase, key.kind, holder.handle, attribute.keyval,
                                                attribute.value, key.extra_state);
    }
    switch (key.kind) {
      case KeyvalKind::comm:
        return key.erase.comm(static_cast<MPI_Comm>(holder.handle), attribute.keyval, attribute.value,
                              key.extra_state);
      case KeyvalKind::type:
        return key.erase.type(static_cast<MPI_Datatype>(holder.handle), attribute.keyval, attribute.value,
                              key.extra_state);
      case KeyvalKind::win:
        return key.erase.win(static_cast<MPI_Win>(holder.handle), attribute.keyval, attribute.value,
                             key.extra_state);
    }
    return MPI_SUCCESS;
  });
  return outcome_of(code, "delete", attribute.keyval);
}

/// Returns the value of the attribute's copy, and in `wanted` whether there is to be a copy.
Status call_copy(const AttributeHolder& from, Attribute attribute, void*& value, int& wanted) {
  const Keyval key = keyval_at(attribute.keyval);
  wanted = 0;
  if (key.copy.comm == nullptr) return {};
  if (key.copy.comm == kDuplicate) {
    value = attribute.value;
    wanted = 1;
    return {};
  }
  const int code = Inside::call_user([&] {
    if (callback_adapters.copy_attribute != nullptr) {
      return callback_adapters.copy_attribute(key.copy, key.kind, from.handle, attribute.keyval,
                                              key.extra_state, attribute.value, &value, &wanted);
    }
    switch (key.kind) {
      case KeyvalKind::comm:
        return key.copy.comm(static_cast<MPI_Comm>(from.handle), attribute.keyval, key.extra_state,
                             attribute.value, &value, &wanted);
      case KeyvalKind::type:
        return key.copy.type(static_cast<MPI_Datatype>(from.handle), attribute.keyval, key.extra_state,
                             attribute.value, &value, &wanted);
      case KeyvalKind::win:
        return key.copy.win(static_cast<MPI_Win>(from.handle), attribute.keyval, key.extra_state,
                            attribute.value, &value, &wanted);
    }
    return MPI_SUCCESS;
  });
  return outcome_of(code, "copy", attribute.keyval);
}

/// Removes the attribute itself, after its delete function has succeeded.
void remove(const AttributeHolder& holder, int keyval) {
  // Found again, because the delete function may have changed the list.
  const auto place = find(*holder.attributes, keyval);
  if (place == holder.attributes->end()) return;
  holder.attributes->erase(place);
  drop_reference(keyval);
}

}  // namespace

AttributeHolder holder_of(Comm& comm) {
  return {KeyvalKind::comm, handle_of<MPI_Comm>(comm), &comm.attributes};
}

int create_keyval(KeyvalKind kind, CopyFunction copy, DeleteFunction erase, void* extra_state) {
  std::vector<Keyval>& all = keyvals();
  auto place = std::find_if(all.begin(), all.end(), [](const Keyval& key) { return key.references == 0; });
  if (place == all.end()) place = all.insert(all.end(), Keyval());
  *place = {kind, true, 1, copy, erase, extra_state};
  return kFirstUserKeyval + static_cast<int>(place - all.begin());
}

Status free_keyval(KeyvalKind kind, int& keyval) {
  HEARTH_TRY(check_keyval(kind, keyval));
  keyval_at(keyval).owned = false;
  drop_reference(keyval);
  keyval = MPI_KEYVAL_INVALID;
  return {};
}

Status set_attribute(const AttributeHolder& holder, int keyval, void* value) {
  HEARTH_TRY(check_keyval(holder.kind, keyval));
  auto place = find(*holder.attributes, keyval);
  if (place != holder.attributes->end()) {
    HEARTH_TRY(call_delete(holder, *place));
    place = find(*holder.attributes, keyval);
  }
  if (place != holder.attributes->end()) {
    place->value = value;
  } else {
    holder.attributes->push_back({keyval, value});
    ++keyval_at(keyval).references;
  }
  return {};
}

Status get_attribute(const AttributeHolder& holder, int keyval, void*& value, bool& found) {
  HEARTH_TRY(check_keyval(holder.kind, keyval, Use::old_attributes));
  const auto place = find(*holder.attributes, keyval);
  found = place != holder.attributes->end();
  if (found) value = place->value;
  return {};
}

Status delete_attribute(const AttributeHolder& holder, int keyval) {
  HEARTH_TRY(check_keyval(holder.kind, keyval, Use::old_attributes));
  const auto place = find(*holder.attributes, keyval);
  if (place == holder.attributes->end()) {
    return fail(MPI_ERR_KEYVAL, "the object has no attribute under keyval %d", keyval);
  }
  HEARTH_TRY(call_delete(holder, *place));
  remove(holder, keyval);
  return {};
}

Status delete_attributes(const AttributeHolder& holder) {
  while (!holder.attributes->empty()) {
    const Attribute last = holder.attributes->back();
    HEARTH_TRY(call_delete(holder, last));
    remove(holder, last.keyval);
  }
  return {};
}

AttributeHolder holder_of(Win& win) {
  return {KeyvalKind::win, handle_of<void*>(win), &win.attributes};
}

Status delete_attributes(Comm& comm) {
  return delete_attributes(holder_of(comm));
}

Status copy_attributes(const AttributeHolder& from, const AttributeHolder& to) {
  const Attributes originals = *from.attributes;
  for (const Attribute& attribute : originals) {
    void* value = nullptr;
    int wanted = 0;
    const Status status = call_copy(from, attribute, value, wanted);
    if (!status.ok()) {
      for (const Attribute& copied : *to.attributes) drop_reference(copied.keyval);
      to.attributes->clear();
      return status;
    }
    if (wanted == 0) continue;
    to.attributes->push_back({attribute.keyval, value});
    ++keyval_at(attribute.keyval).references;
  }
  return {};
}

}  // namespace hearth::objects
