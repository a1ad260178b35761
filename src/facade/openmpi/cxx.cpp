// libmpi_cxx.so.40: what programs in C++ need of the bindings that MPI 3.0 removed.
//
// mpi.h of Open MPI up to 4 includes these bindings, so each program in C++ refers to the functions below,
// which only bindings in use call. Programs that use them refer to further names, which are missing here: the
// dynamic linker names the first one. All other functions of the bindings are inline in the program.
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* what) {
  std::fprintf(
      stderr,
      "hearth: the program calls %s, of MPI's bindings for C++, which MPI 3.0 removed and Hearth does not "
      "have. Likely cause: the program uses MPI::COMM_WORLD and its like. Remedy: the functions of C "
      "(MPI_COMM_WORLD), or Open MPI 4\n",
      what);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

namespace MPI {

// The layouts of these classes are those of the bindings; nothing here depends on them.
struct [[gnu::visibility("default")]] Comm {
  Comm();
};
struct [[gnu::visibility("default")]] Datatype {
  void Free();
};
struct [[gnu::visibility("default")]] Win {
  void Free();
};

Comm::Comm() {
  refuse("MPI::Comm::Comm");
}
void Datatype::Free() {
  refuse("MPI::Datatype::Free");
}
void Win::Free() {
  refuse("MPI::Win::Free");
}

}  // namespace MPI

extern "C" {

[[gnu::visibility("default")]] void ompi_mpi_cxx_op_intercept(void*, void*, int*, void*, void*) {
  refuse("MPI::Op::Init");
}
[[gnu::visibility("default")]] void ompi_op_set_cxx_callback(void*, void*) {
  refuse("MPI::Op::Init");
}
}
