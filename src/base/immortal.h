// A global that is constant-initialised and never destroyed: programs call MPI from constructors before main
// and from exit handlers after it.
#pragma once

namespace hearth {

template <class T>
union Immortal {
  T value;
  constexpr Immortal() : value() {}
  template <class... Arguments>
  constexpr explicit Immortal(Arguments... arguments) : value(arguments...) {}
  ~Immortal() {}  // NOLINT(modernize-use-equals-default): does not destroy the value
};

}  // namespace hearth
