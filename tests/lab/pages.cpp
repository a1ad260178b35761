// Prints the location of memory: each rank exchanges messages with every other one, then prints one line of
// JSON with the memory nodes of the pages of its rings, its block, its bounce buffers and of memory from
// MPI_Alloc_mem, and its relation to each rank. check.py has the expected values.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/os_memory.h"
#include "shm/segment.h"
#include "topo/relation.h"

namespace {

using namespace hearth;

constexpr size_t kSmall = 300'000;

std::string nodes_of(const void* memory, size_t bytes) {
  std::set<int> nodes;
  const auto* from = static_cast<const volatile std::byte*>(memory);
  for (size_t offset = 0; offset < bytes; offset += os::page_bytes()) {
    static_cast<void>(from[offset]);  // into our page table
    nodes.insert(os::node_of_page(const_cast<const std::byte*>(from + offset)));
  }
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node);
  return "[" + text + "]";
}

// Short messages go through rings, longer ones through bounce buffers.
void talk(int self, int ranks) {
  std::vector<char> out(64 << 10, 'x');
  std::vector<char> in(out.size());
  for (const int bytes : {8, 64 << 10}) {
    for (int step = 1; step < ranks; ++step) {
      MPI_Sendrecv(out.data(), bytes, MPI_CHAR, (self + step) % ranks, 0, in.data(), bytes, MPI_CHAR,
                   (self - step + ranks) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

std::string nodes_of_allocated(size_t bytes, const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  if (key != nullptr) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  void* memory = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), info, &memory);
  std::memset(memory, 1, bytes);
  const std::string nodes = nodes_of(memory, bytes);
  MPI_Free_mem(memory);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return nodes;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  MPI_Init(nullptr, nullptr);
  int self = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  talk(self, ranks);

  const char* words = std::getenv("HEARTH_SEGMENT");
  os::Descriptor descriptor = os::duplicate_out_of_the_way(std::atoi(words != nullptr ? words : "-1"));
  shm::Segment segment;
  if (!shm::Segment::attach(descriptor.release(), segment).ok()) {
    std::fprintf(stderr, "%s\n", last_failure_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::string rings;
  std::string relations;
  for (int other = 0; other < ranks; ++other) {
    if (other > 0) relations += ", ";
    const auto relation = other == self
                              ? topo::Relation::self
                              : topo::relation_of(segment.rank(self).place, segment.rank(other).place);
    relations += std::string("\"") + topo::relation_name(relation) + "\"";
    const uint32_t number = segment.ring_number(self, other);
    if (number == 0) continue;
    if (!rings.empty()) rings += ", ";
    rings += nodes_of(segment.ring_memory(number - 1), segment.geometry().ring_bytes);
  }
  const size_t pool_bytes = size_t{segment.geometry().buffer_count} * segment.geometry().buffer_bytes;
  const std::string line = "{\"rank\": " + std::to_string(self) + ", \"relations\": [" + relations +
                           "], \"rings\": [" + rings +
                           "], \"block\": " + nodes_of(&segment.rank(self), segment.geometry().block_bytes) +
                           ", \"buffers\": " + nodes_of(segment.buffer_memory(self, 0), pool_bytes) +
                           ", \"allocated\": " + nodes_of_allocated(bytes, nullptr, nullptr) +
                           ", \"lowlat\": " + nodes_of_allocated(kSmall, "hearth_memory_kind", "lowlat") +
                           ", \"highbw\": " + nodes_of_allocated(kSmall, "hearth_memory_kind", "highbw") +
                           ", \"bound_to_0\": " + nodes_of_allocated(kSmall, "hearth_memory_bind", "0") +
                           ", \"bound_to_1\": " + nodes_of_allocated(kSmall, "hearth_memory_bind", "1") +
                           ", \"after\": " + nodes_of_allocated(kSmall, nullptr, nullptr) + "}";
  std::puts(line.c_str());
  MPI_Finalize();
  return 0;
}
