#include "abi/hints.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "coll/select.h"
#include "tune/threshold.h"

namespace hearth::abi {
namespace {

using objects::Info;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> allowed) {
  return std::ranges::find(allowed, text) != allowed.end();
}

/// Whether each part of `text` between separators is valid; an empty text has one empty part.
template <class Valid>
bool all_parts(std::string_view text, char separator, Valid&& valid) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!valid(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

bool is_boolean(std::string_view text) {
  return is_one_of(text, {"true", "false"});
}

bool is_number(std::string_view text) {
  constexpr size_t kDigitsMax = 18;
  return !text.empty() && text.size() <= kDigitsMax &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_ordering(std::string_view text) {
  return text == "none" || all_parts(text, ',', [](std::string_view part) {
           return is_one_of(part, {"rar", "raw", "war", "waw"});
         });
}

bool is_operations(std::string_view text) {
  return is_one_of(text, {"same_op", "same_op_no_op"});
}

/// Kinds with restrictors, "mpi:alloc_mem,system": a subset of kMemoryKinds.
bool is_supported_kinds(std::string_view text) {
  return all_parts(text, ',', [](std::string_view kind) {
    if (kind == "system" || kind == "mpi") return true;
    if (!kind.starts_with("mpi:")) return false;
    return all_parts(kind.substr(4), ':', [](std::string_view restrictor) {
      return is_one_of(restrictor, {"alloc_mem", "win_allocate", "win_allocate_shared"});
    });
  });
}

/// Checked where the memory is allocated (abi/memory_wish.h).
bool is_any(std::string_view) {
  return true;
}

bool is_choice(std::string_view text) {
  return is_one_of(text, {"enable", "disable", "automatic"});
}

bool is_engine(std::string_view text) {
  return is_one_of(text, {"automatic", "calls", "map", "window"});
}

bool is_queue(std::string_view text) {
  return is_one_of(text, {"automatic", "ring", "thread"});
}

bool is_octal(std::string_view text) {
  constexpr size_t kDigitsMax = 5;
  return !text.empty() && text.size() <= kDigitsMax &&
         text.find_first_not_of("01234567") == std::string_view::npos;
}

struct Hint {
  const char* key;
  unsigned scopes;
  const char* standard;                // the default; nullptr: listed only if it was given
  bool (*is_valid)(std::string_view);  // nullptr: set by the library only
};

constexpr Hint kHints[] = {
    {kMemoryKindsKey, kCommHints | kWindowHints, kMemoryKinds, nullptr},
    {"mpi_assert_memory_alloc_kinds", kCommHints | kWindowHints, nullptr, is_supported_kinds},
    {"mpi_assert_no_any_tag", kCommHints, "false", is_boolean},
    {"mpi_assert_no_any_source", kCommHints, "false", is_boolean},
    {"mpi_assert_exact_length", kCommHints, "false", is_boolean},
    {"mpi_assert_allow_overtaking", kCommHints, "false", is_boolean},
    {"mpi_assert_strict_persistent_collective_ordering", kCommHints, "false", is_boolean},
    {"no_locks", kWindowHints, "false", is_boolean},
    {"accumulate_ordering", kWindowHints, "rar,raw,war,waw", is_ordering},
    {"accumulate_ops", kWindowHints, "same_op_no_op", is_operations},
    {"mpi_accumulate_granularity", kWindowHints, "0", is_number},
    {"same_size", kWindowHints, "false", is_boolean},
    {"same_disp_unit", kWindowHints, "false", is_boolean},
    {"alloc_shared_noncontig", kSharedAllocationHints, "false", is_boolean},
    {"mpi_minimum_memory_alignment", kAllocationHints, nullptr, is_any},
    {"access_style", kFileHints, nullptr, is_any},
    {"cb_buffer_size", kFileHints, nullptr, is_number},
    {"cb_nodes", kFileHints, nullptr, is_number},
    {"collective_buffering", kFileHints, nullptr, is_boolean},
    {"file_perm", kFileHints, nullptr, is_octal},
    {"hearth_engine", kFileHints, "automatic", is_engine},
    {"hearth_queue", kFileHints, "automatic", is_queue},
    {"romio_cb_read", kFileHints, nullptr, is_choice},
    {"romio_cb_write", kFileHints, nullptr, is_choice},
    {"romio_ds_read", kFileHints, nullptr, is_choice},
    {"romio_ds_write", kFileHints, nullptr, is_choice},
    {"romio_no_indep_rw", kFileHints, nullptr, is_boolean},
    // HDF5 refuses independent writes without it. Writes are visible to all processes of the machine at once.
    {"romio_visibility_immediate", kFileHints, "true", nullptr},
    {"striping_factor", kFileHints, nullptr, is_number},
    {"striping_unit", kFileHints, nullptr, is_number},
    {"hearth_memory_kind", kAllocationHints, nullptr, is_any},
    {"hearth_memory_bind", kAllocationHints, nullptr, is_any},
};

const Hint* find_hint(const std::string& key, unsigned scopes) {
  const auto found = std::ranges::find_if(
      kHints, [&](const Hint& hint) { return key == hint.key && (hint.scopes & scopes) != 0; });
  return found == std::end(kHints) ? nullptr : found;
}

bool is_in_force(const std::string& key, const std::string& value, unsigned scopes) {
  const Hint* hint = find_hint(key, scopes);
  if (hint != nullptr) return hint->is_valid != nullptr && hint->is_valid(value);
  // Their values have been checked (check_hints() in abi/comm_making.h).
  return (scopes & kCommHints) != 0 && (key == coll::kAlgorithmsHint || tune::Hints::knows(key));
}

}  // namespace

void keep_hints(const Info& given, unsigned scopes, Info& kept) {
  Info supported;
  for (const auto& entry : given.entries) {
    if (is_in_force(entry.first, entry.second, scopes)) supported.entries.push_back(entry);
  }
  objects::merge(kept, supported);
}

void list_hints(const Info* kept, unsigned scopes, Info& all) {
  for (const Hint& hint : kHints) {
    if ((hint.scopes & scopes) != 0 && hint.standard != nullptr)
      all.entries.emplace_back(hint.key, hint.standard);
  }
  if (kept != nullptr) objects::merge(all, *kept);
}

}  // namespace hearth::abi
