// The result of every call inside the library: success, or an MPI error class whose message is stored
// separately.
//
// A Status is one int in a register, so success costs nothing. The function that detects an error writes the
// message with fail(); callers return the Status unchanged, and src/abi adds the name of the MPI call and its
// arguments. The message is thread-local and valid until the thread's next failure.
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

/// Returns a Status of that class and stores a message: what is wrong, where, the likely cause and the
/// remedy.
[[gnu::cold, gnu::format(printf, 2, 3)]] Status fail(int error_class, const char* format, ...);

/// For an error code that a user function returned: the MPI call returns exactly this code, whose message is
/// the one registered for the code.
[[gnu::cold]] Status fail_with_code(int error_code);

/// The message of this thread's last failure; "" if there was none, or if it was a fail_with_code().
const char* last_failure_text();

}  // namespace hearth

/// Returns from the calling function if `expression` is an error.
#define HEARTH_TRY(expression)                                          \
  do {                                                                  \
    if (::hearth::Status try_status = (expression); !try_status.ok()) { \
      return try_status;                                                \
    }                                                                   \
  } while (false)
