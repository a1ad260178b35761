#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include "abi/error.h"
#include "mpi-ext.h"

namespace hearth::abi {
namespace {

// Codes of the library: kFirstCode + row * kTexts + index. A row is a class: first those of the standard,
// then those of mpi-ext.h. With 217 messages the last code is 16369, below MPI_ERR_LASTCODE (16383).
constexpr int kFirstCode = 2048;
constexpr int kTexts = 217;
constexpr int kStandardRows = 63;
constexpr int kFirstExtension = MPIX_ERR_PROC_FAILED;
constexpr int kRows = kStandardRows + MPIX_ERR_REVOKED + 1 - kFirstExtension;
static_assert(MPI_ERR_ABI == kStandardRows - 1);
static_assert(kInHandlerCode < kFirstCode);
static_assert(kFirstCode + kRows * kTexts <= MPI_ERR_LASTCODE);

/// -1 for a class without codes.
constexpr int row_of(int error_class) {
  if (error_class > 0 && error_class < kStandardRows) return error_class;
  const int row = kStandardRows + error_class - kFirstExtension;
  return row >= kStandardRows && row < kRows ? row : -1;
}
constexpr int class_of_row(int row) {
  return row < kStandardRows ? row : row - kStandardRows + kFirstExtension;
}

constexpr const char* kInHandlerText =
    "called by a signal handler while another MPI call, which the signal has interrupted, is half done; or "
    "by a "
    "second thread, without MPI_THREAD_MULTIPLE. Remedy: have the handler set a variable, and call MPI where "
    "the "
    "program looks at that; for threads, call MPI_Init_thread";

struct StoredText {
  int error_class = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
};

struct UserCode {
  int error_class = 0;  // itself, for a class
  std::string text;
  bool has_text = false;
};

// Errors may come from several threads, some of them outside the library's lock.
std::mutex mutex;

// Messages of errors, and definitions of the user. Allocated at the first error; the caller holds the mutex.
// If the allocation fails, errors have the text of their class.
struct Codes {
  StoredText texts[kTexts];
  int next_text = 0;
  std::map<int, UserCode> user;
};

Codes* codes_if_any() {
  static Codes* the_codes = nullptr;
  if (the_codes == nullptr) the_codes = new (std::nothrow) Codes;
  return the_codes;
}

// The same, but throws. Pre: the caller holds the mutex.
Codes& codes() {
  Codes* all = codes_if_any();
  if (all == nullptr) throw std::bad_alloc();
  return *all;
}

int last_code = MPI_ERR_LASTCODE;

struct ClassText {
  int error_class;
  const char* name;
  const char* text;
};

constexpr ClassText kClassTexts[] = {
#define HEARTH_CLASS(name, text) {name, #name, text},
#include "abi/error_class.def"
#undef HEARTH_CLASS
};

const ClassText* find_class(int error_class) {
  for (const ClassText& row : kClassTexts) {
    if (row.error_class == error_class) return &row;
  }
  return nullptr;
}

int write_class(char* to, const ClassText& row) {
  const int length = std::snprintf(to, MPI_MAX_ERROR_STRING, "%s: %s", row.name, row.text);
  return std::min(length, MPI_MAX_ERROR_STRING - 1);
}

bool is_library_code(int code) {
  return code >= kFirstCode && code < kFirstCode + kRows * kTexts;
}

int write_text(char* to, const char* text) {
  const int length = std::snprintf(to, MPI_MAX_ERROR_STRING, "%s", text);
  return std::min(length, MPI_MAX_ERROR_STRING - 1);
}

Status no_such(const char* what, int code) {
  return fail(MPI_ERR_ARG, "%d is not %s that this program added, or it was removed already", code, what);
}

}  // namespace

int make_error_code(int error_class, const char* text) {
  const int row = row_of(error_class);
  if (row < 0) return error_class;
  const std::lock_guard guard(mutex);
  Codes* all = codes_if_any();
  if (all == nullptr) return error_class;
  const int place = all->next_text;
  all->next_text = (place + 1) % kTexts;
  all->texts[place].error_class = error_class;
  std::snprintf(all->texts[place].text, MPI_MAX_ERROR_STRING, "%s", text);
  return kFirstCode + row * kTexts + place;
}

int error_code_for(Status status) {
  if (status.ok()) return MPI_SUCCESS;
  const char* text = last_failure_text();
  return *text == 0 ? status.error_class() : make_error_code(status.error_class(), text);
}

int class_of_code(int code) {
  if (code == kInHandlerCode) return MPI_ERR_OTHER;
  if (find_class(code) != nullptr) return code;
  if (is_library_code(code)) return class_of_row((code - kFirstCode) / kTexts);
  const std::lock_guard guard(mutex);
  const Codes* all = codes_if_any();
  if (all == nullptr) return MPI_ERR_UNKNOWN;
  const auto found = all->user.find(code);
  return found != all->user.end() ? found->second.error_class : MPI_ERR_UNKNOWN;
}

const char* class_name(int error_class) {
  const ClassText* row = find_class(error_class);
  return row == nullptr ? nullptr : row->name;
}

int text_of_code(int code, char* text) {
  // Used by signal handlers, so without the mutex.
  if (code == kInHandlerCode) return write_text(text, kInHandlerText);
  if (const ClassText* row = find_class(code)) return write_class(text, *row);
  {
    const std::lock_guard guard(mutex);
    Codes* all = codes_if_any();
    if (is_library_code(code)) {
      const int place = (code - kFirstCode) % kTexts;
      const int error_class = class_of_row((code - kFirstCode) / kTexts);
      const bool kept = all != nullptr && all->texts[place].error_class == error_class;
      if (kept) return write_text(text, all->texts[place].text);
      if (const ClassText* row = find_class(error_class)) return write_class(text, *row);
    }
    if (all != nullptr) {
      const auto found = all->user.find(code);
      if (found != all->user.end()) return write_text(text, found->second.text.c_str());
    }
  }
  char line[MPI_MAX_ERROR_STRING];
  std::snprintf(line, sizeof line, "%d is not an error code", code);
  return write_text(text, line);
}

int add_user_class() {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  all.user[last_code + 1].error_class = last_code + 1;
  return ++last_code;
}

Status add_user_code(int error_class, int& code) {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  const auto found = all.user.find(error_class);
  const bool user_class = found != all.user.end() && found->second.error_class == error_class;
  if (!user_class && (find_class(error_class) == nullptr || error_class == MPI_SUCCESS)) {
    return fail(MPI_ERR_ARG, "%d is not an error class", error_class);
  }
  all.user[last_code + 1].error_class = error_class;
  code = ++last_code;
  return {};
}

Status add_user_string(int code, const char* text) {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  const auto found = all.user.find(code);
  if (found == all.user.end()) return no_such("an error code or class", code);
  found->second.text = text;
  found->second.has_text = true;
  return {};
}

// Dependent definitions must be removed first: strings, then codes, then the class (MPI 5.0 section 9.5).
Status remove_user_class(int error_class) {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  const auto found = all.user.find(error_class);
  if (found == all.user.end() || found->second.error_class != error_class) {
    return no_such("an error class", error_class);
  }
  for (const auto& [code, user] : all.user) {
    if (code != error_class && user.error_class == error_class) {
      return fail(MPI_ERR_OTHER, "error class %d still has the error code %d: remove that first", error_class,
                  code);
    }
  }
  if (found->second.has_text) {
    return fail(MPI_ERR_OTHER, "error class %d still has a string: remove that first", error_class);
  }
  all.user.erase(found);
  return {};
}

Status remove_user_code(int code) {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  const auto found = all.user.find(code);
  if (found == all.user.end() || found->second.error_class == code) return no_such("an error code", code);
  if (found->second.has_text) {
    return fail(MPI_ERR_OTHER, "error code %d still has a string: remove that first", code);
  }
  all.user.erase(found);
  return {};
}

Status remove_user_string(int code) {
  const std::lock_guard guard(mutex);
  Codes& all = codes();
  const auto found = all.user.find(code);
  if (found == all.user.end() || !found->second.has_text) return no_such("the code of an error string", code);
  found->second.text.clear();
  found->second.has_text = false;
  return {};
}

const int& last_used_code() {
  return last_code;
}

}  // namespace hearth::abi
