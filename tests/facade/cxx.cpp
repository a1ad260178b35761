// Calls one of the functions in libmpi_cxx.so.40, which refuses to run. The class is what the test needs of
// Open MPI's declaration.
namespace MPI {
struct Win {
  void Free();
};
}  // namespace MPI

int main() {
  MPI::Win().Free();
}
