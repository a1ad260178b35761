#include "base/os_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <cerrno>

namespace hearth::os {

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
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
