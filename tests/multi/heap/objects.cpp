// operator new and delete, and the C++ library on top of them, with a shared heap.
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "../coll/check.h"
#include "window.h"

int main(int argc, char** argv) {
  std::vector<int> before(100000, 7);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(!in_window(before.data()), "memory from before MPI_Init is in the window");
  before.resize(300000, 8);
  CHECK(in_window(before.data()), "a vector that has grown is not in the window");
  CHECK(std::accumulate(before.begin(), before.end(), 0L) == 700000 + 1600000, "a vector has changed");

  struct alignas(128) Line {
    char bytes[128];
  };
  auto lines = std::make_unique<Line[]>(1000);
  CHECK(in_window(lines.get()) && reinterpret_cast<uintptr_t>(lines.get()) % 128 == 0, "aligned new");
  std::string text(200000, 'x');
  CHECK(in_window(text.data()), "a string");
  auto number = std::make_unique<int>(3);
  CHECK(!in_window(number.get()), "a single number is in the window");
  bool refused = false;
  try {
    volatile size_t huge = SIZE_MAX / 4;
    char* volatile never = new char[huge];
    delete[] never;
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused, "new of half the address space");

  std::vector<int> in(before.size());
  MPI_Sendrecv(before.data(), static_cast<int>(before.size()), MPI_INT, (rank_ + 1) % size_, 1, in.data(),
               static_cast<int>(in.size()), MPI_INT, (rank_ + size_ - 1) % size_, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in == before, "a message is wrong");
  MPI_Finalize();
  return 0;
}
