// Files of MPI (src/io): open, transfer at offsets, size, space, mappings and locks.
//
// Functions return 0 or an errno. Transfers repeat short and interrupted system calls until all bytes are
// moved, the file ends or the system reports an error. Beyond the limit on the length of files (ulimit -f)
// they return EFBIG instead of raising SIGXFSZ. Any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/os_io.h"

namespace hearth::os {

struct OpenMode {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // fails with EEXIST if the file exists
  unsigned permissions = 0666;
};
/// Close-on-exec. Not open, with errno, on failure.
Descriptor open_file(const char* path, const OpenMode& mode);
/// For reading. Not open if the path names anything but a regular file: opening a FIFO would block.
Descriptor open_regular_file(const char* path);
bool file_exists(const char* path);
int remove_file(const char* path);
/// Replaces a file that has the new name.
int rename_file(const char* from, const char* to);
/// The absolute path without links; "" with errno if there is no such file.
std::string real_path(const char* path);
/// Makes a folder that only this user can enter, unless it exists. EPERM if it is not such a folder.
int make_private_folder(const char* path);
/// Closes the descriptor. Network file systems report errors of earlier writes here.
int close_file(Descriptor& descriptor);

struct FileFacts {
  FileIdentity identity;
  int64_t bytes = 0;
  int64_t block_bytes = 4096;  // preferred size of a transfer
  bool directory = false;
  bool is_pipe = false;
  bool seekable = false;  // regular files and block devices; not pipes, terminals and character devices
  /// A regular file of a local file system, in which loads and stores by mappings and read and write calls
  /// see each other's data.
  bool coherent_mapping = false;
  bool in_memory = false;  // tmpfs
  /// Processes of several machines see each other's data as soon as they are written. Not NFS.
  bool coherent = false;
};
int file_facts(int descriptor, FileFacts& facts);
int file_length(int descriptor, int64_t& bytes);
int set_file_length(int descriptor, int64_t bytes);
/// Allocates space for a range, as zeros where it has none, and lengthens the file if the range ends beyond
/// its end. Existing data stay. EOPNOTSUPP if the file system cannot.
int allocate_file_space(int descriptor, int64_t offset, int64_t bytes);
/// Writes the data, and the attributes that are needed to read them, to the device.
int flush_file(int descriptor);

/// Result of a transfer. A read that ends early without an error has met the end of the file.
struct Moved {
  int64_t bytes = 0;
  int error = 0;
};
/// The greatest length that this process may give a file (ulimit -f).
int64_t file_length_max();
/// `offset` is ignored by files that are not seekable: pass kNoOffset.
constexpr int64_t kNoOffset = -1;
Moved read_file(int descriptor, void* to, int64_t bytes, int64_t offset);
Moved write_file(int descriptor, const void* from, int64_t bytes, int64_t offset);

/// Maps a range of a file for loads, with `writable` also for stores; a child made by fork has nothing there.
/// The range may end beyond the file's end. nullptr with errno on failure. Pre: whole pages.
void* map_file(int descriptor, int64_t offset, size_t bytes, bool writable);
/// Makes pages of a mapping present, for stores with `writable`. EFAULT where an access would raise SIGBUS:
/// beyond the end of the file, or if no space is left. Pre: whole pages.
int populate_file_pages(void* address, size_t bytes, bool writable);

/// Locks [begin, end) of the file for this open file description, and waits for it. Also between machines,
/// where the file system supports it.
int lock_file_range(int descriptor, int64_t begin, int64_t end, bool exclusive);
void unlock_file_range(int descriptor, int64_t begin, int64_t end);

}  // namespace hearth::os
