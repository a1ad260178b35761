// Opening and closing files, their size, views and hints.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/chaos.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "io/errors.h"
#include "io/file.h"
#include "io/window.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::io {
namespace {

constexpr int kModes = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                       MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                       MPI_MODE_WRONLY;

Status check_amode(int amode) {
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if ((amode & ~kModes) != 0)
    return fail(MPI_ERR_AMODE, "amode is %#x, which has bits that are no mode of files", amode);
  if (access == 0 || (access & (access - 1)) != 0) {
    return fail(MPI_ERR_AMODE,
                "amode is %#x: it needs exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR",
                amode);
  }
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    return fail(MPI_ERR_AMODE, "MPI_MODE_RDONLY excludes MPI_MODE_CREATE and MPI_MODE_EXCL");
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return fail(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL excludes MPI_MODE_RDWR");
  return {};
}

datatype::Type& long_type() {
  return datatype::predefined_type(MPI_INT64_T);
}

const std::string* value_of(const objects::Info& info, std::string_view key) {
  for (const auto& entry : info.entries) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

}  // namespace

std::string without_prefix(const char* filename) {
  for (const std::string_view prefix : {"ufs:", "nfs:", "xfs:", "pvfs2:", "lustre:", "gpfs:", "testfs:"}) {
    if (std::string_view(filename).starts_with(prefix) && !os::file_exists(filename))
      return filename + prefix.size();
  }
  return filename;
}

Status OpenFile::min_and_max(int64_t& least, int64_t& greatest) const {
  if (comm_.size == 1) return {};
  // max(-x) is -min(x): one collective. -INT64_MIN does not occur.
  const int64_t own[2] = {-least, greatest};
  int64_t all[2] = {};
  HEARTH_TRY(coll::run<coll::allreduce>(
      comm_, own, all, Count{2}, long_type(),
      *static_cast<objects::Op*>(objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_MAX)])));
  least = -all[0];
  greatest = all[1];
  return {};
}

Status OpenFile::agree(Status own) const {
  int64_t least = own.error_class();
  int64_t greatest = own.error_class();
  if (own.ok()) {
    HEARTH_TRY(min_and_max(least, greatest));
    if (greatest == 0) return {};
    return fail(static_cast<int>(greatest), "another process of the file's communicator failed in this call");
  }
  // Keeps this process's own message.
  const std::string text = last_failure_text();
  const Status agreed = min_and_max(least, greatest);
  if (!agreed.ok()) return agreed;
  return fail(own.error_class(), "%s", text.c_str());
}

Status OpenFile::check_same(int64_t value, const char* what) const {
  int64_t least = value;
  int64_t greatest = value;
  HEARTH_TRY(min_and_max(least, greatest));
  if (least == greatest) return {};
  return fail(MPI_ERR_NOT_SAME, "%s is %lld here, but the processes pass values from %lld to %lld", what,
              static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(greatest));
}

template <class Action>
Status OpenFile::by_first(const char* verb, const Action& action) const {
  int error = comm_.rank == 0 ? action() : 0;
  if (comm_.size > 1) {
    HEARTH_TRY(coll::run<coll::bcast>(comm_, &error, Count{1}, datatype::predefined_type(MPI_INT), 0));
  }
  return error == 0 ? Status() : fail_for(error, verb, medium_.name);
}

/// Returns an errno. Only the first process creates the file.
int OpenFile::open_descriptor(const std::string& name, bool first) {
  os::OpenMode mode;
  mode.read = (amode_ & MPI_MODE_WRONLY) == 0;
  mode.write = (amode_ & MPI_MODE_RDONLY) == 0;
  mode.create = first && (amode_ & MPI_MODE_CREATE) != 0;
  mode.permissions = permissions_;
  mode.exclusive = first && (amode_ & MPI_MODE_EXCL) != 0;
  medium_.reads = mode.read;
  medium_.writes = mode.write;
  // Mappings need read access too, which a write-only file may refuse.
  if (!mode.read && (amode_ & MPI_MODE_SEQUENTIAL) == 0) {
    os::OpenMode both = mode;
    both.read = true;
    medium_.descriptor = os::open_file(name.c_str(), both);
    medium_.reads = medium_.descriptor.open();
  }
  if (!medium_.descriptor.open()) medium_.descriptor = os::open_file(name.c_str(), mode);
  if (!medium_.descriptor.open()) return errno;
  if (const int error = os::file_facts(medium_.descriptor.number(), medium_.facts); error != 0) return error;
  return medium_.facts.directory ? EISDIR : 0;
}

