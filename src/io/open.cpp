// Opening and closing files, their size, views and hints.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/attempt.h"
#include "base/chaos.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/file.h"
#include "io/system_call.h"
#include "io/window.h"
#include "mpi.h"
#include "shm/node.h"

namespace hearth::io {
namespace {

constexpr int kModes = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                       MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                       MPI_MODE_WRONLY;

// Larger values of the hint cb_buffer_size count as this one.
constexpr int64_t kStagingBytesMax = int64_t{1} << 30;

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

}  // namespace

std::string without_prefix(const char* filename) {
  for (const std::string_view prefix : {"ufs:", "nfs:", "xfs:", "pvfs2:", "lustre:", "gpfs:", "testfs:"}) {
    if (std::string_view(filename).starts_with(prefix) && !os::file_exists(filename))
      return filename + prefix.size();
  }
  return filename;
}

Status OpenFile::check_same(int64_t value, const char* what) const {
  int64_t least = value;
  int64_t greatest = value;
  HEARTH_TRY(min_and_max(comm_, least, greatest));
  if (least == greatest) return {};
  return fail(MPI_ERR_NOT_SAME, "%s is %lld here, but the processes pass values from %lld to %lld", what,
              static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(greatest));
}

template <class Action>
Status OpenFile::by_first(const char* verb, const Action& action) const {
  int error = 0;
  if (comm_.rank == 0) {
    const ShownCall shown(comm_, verb);
    const Unlocked unlocked;
    try {
      error = action();
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
  }
  if (comm_.size > 1) {
    HEARTH_TRY(coll::run<coll::bcast>(comm_, &error, Count{1}, datatype::predefined_type(MPI_INT), 0));
  }
  return error == 0 ? Status() : fail_for(error, verb, medium_.name);
}

/// Returns an errno. Only the first process creates the file.
int OpenFile::open_descriptor(bool first) {
  os::OpenMode mode;
  mode.read = (amode_ & MPI_MODE_WRONLY) == 0;
  mode.write = (amode_ & MPI_MODE_RDONLY) == 0;
  mode.create = first && (amode_ & MPI_MODE_CREATE) != 0;
  mode.permissions = permissions_;
  mode.exclusive = first && (amode_ & MPI_MODE_EXCL) != 0;
  medium_.reads = mode.read;
  medium_.writes = mode.write;
  const char* const name = medium_.name.c_str();
  // Mappings need read access too, which a write-only file may refuse.
  if (!mode.read && (amode_ & MPI_MODE_SEQUENTIAL) == 0) {
    os::OpenMode both = mode;
    both.read = true;
    medium_.descriptor = os::open_file(name, both);
    medium_.reads = medium_.descriptor.open();
  }
  if (!medium_.descriptor.open()) medium_.descriptor = os::open_file(name, mode);
  if (!medium_.descriptor.open()) return errno;
  if (const int error = os::file_facts(medium_.descriptor.number(), medium_.facts); error != 0) return error;
  return medium_.facts.directory ? EISDIR : 0;
}

Status OpenFile::open_medium() {
  HEARTH_TRY(by_first("open", [&] { return open_descriptor(true); }));
  Status opened;
  if (comm_.rank != 0) {
    int error;
    {
      const ShownCall shown(comm_, "open");
      const Unlocked unlocked;
      error = open_descriptor(false);
    }
    if (error != 0) opened = fail_for(error, "open", medium_.name);
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
  return agree(comm_, opened);
}

OpenFile::OpenFile(Comm& comm, bool local, int amode)
    : comm_(comm), amode_(amode), local_(local), counts_(static_cast<size_t>(comm.size)) {
  medium_.traffic = &shm::node().block().traffic;
}

OpenFile::~OpenFile() = default;

Status OpenFile::open(const char* filename, const objects::Info* info) {
  const auto prepare = [&] {
    HEARTH_TRY(check_amode(amode_));
    medium_.name = without_prefix(filename);
    if (info != nullptr) set_hints(*info);
    datatype::Type& byte = datatype::predefined_type(MPI_BYTE);
    return View::make(0, byte, byte, "native", false, view_);
  };
  HEARTH_TRY(agree(comm_, attempt(prepare)));
  HEARTH_TRY(check_same(amode_, "amode"));
  HEARTH_TRY(open_medium());
  HEARTH_TRY(board_.open(comm_, local_));
  if ((amode_ & MPI_MODE_APPEND) == 0 || !medium_.facts.seekable) return {};
  const Status moved = agree(comm_, move_to_end());
  if (!moved.ok()) static_cast<void>(board_.close());
  return moved;
}

Status OpenFile::move_to_end() {
  HEARTH_TRY(end_position(pointer_));
  int64_t before = 0;
  return comm_.rank == 0 ? board_.fetch_add(pointer_, before) : Status();
}

Status OpenFile::check_closable() const {
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
  return {};
}

Status OpenFile::close() {
  const Status closable = check_closable();
  if (closable.ok()) chaos::at(chaos::Point::file_closing);
  // After the agreement no process accesses the file any more.
  const KeptFailure met(agree(comm_, closable));
  if (const Status failed = met.again(); failed.error_class() == MPI_ERR_REQUEST) return failed;
  Status closed = board_.close();
  staging_.reset();
  int error;
  {
    const ShownCall shown(comm_, "close");
    const Unlocked unlocked;
    error = os::close_file(medium_.descriptor);
  }
  if (closed.ok() && error != 0) closed = fail_for(error, "close", medium_.name);
  HEARTH_TRY(met.again());
  HEARTH_TRY(agree(comm_, closed));
  if ((amode_ & MPI_MODE_DELETE_ON_CLOSE) == 0) return {};
  return by_first("delete", [&] { return os::remove_file(medium_.name.c_str()); });
}

void OpenFile::set_hints(const objects::Info& info) {
  if (const std::string* engine = value_of(&info, "hearth_engine")) {
    medium_.choice = *engine == "calls"    ? EngineChoice::calls
                     : *engine == "map"    ? EngineChoice::map
                     : *engine == "window" ? EngineChoice::window
                                           : EngineChoice::automatic;
  }
  if (const std::string* queue = value_of(&info, "hearth_queue")) {
    medium_.queue = *queue == "ring"     ? QueueChoice::ring
                    : *queue == "thread" ? QueueChoice::thread
                                         : QueueChoice::automatic;
  }
  if (const std::string* permissions = value_of(&info, "file_perm"))
    permissions_ = static_cast<unsigned>(std::strtoul(permissions->c_str(), nullptr, 8));
  if (const std::string* bytes = value_of(&info, "cb_buffer_size"))
    staging_bytes_ = std::clamp<int64_t>(std::strtoll(bytes->c_str(), nullptr, 10), 0, kStagingBytesMax);
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
  // The collective check of the size orders this after all earlier accesses, those by mappings included.
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
  // The file system does not support it: write zeros beyond the end.
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
    int error;
    {
      const ShownCall shown(comm_, "flush");
      const Unlocked unlocked;
      error = os::flush_file(medium_.descriptor.number());
    }
    return agree(comm_, error == 0 || error == EINVAL ? Status() : fail_for(error, "flush", medium_.name));
  }
  return by_first("flush", [&] {
    const int error = os::flush_file(medium_.descriptor.number());
    return error == EINVAL || error == EROFS ? 0 : error;  // a pipe or a terminal has nothing to flush
  });
}

Status OpenFile::make_view(MPI_Offset displacement, Type& etype, Type& filetype, const char* representation,
                           std::shared_ptr<const View>& view) {
  const bool sequential = (amode_ & MPI_MODE_SEQUENTIAL) != 0;
  if (displacement == MPI_DISPLACEMENT_CURRENT) {
    if (!sequential)
      return fail(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT needs a file opened with MPI_MODE_SEQUENTIAL");
    MPI_Offset current = 0;
    HEARTH_TRY(board_.read(current));
    displacement = view_->file_offset(current * view_->etype_bytes());
  } else if (sequential) {
    return fail(MPI_ERR_ARG,
                "disp is %lld: a file opened with MPI_MODE_SEQUENTIAL needs MPI_DISPLACEMENT_CURRENT",
                static_cast<long long>(displacement));
  }
  HEARTH_TRY(
      View::make(displacement, etype, filetype, representation, (amode_ & MPI_MODE_RDONLY) == 0, view));
  if (medium_.facts.seekable || view->contiguous()) return {};
  return fail(MPI_ERR_TYPE, "'%.200s' has no positions, so its view must have no holes",
              medium_.name.c_str());
}

Status OpenFile::set_view(Status prepared, MPI_Offset displacement, Type& etype, Type& filetype,
                          const char* representation) {
  std::shared_ptr<const View> view;
  if (prepared.ok())
    prepared = attempt([&] { return make_view(displacement, etype, filetype, representation, view); });
  HEARTH_TRY(agree(comm_, prepared));
  HEARTH_TRY(check_same(view->etype_bytes(), "the size of the etype"));
  view_ = std::move(view);
  pointer_ = 0;
  const KeptFailure reset(comm_.rank == 0 ? board_.write(0) : Status());
  HEARTH_TRY(StagingWindow::prepare(*this));
  return agree(comm_, reset.again());
}

Status OpenFile::set_atomicity(bool atomic) {
  HEARTH_TRY(check_same(atomic ? 1 : 0, "flag"));
  atomic_ = atomic;
  return {};
}

}  // namespace hearth::io
