#include "base/os_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/os_io.h"

namespace hearth::os {
namespace {

uint64_t limit_of(int resource) {
  rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return UINT64_MAX;
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

}  // namespace

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t machine_memory_bytes() {
  static const uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes();
  return bytes;
}

uint64_t available_memory_bytes() {
  const std::string text = read_text("/proc/meminfo");
  const size_t place = text.find("MemAvailable:");
  if (place == std::string::npos) return UINT64_MAX;
  return std::strtoull(text.c_str() + place + sizeof "MemAvailable:" - 1, nullptr, 10) << 10;
}

uint64_t address_space_limit_bytes() {
  return limit_of(RLIMIT_AS);
}
uint64_t file_limit_bytes() {
  return limit_of(RLIMIT_FSIZE);
}

void* reserve(size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

bool commit(void* address, size_t bytes) {
  if (::mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0) return false;
#if defined(__SANITIZE_ADDRESS__)
  // Objects in pools own memory of the heap; the leak check looks for owners in mapped memory only when told.
  __lsan_register_root_region(address, bytes);
#endif
  return true;
}

void release(void* address, size_t bytes) {
  ::munmap(address, bytes);
}

int create_shared_memory(const char* label, size_t bytes) {
  const int descriptor = ::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
}

void* map_shared(int descriptor, size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void* map_sparse(int descriptor, uint64_t offset, size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor,
                         static_cast<off_t>(offset));
  if (address == MAP_FAILED) return nullptr;
  // A core file of the whole would touch, and so make, every page of it.
  if (::madvise(address, bytes, MADV_DONTDUMP) == 0) return address;
  const int error = errno;
  ::munmap(address, bytes);
  errno = error;
  return nullptr;
}

void put_in_core_files(void* address, size_t bytes) {
  ::madvise(address, bytes, MADV_DODUMP);
}

void prefer_huge_pages(void* address, size_t bytes) {
  ::madvise(address, bytes, MADV_HUGEPAGE);
}

bool drop_shared_pages(void* address, size_t bytes) {
  return ::madvise(address, bytes, MADV_REMOVE) == 0;
}

bool drop_private_pages(void* address, size_t bytes) {
  return ::madvise(address, bytes, MADV_DONTNEED) == 0;
}

bool next_data(int descriptor, uint64_t from, uint64_t& first, uint64_t& last) {
  // The file's position is of no use to anybody: all sharers of the descriptor may move it.
  const off_t data = ::lseek(descriptor, static_cast<off_t>(from), SEEK_DATA);
  if (data < 0) return false;
  const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
  if (hole <= data) return false;
  first = static_cast<uint64_t>(data);
  last = static_cast<uint64_t>(hole);
  return true;
}

void* map_private(size_t bytes) {
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

bool move_over(void* from, void* to, size_t bytes) {
  return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

bool make_unreachable(void* address, size_t bytes) {
  return ::mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
         address;
}

bool reserve_room(int descriptor, size_t offset, size_t bytes) {
  int result;
  do {
    result = ::fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

size_t file_bytes(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return 0;
  return static_cast<size_t>(status.st_size);
}

intptr_t read_process(int pid, void* to, const void* from, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {const_cast<void*>(from), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

intptr_t write_process(int pid, void* to, const void* from, size_t bytes) {
  const iovec local = {const_cast<void*>(from), bytes};
  const iovec remote = {to, bytes};
  return ::process_vm_writev(pid, &local, 1, &remote, 1, 0);
}

}  // namespace hearth::os