Status OpenFile::open_medium(const char* filename) {
  medium_.name = without_prefix(filename);
  HEARTH_TRY(by_first("open", [&] { return open_descriptor(medium_.name, true); }));
  Status opened;
  if (comm_.rank != 0) {
    if (const int error = open_descriptor(medium_.name, false); error != 0)
      opened = fail_for(error, "open", medium_.name);
  }
  uint64_t identity[3] = {medium_.facts.identity.device, medium_.facts.identity.inode,
                          medium_.facts.is_pipe ? 1u : 0u};
  if (comm_.size > 1) {
    HEARTH_TRY(coll::run<coll::bcast>(comm_, identity, Count{sizeof identity},
                                      datatype::predefined_type(MPI_BYTE), 0));
  }
  // Between machines the same file has other numbers, and mpiexec makes a pipe for the output of each rank.
  const os::FileIdentity first = {identity[0], identity[1]};
  const bool is_pipe = identity[2] != 0;
  if (local_ && opened.ok() &&
      (is_pipe != medium_.facts.is_pipe || (!is_pipe && first != medium_.facts.identity))) {
    opened =
        fail(MPI_ERR_NOT_SAME,
             "'%.200s' is another file here than on rank 0. Likely cause: a relative path, and different "
             "working directories",
             medium_.name.c_str());
  }
  return agree(opened);
}

Status OpenFile::open(Comm& comm, bool local, const char* filename, int amode, const objects::Info* info,
                      std::unique_ptr<OpenFile>& made) {
  std::unique_ptr<OpenFile> file(new OpenFile(comm, amode));
  file->local_ = local;
  HEARTH_TRY(file->agree(check_amode(amode)));
  HEARTH_TRY(file->check_same(amode, "amode"));
  if (info != nullptr) file->set_hints(*info);
  HEARTH_TRY(file->open_medium(filename));
  HEARTH_TRY(file->board_.open(comm, local));
  datatype::Type& byte = datatype::predefined_type(MPI_BYTE);
  HEARTH_TRY(View::make(0, byte, byte, "native", false, file->view_));
  if ((amode & MPI_MODE_APPEND) != 0 && file->medium_.facts.seekable) {
    HEARTH_TRY(file->end_position(file->pointer_));
    int64_t before = 0;
    if (comm.rank == 0) HEARTH_TRY(file->board_.fetch_add(file->pointer_, before));
    HEARTH_TRY(coll::run<coll::barrier>(comm));
  }
  made = std::move(file);
  return {};
}

OpenFile::OpenFile(Comm& comm, int amode) : comm_(comm), amode_(amode) {}

OpenFile::~OpenFile() = default;

Status OpenFile::close() {
  if (pending_ > 0) {
    return fail(MPI_ERR_REQUEST,
                "'%.200s' has %d pending non-blocking accesses. Remedy: complete their requests before "
                "MPI_File_close",
                medium_.name.c_str(), pending_);
  }
  if (split_.has_value()) {
    return fail(MPI_ERR_REQUEST, "'%.200s' has a split collective access without its end",
                medium_.name.c_str());
  }
  chaos::at(chaos::Point::file_closing);
  // After the barrier no process accesses the file any more.
  const Status met = comm_.size > 1 ? coll::run<coll::barrier>(comm_) : Status();
  const Status closed = board_.close();
  staging_.reset();
  const int error = os::close_file(medium_.descriptor);
  HEARTH_TRY(met.ok() ? closed : met);
  HEARTH_TRY(agree(error == 0 ? Status() : fail_for(error, "close", medium_.name)));
  if ((amode_ & MPI_MODE_DELETE_ON_CLOSE) == 0) return {};
  return by_first("delete", [&] { return os::remove_file(medium_.name.c_str()); });
}

void OpenFile::set_hints(const objects::Info& info) {
  if (const std::string* engine = value_of(info, "hearth_engine")) {
    medium_.choice = *engine == "calls"    ? EngineChoice::calls
                     : *engine == "map"    ? EngineChoice::map
                     : *engine == "window" ? EngineChoice::window
                                           : EngineChoice::automatic;
  }
  if (const std::string* permissions = value_of(info, "file_perm"))
    permissions_ = static_cast<unsigned>(std::strtoul(permissions->c_str(), nullptr, 8));
  if (const std::string* bytes = value_of(info, "cb_buffer_size"))
    staging_bytes_ = std::strtoll(bytes->c_str(), nullptr, 10);
}

Status OpenFile::bytes(MPI_Offset& bytes) const {
  int64_t length = 0;
  const int error = os::file_length(medium_.descriptor.number(), length);
  bytes = length;
  return error == 0 ? Status() : fail_for(error, "ask for the size of", medium_.name);
}

