#include "base/os_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/chaos.h"
#include "base/os_memory.h"

namespace hearth::os {
namespace {

using chaos::Call;
using chaos::refuses;

// The largest transfer of one system call on Linux; more is shortened silently.
constexpr int64_t kCallBytesMax = 0x7ffff000;

#ifndef MADV_POPULATE_READ
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;
#else
constexpr int kPopulateRead = MADV_POPULATE_READ;
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#endif

/// Local file systems with one page cache for mappings and calls.
bool is_local(long magic) {
  constexpr long kF2fs = 0xF2F52010;
  constexpr long kXfs = 0x58465342;
  constexpr long kBtrfs = 0x9123683E;
  constexpr long kTmpfs = 0x01021994;
  constexpr long kOverlay = 0x794c7630;
  constexpr long kExt = 0xEF53;
  return magic == kExt || magic == kXfs || magic == kBtrfs || magic == kTmpfs || magic == kOverlay ||
         magic == kF2fs;
}

/// File systems of several machines with one state of the data for all of them.
bool is_coherent_cluster(long magic) {
  constexpr long kLustre = 0x0BD00BD0;
  constexpr long kGpfs = 0x47504653;
  constexpr long kBeegfs = 0x19830326;
  constexpr long kCeph = 0x00c36400;
  return magic == kLustre || magic == kGpfs || magic == kBeegfs || magic == kCeph;
}

int result_of(int result) {
  return result == 0 ? 0 : errno;
}

template <class Call>
int repeated(Call call) {
  int result;
  do {
    result = call();
  } while (result != 0 && errno == EINTR);
  return result_of(result);
}

/// Fault injection: short transfers.
size_t part_of(int64_t bytes) {
  return chaos::shortened(static_cast<size_t>(std::min(bytes, kCallBytesMax)));
}

template <class Transfer>
Moved move_all(int64_t bytes, Transfer transfer) {
  Moved moved;
  while (moved.bytes < bytes) {
    const size_t part = std::max<size_t>(1, part_of(bytes - moved.bytes));
    const ssize_t result = transfer(moved.bytes, part);
    if (result > 0) {
      moved.bytes += result;
    } else if (result == 0) {
      break;
    } else if (errno != EINTR) {
      moved.error = errno;
      break;
    }
  }
  return moved;
}

}  // namespace

// A call that exceeds it would end the process by SIGXFSZ.
int64_t file_length_max() {
  static const bool limited = file_limit_bytes() != UINT64_MAX;
  return limited ? static_cast<int64_t>(std::min<uint64_t>(file_limit_bytes(), INT64_MAX)) : INT64_MAX;
}

Descriptor open_file(const char* path, const OpenMode& mode) {
  if (refuses(Call::file_open)) return Descriptor();
  int flags = O_CLOEXEC | O_NOCTTY;
  flags |= mode.read && mode.write ? O_RDWR : mode.write ? O_WRONLY : O_RDONLY;
  if (mode.create) flags |= O_CREAT;
  if (mode.exclusive) flags |= O_EXCL;
  int number;
  do {
    number = ::open(path, flags, mode.permissions);
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

Descriptor open_regular_file(const char* path) {
  struct stat status;
  if (::stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return open_to_read(path);
}

bool file_exists(const char* path) {
  struct stat status;
  return ::stat(path, &status) == 0;
}

int close_file(Descriptor& descriptor) {
  const int number = descriptor.release();
  return number < 0 || ::close(number) == 0 || errno == EINTR ? 0 : errno;
}

int make_private_folder(const char* path) {
  if (::mkdir(path, 0700) == 0) return 0;
  if (errno != EEXIST) return errno;
  struct stat facts;
  if (::lstat(path, &facts) != 0) return errno;
  const bool is_private = S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() && (facts.st_mode & 077) == 0;
  return is_private ? 0 : EPERM;
}

int remove_file(const char* path) {
  return result_of(::unlink(path));
}

int rename_file(const char* from, const char* to) {
  return result_of(::rename(from, to));
}

std::string real_path(const char* path) {
  char* const found = ::realpath(path, nullptr);
  if (found == nullptr) return "";
  std::string result = found;
  std::free(found);
  return result;
}

int file_facts(int descriptor, FileFacts& facts) {
  if (refuses(Call::status)) return errno;
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return errno;
  facts.identity = {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
  facts.bytes = status.st_size;
  facts.block_bytes = status.st_blksize;
  facts.directory = S_ISDIR(status.st_mode);
  facts.is_pipe = S_ISFIFO(status.st_mode);
  facts.seekable = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  struct statfs system;
  if (S_ISREG(status.st_mode) && ::fstatfs(descriptor, &system) == 0) {
    // An append-only descriptor writes at the end, whatever the offset; it was not opened here.
    facts.coherent_mapping = is_local(system.f_type);
    facts.in_memory = system.f_type == TMPFS_MAGIC;
    facts.coherent = facts.coherent_mapping || is_coherent_cluster(system.f_type);
  }
  return 0;
}

int file_length(int descriptor, int64_t& bytes) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return errno;
  bytes = status.st_size;
  return 0;
}

int set_file_length(int descriptor, int64_t bytes) {
  if (bytes > file_length_max()) return EFBIG;
  return repeated([&] { return ::ftruncate(descriptor, bytes); });
}

int allocate_file_space(int descriptor, int64_t offset, int64_t bytes) {
  if (refuses(Call::file_space)) return errno;
  if (bytes > file_length_max() - offset) return EFBIG;
  return repeated([&] { return ::fallocate(descriptor, 0, offset, bytes); });
}

int flush_file(int descriptor) {
  if (refuses(Call::file_flush)) return errno;
  return repeated([&] { return ::fdatasync(descriptor); });
}

Moved read_file(int descriptor, void* to, int64_t bytes, int64_t offset) {
  if (bytes > 0 && refuses(Call::file_read)) return {0, errno};
  auto* const at = static_cast<std::byte*>(to);
  return move_all(bytes, [&](int64_t done, size_t part) {
    return offset == kNoOffset ? ::read(descriptor, at + done, part)
                               : ::pread(descriptor, at + done, part, offset + done);
  });
}

Moved write_file(int descriptor, const void* from, int64_t bytes, int64_t offset) {
  if (bytes > 0 && (refuses(Call::file_write) || refuses(Call::file_quota))) return {0, errno};
  const auto* const at = static_cast<const std::byte*>(from);
  const int64_t room = offset == kNoOffset ? INT64_MAX : std::max<int64_t>(0, file_length_max() - offset);
  Moved moved = move_all(std::min(bytes, room), [&](int64_t done, size_t part) {
    return offset == kNoOffset ? ::write(descriptor, at + done, part)
                               : ::pwrite(descriptor, at + done, part, offset + done);
  });
  if (moved.error == 0 && moved.bytes == room && bytes > room) moved.error = EFBIG;
  return moved;
}

void* map_file(int descriptor, int64_t offset, size_t bytes, bool writable) {
  if (refuses(Call::file_map)) return nullptr;
  void* const mapping =
      ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, offset);
  if (mapping == MAP_FAILED) return nullptr;
  ::madvise(mapping, bytes, MADV_DONTFORK);
  return mapping;
}

int populate_file_pages(void* address, size_t bytes, bool writable) {
  if (refuses(Call::file_populate)) return errno;
  return repeated([&] { return ::madvise(address, bytes, writable ? kPopulateWrite : kPopulateRead); });
}

int lock_file_range(int descriptor, int64_t begin, int64_t end, bool exclusive) {
  struct flock lock = {};
  lock.l_type = static_cast<short>(exclusive ? F_WRLCK : F_RDLCK);
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = end - begin;
  return repeated([&] { return ::fcntl(descriptor, F_OFD_SETLKW, &lock); });
}

void unlock_file_range(int descriptor, int64_t begin, int64_t end) {
  struct flock lock = {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = end - begin;
  ::fcntl(descriptor, F_OFD_SETLK, &lock);
}

}  // namespace hearth::os
