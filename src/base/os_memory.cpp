#include "base/os_memory.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_io.h"

namespace hearth::os {
namespace {

using chaos::Call;
using chaos::refuses;

constexpr size_t kHugePageBytes = size_t{2} << 20;

uint64_t limit_of(int resource) {
  rlimit limit;
  if (refuses(Call::limits)) return UINT64_MAX;
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return UINT64_MAX;
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

size_t& page_size() {
  static auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

size_t page_bytes() {
  return page_size();
}

void simulate_page_bytes(size_t bytes) {
  page_size() = bytes == 0 ? static_cast<size_t>(::sysconf(_SC_PAGESIZE)) : bytes;
}

uint64_t own_memory_bytes_max() {
  rusage usage;
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
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

bool memory_is_strict() {
  static const bool strict = read_text("/proc/sys/vm/overcommit_memory").starts_with('2');
  return strict;
}

void* reserve(size_t bytes) {
  if (refuses(Call::map)) return nullptr;
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

bool commit(void* address, size_t bytes) {
  if (refuses(Call::protect) || ::mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0) return false;
#if defined(__SANITIZE_ADDRESS__)
  // Objects in pools own memory of the heap; the leak checker searches mapped memory only if it is
  // registered.
  __lsan_register_root_region(address, bytes);
#endif
  return true;
}

void release(void* address, size_t bytes) {
  ::munmap(address, bytes);
}

namespace {

// Returns -1; keeps the errno from before closing the descriptor.
int give_up(int descriptor) {
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

// Beyond the limit the system would end this process by SIGXFSZ.
bool is_too_long(size_t bytes) {
  if (bytes <= file_limit_bytes()) return false;
  errno = EFBIG;
  return true;
}

// Whether a sandbox refuses the call or the kernel does not know it, as opposed to a failure.
bool is_refused(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS || error == EINVAL;
}

// Creates the file in a folder of its own and removes both names before it returns. mkdtemp gives the folder
// mode 0700 and a name that cannot be guessed.
int open_unnamed_by_hand(const char* folder) {
  std::string own = std::string(folder) + "/hearth-XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) return -1;
  const std::string path = own + "/memory";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const int error = errno;
  if (descriptor >= 0) ::unlink(path.c_str());
  ::rmdir(own.c_str());
  errno = error;
  return descriptor;
}

int open_unnamed(const char* folder) {
  // The file never has a name; O_EXCL prevents it from getting one later.
  const int descriptor = ::open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  const bool unknown = descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
  return unknown ? open_unnamed_by_hand(folder) : descriptor;
}

bool has_room(const char* folder, size_t bytes) {
  struct statvfs system;
  return ::statvfs(folder, &system) == 0 && uint64_t{system.f_bavail} * system.f_frsize >= bytes;
}

}  // namespace

int create_sparse_memory(const char* label, size_t bytes) {
  if (is_too_long(bytes)) return -1;
  const int descriptor = refuses(Call::memfd) ? -1 : ::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  if (refuses(Call::resize) || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ||
      refuses(Call::seal) || ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return give_up(descriptor);
  }
  return descriptor;
}

int create_file_in(std::span<const char* const> folders, size_t bytes) {
  if (is_too_long(bytes)) return -1;
  errno = ENOENT;
  for (const bool choosy : {true, false}) {
    for (const char* folder : folders) {
      if (folder == nullptr || *folder == 0 || has_room(folder, bytes) != choosy) continue;
      const int descriptor = open_unnamed(folder);
      if (descriptor < 0) continue;
      if (::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0) return descriptor;
      give_up(descriptor);
    }
  }
  return -1;
}

int create_shared_memory(const char* label, size_t bytes) {
  const int descriptor = create_sparse_memory(label, bytes);
  if (descriptor >= 0 || !is_refused(errno)) return descriptor;
  const int error = errno;
  const char* const folders[] = {"/dev/shm", std::getenv("TMPDIR"), "/tmp", "/var/tmp"};
  const int file = create_file_in(folders, bytes);
  if (file < 0) errno = error;
  return file;
}

void* map_shared(int descriptor, size_t bytes) {
  if (refuses(Call::map)) return nullptr;
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? nullptr : address;
}

namespace {

// Huge pages need an address that equals the offset modulo their size. The system chooses such an address
// only if its settings permit huge pages for the file.
void* map_aligned(int descriptor, uint64_t offset, size_t bytes, int protection) {
  const size_t slack = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  void* reserved =
      ::mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(reserved);
  const size_t before = slack == 0 ? 0 : (offset - reinterpret_cast<uintptr_t>(begin)) % slack;
  void* address = ::mmap(begin + before, bytes, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                         descriptor, static_cast<off_t>(offset));
  const int error = errno;
  if (before > 0) ::munmap(begin, before);
  if (slack > before) ::munmap(begin + before + bytes, slack - before);
  if (address != MAP_FAILED) return address;
  ::munmap(begin + before, bytes);
  errno = error;
  return nullptr;
}

bool advise(void* address, size_t bytes, int advice) {
  return !refuses(Call::advise) && ::madvise(address, bytes, advice) == 0;
}

// Unmaps unless all went well, and keeps errno.
void* kept_if(bool good, void* address, size_t bytes) {
  if (good) return address;
  const int error = errno;
  ::munmap(address, bytes);
  errno = error;
  return nullptr;
}

}  // namespace

void* map_sparse(int descriptor, uint64_t offset, size_t bytes) {
  if (refuses(Call::map)) return nullptr;
  void* address = map_aligned(descriptor, offset, bytes, PROT_READ | PROT_WRITE);
  if (address == nullptr) return nullptr;
  // Writing the whole range to a core file would touch, and so allocate, every page of it.
  return kept_if(advise(address, bytes, MADV_DONTDUMP), address, bytes);
}

void* reserve_shared(int descriptor, uint64_t offset, size_t bytes) {
  if (refuses(Call::map)) return nullptr;
  void* address = map_aligned(descriptor, offset, bytes, PROT_NONE);
  if (address == nullptr) return nullptr;
  const bool advised = advise(address, bytes, MADV_DONTDUMP) && advise(address, bytes, MADV_DONTFORK);
  return kept_if(advised, address, bytes);
}

bool make_accessible(void* address, size_t bytes) {
  return !refuses(Call::protect) && ::mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool make_inaccessible(void* address, size_t bytes) {
  return !refuses(Call::protect) && ::mprotect(address, bytes, PROT_NONE) == 0;
}

bool map_private_over(void* address, int descriptor, uint64_t offset, size_t bytes) {
  return !refuses(Call::map) &&
         ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, descriptor,
                static_cast<off_t>(offset)) == address;
}

bool detach_pages(std::byte* address, size_t bytes) {
  if (populate_pages(address, bytes)) return true;
  if (errno != EINVAL) return false;
  // Before Linux 5.14: a store to each page that changes nothing.
  for (size_t at = 0; at < bytes; at += page_bytes()) {
    const std::byte value = atomic::load_relaxed(address[at]);
    atomic::compare_exchange(address[at], value, value);
  }
  return true;
}

bool map_zeros_over(void* address, size_t bytes) {
  return !refuses(Call::map) &&
         ::mmap(address, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == address;
}

bool reserve_at(void* address, size_t bytes) {
  if (refuses(Call::map)) return false;
  void* reserved = ::mmap(address, bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (reserved == address) return true;
  if (reserved != MAP_FAILED) ::munmap(reserved, bytes);
  return false;
}

bool make_unreachable(void* address, size_t bytes) {
  return !refuses(Call::map) &&
         ::mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
             address;
}

bool punch_hole(int descriptor, uint64_t offset, size_t bytes) {
  return !refuses(Call::room) && ::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                             static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

bool map_sparse_over(void* address, int descriptor, uint64_t offset, size_t bytes) {
  if (refuses(Call::map)) return false;
  return ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor,
                static_cast<off_t>(offset)) != MAP_FAILED;
}

void put_in_core_files(void* address, size_t bytes) {
  if (!refuses(Call::advise)) ::madvise(address, bytes, MADV_DODUMP);
}

bool populate_pages(void* address, size_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14
  return advise(address, bytes, kPopulateWrite);
}

bool populate_huge_page(std::byte* address) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1
  if (refuses(Call::advise)) return false;
  // The kernel refuses a range without any page.
  *const_cast<volatile std::byte*>(address) = std::byte{0};
  return ::madvise(address, kHugePageBytes, kCollapse) == 0;
}

bool is_page_present(const void* address) {
  const auto page = reinterpret_cast<uintptr_t>(address) / page_bytes() * page_bytes();
  unsigned char present = 0;
  return !refuses(Call::status) && ::mincore(reinterpret_cast<void*>(page), 1, &present) == 0 &&
         (present & 1) != 0;
}

void prefer_huge_pages(void* address, size_t bytes) {
  if (!refuses(Call::advise)) ::madvise(address, bytes, MADV_HUGEPAGE);
}

bool only_private_memory_gets_huge_pages() {
  // Each file lists all choices, the selected one in brackets.
  const auto chosen = [](const char* file, const char* choice) {
    return read_text(file).find(choice) != std::string::npos;
  };
  const bool unasked = chosen("/sys/kernel/mm/transparent_hugepage/enabled", "[always]");
  const char* const shared = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  return unasked && (chosen(shared, "[never]") || chosen(shared, "[deny]"));
}

bool drop_shared_pages(void* address, size_t bytes) {
  return advise(address, bytes, MADV_REMOVE);
}

bool drop_private_pages(void* address, size_t bytes) {
  return advise(address, bytes, MADV_DONTNEED);
}

bool next_data(int descriptor, uint64_t from, uint64_t& first, uint64_t& last) {
  // Moving the file position is harmless: all processes that share the descriptor may move it, so none relies
  // on it.
  const off_t data = ::lseek(descriptor, static_cast<off_t>(from), SEEK_DATA);
  if (data < 0) return false;
  const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
  if (hole <= data) return false;
  first = static_cast<uint64_t>(data);
  last = static_cast<uint64_t>(hole);
  return true;
}

void* map_private(size_t bytes) {
  if (refuses(Call::map)) return nullptr;
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

namespace {

// For sandboxes and file systems without fallocate(): the kernel touches every page and reports a full file
// system by an error, where a store by this process would raise SIGBUS.
bool touch_room(int descriptor, size_t offset, size_t bytes) {
  const size_t first = offset / page_bytes() * page_bytes();
  const size_t length = (offset + bytes - first + page_bytes() - 1) / page_bytes() * page_bytes();
  void* address =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(first));
  if (address == MAP_FAILED) return false;
  const bool touched = populate_pages(address, length);
  const int error = errno == EFAULT ? ENOSPC : errno;
  ::munmap(address, length);
  errno = error;
  return touched;
}

}  // namespace

bool reserve_room(int descriptor, size_t offset, size_t bytes) {
  if (refuses(Call::room)) return false;
  int result;
  do {
    result = ::fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  return (is_refused(errno) || errno == EOPNOTSUPP) && touch_room(descriptor, offset, bytes);
}

bool prefer_node(void* address, size_t bytes, int node, bool move) {
  constexpr size_t kNodesMax = 1024;
  constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, kNodesMax / kWordBits> nodes = {};
  if (node >= static_cast<int>(kNodesMax)) return errno = EINVAL, false;
  if (node >= 0) nodes[static_cast<size_t>(node) / kWordBits] = 1ul << static_cast<size_t>(node) % kWordBits;
  if (refuses(Call::node)) return false;
  // The kernel reads one bit less than the number passed.
  return ::syscall(SYS_mbind, address, bytes, node >= 0 ? MPOL_PREFERRED : MPOL_DEFAULT,
                   node >= 0 ? nodes.data() : nullptr, node >= 0 ? kNodesMax + 1 : 0,
                   move ? MPOL_MF_MOVE : 0) == 0;
}

bool has_memory_policy() {
  int mode = MPOL_DEFAULT;
  return !refuses(Call::node) && ::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, nullptr, 0ul) == 0 &&
         mode != MPOL_DEFAULT;
}

int node_of_page(const void* address) {
  int node = -1;
  const auto page = reinterpret_cast<uintptr_t>(address) / page_bytes() * page_bytes();
  const void* pages[] = {reinterpret_cast<const void*>(page)};
  if (refuses(Call::node) || ::syscall(SYS_move_pages, 0, 1ul, pages, nullptr, &node, 0) != 0) return -1;
  return node < 0 ? -1 : node;
}

size_t file_bytes(int descriptor) {
  struct stat status;
  if (refuses(Call::status) || ::fstat(descriptor, &status) != 0) return 0;
  return static_cast<size_t>(status.st_size);
}

intptr_t read_process(int pid, void* to, const void* from, size_t bytes) {
  if (refuses(Call::process_vm)) return -1;
  bytes = chaos::shortened(bytes);
  const iovec local = {to, bytes};
  const iovec remote = {const_cast<void*>(from), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

intptr_t write_process(int pid, void* to, const void* from, size_t bytes) {
  if (refuses(Call::process_vm)) return -1;
  bytes = chaos::shortened(bytes);
  const iovec local = {const_cast<void*>(from), bytes};
  const iovec remote = {to, bytes};
  return ::process_vm_writev(pid, &local, 1, &remote, 1, 0);
}

}  // namespace hearth::os
