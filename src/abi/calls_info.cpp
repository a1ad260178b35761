// MPI 5.0 chapter 10: info objects. Keys are case sensitive and keep the order in which they were first set.
#include <algorithm>
#include <cstring>
#include <string>

#include "abi/handle.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using objects::Info;

Status check_key(const char* key) {
  const size_t length = std::strlen(key);
  if (length == 0) return fail(MPI_ERR_INFO_KEY, "the key is empty");
  if (length >= MPI_MAX_INFO_KEY) {
    return fail(MPI_ERR_INFO_KEY, "the key has %zu characters, MPI_MAX_INFO_KEY allows %d", length,
                MPI_MAX_INFO_KEY - 1);
  }
  return {};
}

Status check_writable(const Info& info) {
  if (info.predefined == 0) return {};
  return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed. Remedy: change a copy, made by MPI_Info_dup");
}

const std::string* find_value(const Info& info, const char* key) {
  for (const auto& [name, value] : info.entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

// A key that is too long cannot be present; it is an error of the caller.
Status look_up(const Info& info, const char* key, const std::string*& value) {
  HEARTH_TRY(check_key(key));
  value = find_value(info, key);
  return {};
}

// Copies at most `length` characters and a closing 0.
void copy_text(char* to, const std::string& from, size_t length) {
  const size_t copied = std::min(length, from.size());
  std::memcpy(to, from.data(), copied);
  to[copied] = 0;
}

void set(Info& info, const char* key, const std::string& value) {
  for (auto& [name, old] : info.entries) {
    if (name == key) {
      old = value;
      return;
    }
  }
  info.entries.emplace_back(key, value);
}

}  // namespace

Status info_create(Info*& info) {
  info = objects::pools.infos.create();
  if (info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another info object");
  return {};
}

Status info_create_env(int argc, char* argv[], Info*& info) {
  HEARTH_TRY(info_create(info));
  info->entries = abi::find<Info>(MPI_INFO_ENV)->entries;
  if (argc <= 0 || argv == nullptr) return {};
  set(*info, "command", argv[0]);
  std::string arguments;
  for (int i = 1; i < argc && argv[i] != nullptr; ++i) arguments += (i > 1 ? " " : "") + std::string(argv[i]);
  set(*info, "argv", arguments.substr(0, MPI_MAX_INFO_VAL - 1));
  return {};
}

Status info_dup(Info& info, Info*& newinfo) {
  HEARTH_TRY(info_create(newinfo));
  newinfo->entries = info.entries;
  return {};
}

Status info_free(Info*& info) {
  HEARTH_TRY(check_writable(*info));
  objects::free_handle(*info);
  info = nullptr;
  return {};
}

Status info_set(Info& info, const char* key, const char* value) {
  HEARTH_TRY(check_writable(info));
  HEARTH_TRY(check_key(key));
  const size_t length = std::strlen(value);
  if (length >= MPI_MAX_INFO_VAL) {
    return fail(MPI_ERR_INFO_VALUE, "the value of \"%s\" has %zu characters, MPI_MAX_INFO_VAL allows %d", key,
                length, MPI_MAX_INFO_VAL - 1);
  }
  set(info, key, value);
  return {};
}

Status info_delete(Info& info, const char* key) {
  HEARTH_TRY(check_writable(info));
  HEARTH_TRY(check_key(key));
  const auto found = std::find_if(info.entries.begin(), info.entries.end(),
                                  [key](const auto& entry) { return entry.first == key; });
  if (found == info.entries.end()) return fail(MPI_ERR_INFO_NOKEY, "the key \"%s\" is not set", key);
  info.entries.erase(found);
  return {};
}

Status info_get_nkeys(Info& info, int& nkeys) {
  nkeys = static_cast<int>(info.entries.size());
  return {};
}

Status info_get_nthkey(Info& info, int n, char* key) {
  const size_t count = info.entries.size();
  if (n < 0 || static_cast<size_t>(n) >= count) {
    return fail(MPI_ERR_ARG, "n is %d, but the info object has %zu keys, counted from 0", n, count);
  }
  copy_text(key, info.entries[static_cast<size_t>(n)].first, MPI_MAX_INFO_KEY - 1);
  return {};
}

Status info_get(Info& info, const char* key, int valuelen, char* value, int& flag) {
  if (valuelen < 0) return fail(MPI_ERR_ARG, "valuelen is %d: it must not be negative", valuelen);
  const std::string* found;
  HEARTH_TRY(look_up(info, key, found));
  flag = found != nullptr;
  if (flag) copy_text(value, *found, static_cast<size_t>(valuelen));
  return {};
}

Status info_get_valuelen(Info& info, const char* key, int& valuelen, int& flag) {
  const std::string* found;
  HEARTH_TRY(look_up(info, key, found));
  flag = found != nullptr;
  if (flag) valuelen = static_cast<int>(found->size());
  return {};
}

// buflen counts the closing 0; on return it is the size that the whole value needs.
Status info_get_string(Info& info, const char* key, int& buflen, char* value, int& flag) {
  if (buflen < 0) return fail(MPI_ERR_ARG, "buflen is %d: it must not be negative", buflen);
  if (buflen > 0 && value == nullptr)
    return fail(MPI_ERR_ARG, "value is a null pointer, but buflen is %d", buflen);
  const std::string* found;
  HEARTH_TRY(look_up(info, key, found));
  flag = found != nullptr;
  if (!flag) return {};
  if (buflen > 0) copy_text(value, *found, static_cast<size_t>(buflen - 1));
  buflen = static_cast<int>(found->size()) + 1;
  return {};
}

}  // namespace hearth::mpi
