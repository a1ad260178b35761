#include "abi/memory_wish.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mpi.h"
#include "topo/memory_kind.h"

namespace hearth::abi {
namespace {

constexpr unsigned long long kNodeMax = INT16_MAX;

bool read_number(const std::string& text, unsigned long long& number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  number = std::strtoull(text.c_str(), &end, 10);
  return *end == '\0' && errno == 0;
}

Status read_alignment(const std::string& value, MemoryWish& wish) {
  unsigned long long number = 0;
  if (!read_number(value, number) || !std::has_single_bit(number) || number > PTRDIFF_MAX) {
    return fail(MPI_ERR_INFO_VALUE, "mpi_minimum_memory_alignment is \"%s\": it must be a power of two",
                value.c_str());
  }
  wish.alignment = std::max<size_t>(wish.alignment, number);
  return {};
}

Status read_kind(const std::string& value, const shm::RankMemory& memory, MemoryWish& wish) {
  topo::MemoryKind kind = topo::MemoryKind::local;
  if (!topo::memory_kind_of_name(value, kind)) {
    return fail(MPI_ERR_INFO_VALUE, "hearth_memory_kind is \"%s\": it must be local, lowlat, highbw or large",
                value.c_str());
  }
  wish.node = topo::node_of_kind(memory, kind);
  wish.by_number = false;
  return {};
}

Status read_bind(const std::string& value, const shm::RankMemory& memory, MemoryWish& wish) {
  if (value == "local") return read_kind(value, memory, wish);
  unsigned long long number = 0;
  if (!read_number(value, number) || number > kNodeMax) {
    return fail(MPI_ERR_INFO_VALUE,
                "hearth_memory_bind is \"%s\": it must be local or the number of a memory node (hearth info "
                "lists them)",
                value.c_str());
  }
  wish.node = static_cast<int>(number);
  wish.by_number = true;
  return {};
}

}  // namespace

Status read_memory_wish(const objects::Info* info, const shm::RankMemory& memory, MemoryWish& wish) {
  if (info == nullptr) return {};
  if (const std::string* value = value_of(info, "mpi_minimum_memory_alignment"))
    HEARTH_TRY(read_alignment(*value, wish));
  if (const std::string* value = value_of(info, "hearth_memory_kind"))
    HEARTH_TRY(read_kind(*value, memory, wish));
  // The more specific key has precedence.
  if (const std::string* value = value_of(info, "hearth_memory_bind"))
    HEARTH_TRY(read_bind(*value, memory, wish));
  return {};
}

}  // namespace hearth::abi