Status OpenFile::set_bytes(MPI_Offset bytes) {
  HEARTH_TRY(check_random_access());
  HEARTH_TRY(check_same(bytes, "size"));
  if (bytes < 0)
    return fail(MPI_ERR_ARG, "size is %lld: it must not be negative", static_cast<long long>(bytes));
  if (!medium_.writes)
    return fail(MPI_ERR_READ_ONLY, "'%.200s' is open with MPI_MODE_RDONLY", medium_.name.c_str());
  // The check of the size is a collective: all earlier accesses have ended, and none of a mapping is left.
  {
    const std::lock_guard guard(medium_.parts.mutex);
    medium_.settled_bytes = std::min<int64_t>(medium_.settled_bytes, bytes);
  }
  return by_first("resize", [&] { return os::set_file_length(medium_.descriptor.number(), bytes); });
}

namespace {

/// Space for the first `bytes` of a file; existing data stay.
int take_space(int descriptor, int64_t bytes) {
  const int error = os::allocate_file_space(descriptor, 0, bytes);
  if (error != EOPNOTSUPP) return error;
  // The file system cannot: zeros beyond the end.
  int64_t length = 0;
  if (const int unknown = os::file_length(descriptor, length); unknown != 0) return unknown;
  const std::vector<std::byte> zeros(size_t{1} << 20);
  while (length < bytes) {
    const int64_t part = std::min(bytes - length, static_cast<int64_t>(zeros.size()));
    const os::Moved moved = os::write_file(descriptor, zeros.data(), part, length);
    if (moved.error != 0) return moved.error;
    length += moved.bytes;
  }
  return 0;
}

}  // namespace

Status OpenFile::preallocate(MPI_Offset bytes) {
  HEARTH_TRY(check_random_access());
  HEARTH_TRY(check_same(bytes, "size"));
  if (bytes < 0)
    return fail(MPI_ERR_ARG, "size is %lld: it must not be negative", static_cast<long long>(bytes));
  if (bytes == 0) return {};
  if (!medium_.writes)
    return fail(MPI_ERR_READ_ONLY, "'%.200s' is open with MPI_MODE_RDONLY", medium_.name.c_str());
  return by_first("take space for", [&] { return take_space(medium_.descriptor.number(), bytes); });
}

Status OpenFile::sync() {
  // Data of all processes are in the page cache, which one call flushes.
  if (comm_.size > 1) HEARTH_TRY(coll::run<coll::barrier>(comm_));
  if (!local_) {
    const int error = os::flush_file(medium_.descriptor.number());
    return agree(error == 0 || error == EINVAL ? Status() : fail_for(error, "flush", medium_.name));
  }
  return by_first("flush", [&] {
    const int error = os::flush_file(medium_.descriptor.number());
    return error == EINVAL || error == EROFS ? 0 : error;  // a pipe or a terminal has nothing to flush
  });
}

Status OpenFile::set_view(MPI_Offset displacement, Type& etype, Type& filetype, const char* representation) {
  Status made;
  std::shared_ptr<const View> view;
  if (displacement == MPI_DISPLACEMENT_CURRENT) {
    MPI_Offset current = 0;
    if ((amode_ & MPI_MODE_SEQUENTIAL) == 0) {
      made = fail(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT needs a file opened with MPI_MODE_SEQUENTIAL");
    } else {
      made = board_.read(current);
      displacement = view_->displacement() + current * view_->etype_bytes();
    }
  } else if ((amode_ & MPI_MODE_SEQUENTIAL) != 0) {
    made = fail(MPI_ERR_ARG,
                "disp is %lld: a file opened with MPI_MODE_SEQUENTIAL needs MPI_DISPLACEMENT_CURRENT",
                static_cast<long long>(displacement));
  }
  if (made.ok())
    made = View::make(displacement, etype, filetype, representation, (amode_ & MPI_MODE_RDONLY) == 0, view);
  if (made.ok() && !medium_.facts.seekable && !view->contiguous())
    made =
        fail(MPI_ERR_TYPE, "'%.200s' has no positions, so its view must have no holes", medium_.name.c_str());
  HEARTH_TRY(agree(made));
  HEARTH_TRY(check_same(view->etype_bytes(), "the size of the etype"));
  view_ = std::move(view);
  pointer_ = 0;
  if (comm_.rank == 0) HEARTH_TRY(board_.write(0));
  HEARTH_TRY(StagingWindow::prepare(*this));
  return comm_.size > 1 ? coll::run<coll::barrier>(comm_) : Status();
}

Status OpenFile::set_atomicity(bool atomic) {
  HEARTH_TRY(check_same(atomic ? 1 : 0, "flag"));
  atomic_ = atomic;
  return {};
}

}  // namespace hearth::io
