// The result of every call inside the library: success, or an MPI error class whose words are kept aside.
//
// A Status is one int in a register, so success costs nothing. The first function that sees an error
// words it with fail(); callers pass the Status up unchanged, and src/abi adds the name of the MPI call
// and its arguments. The words live in thread-local storage until the thread's next failure.
#pragma once

namespace hearth {

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  /// `error_class` is one of MPI_ERR_* of mpi.h, or a user-defined error code.
  static constexpr Status error(int error_class) { return Status(error_class); }

  constexpr bool ok() const { return error_class_ == 0; }
  constexpr int error_class() const { return error_class_; }

 private:
  constexpr explicit Status(int error_class) : error_class_(error_class) {}
  int error_class_ = 0;
};

/// Words an error: what is wrong, where, the likely cause and the remedy. Returns a Status of that class.
[[gnu::cold, gnu::format(printf, 2, 3)]] Status fail(int error_class, const char* format, ...);

/// An error that a function of the user returned: the MPI call returns exactly this code, and its words are
/// those that the code has.
[[gnu::cold]] Status fail_with_code(int error_code);

/// The words of this thread's last failure; "" when there was none, or when it was a fail_with_code().
const char* last_failure_text();

}  // namespace hearth

/// Returns from the calling function when `expression` is an error.
#define HEARTH_TRY(expression)                                          \
  do {                                                                  \
    if (::hearth::Status try_status = (expression); !try_status.ok()) { \
      return try_status;                                                \
    }                                                                   \
  } while (false)
