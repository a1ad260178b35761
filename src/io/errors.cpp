#include "io/errors.h"

#include <cerrno>
#include <cstring>

#include "mpi.h"

namespace hearth::io {
namespace {

struct Row {
  int error;
  int error_class;
  const char* remedy;
};

constexpr Row kRows[] = {
    {ENOENT, MPI_ERR_NO_SUCH_FILE,
     "Remedy: check the path and its folders, or open with MPI_MODE_CREATE. A relative path begins at the "
     "rank's working directory"},
    {ENOTDIR, MPI_ERR_NO_SUCH_FILE, "a part of the path is a file, not a folder"},
    {EEXIST, MPI_ERR_FILE_EXISTS, "MPI_MODE_EXCL asks for a new file. Remedy: delete it first"},
    {EISDIR, MPI_ERR_BAD_FILE, "it is a folder"},
    {ENAMETOOLONG, MPI_ERR_BAD_FILE, "Remedy: a shorter name"},
    {ELOOP, MPI_ERR_BAD_FILE, "its symbolic links form a loop"},
    {ENXIO, MPI_ERR_BAD_FILE, "no device or reader is at the other end"},
    {EINVAL, MPI_ERR_BAD_FILE, "the system does not support this operation on this kind of file"},
    {ESPIPE, MPI_ERR_BAD_FILE, "a pipe or a terminal has no positions. Remedy: MPI_MODE_SEQUENTIAL"},
    {EACCES, MPI_ERR_ACCESS, "Remedy: check owner and permissions of the file and its folders"},
    {EPERM, MPI_ERR_ACCESS, "Remedy: check owner, attributes and mount options of the file"},
    {EROFS, MPI_ERR_READ_ONLY, "the file system is mounted read-only"},
    {ENOSPC, MPI_ERR_NO_SPACE, "Remedy: free space on the file system"},
    {EFBIG, MPI_ERR_NO_SPACE, "a limit on the length of files is too low. Remedy: ulimit -f unlimited"},
    {EDQUOT, MPI_ERR_QUOTA, "Remedy: delete files, or ask for a larger quota"},
    {ETXTBSY, MPI_ERR_FILE_IN_USE, "it is a program that runs"},
    {EBUSY, MPI_ERR_FILE_IN_USE, "another program uses it"},
    {EMFILE, MPI_ERR_IO, "the process has too many open files. Remedy: ulimit -n"},
    {ENOMEM, MPI_ERR_NO_MEM, "no memory is left"},
    {EIO, MPI_ERR_IO, "the device failed; its messages are in the kernel's log"},
};

}  // namespace

Status fail_for(int error, const char* action, const std::string& name) {
  for (const Row& row : kRows) {
    if (row.error != error) continue;
    return fail(row.error_class, "cannot %s '%.200s': %s; %s", action, name.c_str(), std::strerror(error),
                row.remedy);
  }
  return fail(MPI_ERR_IO, "cannot %s '%.200s': %s", action, name.c_str(), std::strerror(error));
}

}  // namespace hearth::io
