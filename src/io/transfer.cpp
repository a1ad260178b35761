// Data access: pointers, conversion, and the choice between blocking, queued and collective transfers.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/os_wait.h"
#include "coll/coll.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/file.h"
#include "io/system_call.h"
#include "io/window.h"
#include "mpi.h"
#include "profile/recorder.h"

namespace hearth::io {
namespace {

// Data of other representations are converted in pieces of about this size.
constexpr int64_t kConvertedBytes = 256 * 1024;
// System calls that move more bytes than this release the library's lock.
constexpr int64_t kLockedBytes = 4096;
// Transfers of more bytes than this are published in the wait diagnostics.
constexpr int64_t kShownBytes = int64_t{4} << 20;

/// Holds a range of the file in atomic mode.
class RangeHeld {
 public:
  RangeHeld(Board& board, int descriptor) : board_(board), descriptor_(descriptor) {}
  ~RangeHeld() {
    if (held_) board_.unlock_range(descriptor_, begin_, end_);
  }
  RangeHeld(const RangeHeld&) = delete;
  RangeHeld& operator=(const RangeHeld&) = delete;

  Status take(int64_t begin, int64_t end, bool exclusive) {
    begin_ = begin;
    end_ = end;
    const Status taken = board_.lock_range(descriptor_, begin, end, exclusive);
    held_ = taken.ok();
    return taken;
  }

 private:
  Board& board_;
  int descriptor_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  bool held_ = false;
};

const char* name_of(Pointer pointer) {
  switch (pointer) {
    case Pointer::explicit_offset:
      return "_at_all";
    case Pointer::individual:
      return "_all";
    default:
      return "_ordered";
  }
}

}  // namespace

Status OpenFile::check_random_access() const {
  if ((amode_ & MPI_MODE_SEQUENTIAL) == 0) return {};
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "'%.200s' is open with MPI_MODE_SEQUENTIAL, which allows shared and ordered accesses only",
              medium_.name.c_str());
}

Status OpenFile::check(const Access& access, int64_t& file_bytes) const {
  if (access.writing ? (amode_ & MPI_MODE_RDONLY) != 0 : (amode_ & MPI_MODE_WRONLY) != 0) {
    return fail(access.writing ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS, "'%.200s' is open with MPI_MODE_%s",
                medium_.name.c_str(), access.writing ? "RDONLY" : "WRONLY");
  }
  const bool shared = access.pointer == Pointer::shared || access.pointer == Pointer::ordered;
  if (!shared) HEARTH_TRY(check_random_access());
  if (access.pointer == Pointer::explicit_offset && access.offset < 0) {
    return fail(MPI_ERR_ARG, "offset is %lld: it must not be negative",
                static_cast<long long>(access.offset));
  }
  int64_t each = 0;
  HEARTH_TRY(view_->representation().bytes_in_file(*access.data.type, each));
  file_bytes = saturated_product(each, access.data.count);
  if (file_bytes == 0) return {};
  if (view_->empty())
    return fail(MPI_ERR_IO, "the filetype of the view of '%.200s' has no data", medium_.name.c_str());
  if (file_bytes % view_->etype_bytes() == 0) return {};
  return fail(MPI_ERR_TYPE,
              "%lld bytes are no whole number of the view's etypes, which have %lld bytes. Remedy: access a "
              "multiple, or set a view with a smaller etype",
              static_cast<long long>(file_bytes), static_cast<long long>(view_->etype_bytes()));
}

/// Two collectives: no process may return before the pointer has moved.
Status OpenFile::ordered_offset(int64_t etypes, int64_t& offset) {
  std::vector<int64_t>& all = counts_;
  datatype::Type& word = datatype::predefined_type(MPI_INT64_T);
  if (comm_.size == 1) {
    all[0] = etypes;
  } else {
    HEARTH_TRY(coll::run<coll::allgather>(comm_, &etypes, Count{1}, word, all.data(), Count{1}, word));
  }
  int64_t total = 0;
  int64_t before = 0;
  for (int rank = 0; rank < comm_.size; ++rank) {
    if (rank < comm_.rank) before += all[static_cast<size_t>(rank)];
    total = saturated_sum(total, all[static_cast<size_t>(rank)]);
  }
  constexpr int64_t kFailed = -1;
  int64_t base = 0;
  const KeptFailure added(comm_.rank == 0 ? board_.fetch_add(total, base) : Status());
  if (!added.again().ok()) base = kFailed;
  if (comm_.size > 1) HEARTH_TRY(coll::run<coll::bcast>(comm_, &base, Count{1}, word, 0));
  HEARTH_TRY(added.again());
  if (base == kFailed) return fail(MPI_ERR_OTHER, "rank 0 could not move the shared file pointer");
  offset = base + before;
  return {};
}

/// The offset in etypes at which an access begins. Moves the pointer by what is requested before the data
/// move, because other threads may run meanwhile.
Status OpenFile::locate(const Access& access, int64_t file_bytes, int64_t& etypes) {
  const int64_t length = file_bytes == 0 ? 0 : file_bytes / view_->etype_bytes();
  switch (access.pointer) {
    case Pointer::explicit_offset:
      etypes = access.offset;
      return {};
    case Pointer::individual:
      etypes = pointer_;
      if (!__builtin_add_overflow(etypes, length, &pointer_)) return {};
      pointer_ = etypes;
      return fail(MPI_ERR_ARG, "the access from offset %lld on ends beyond 2^63 etypes",
                  static_cast<long long>(etypes));
    case Pointer::shared:
      return board_.fetch_add(length, etypes);
    case Pointer::ordered:
      return ordered_offset(length, etypes);
  }
  return {};
}

Status OpenFile::outcome_of(const os::Moved& moved, bool writing) const {
  return moved.error == 0 ? Status() : fail_for(moved.error, writing ? "write to" : "read", medium_.name);
}

/// Whether a transfer has to release the library's lock: a transfer to or from a pipe may wait for another
/// process, a transfer by mappings for a thread of this process.
bool OpenFile::needs_unlocking(int64_t bytes) const {
  return bytes > kLockedBytes || !medium_.facts.seekable || !view_->contiguous();
}

Status OpenFile::move_converted(const Access& access, int64_t data_offset, int64_t& bytes) {
  const std::shared_ptr<const View> view = view_;
  const Representation& representation = view->representation();
  const Data& data = access.data;
  int64_t each = 0;
  HEARTH_TRY(representation.bytes_in_file(*data.type, each));
  const Count part_max = std::max<Count>(1, kConvertedBytes / each);
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(part_max, data.count) * each));
  for (Count first = 0; first < data.count;) {
    const Count part = std::min(part_max, data.count - first);
    if (access.writing)
      HEARTH_TRY(representation.to_file(*data.type, data.buffer, first, part, buffer.data()));
    os::Moved moved;
    {
      const Unlocked unlocked(needs_unlocking(part * each));
      moved =
          move_piece(medium_, *view, data_offset + first * each, access.writing, buffer.data(), part * each);
    }
    // An incomplete element at the end of the file is not converted.
    const Count whole = moved.bytes / each;
    if (!access.writing)
      HEARTH_TRY(representation.from_file(*data.type, data.buffer, first, whole, buffer.data()));
    first += whole;
    bytes += whole * data.type->size;
    HEARTH_TRY(outcome_of(moved, access.writing));
    if (whole < part) break;
  }
  return {};
}

/// Moves the data; `bytes` are those of the buffer.
Status OpenFile::move(const Access& access, int64_t etypes, int64_t file_bytes, int64_t& bytes) {
  int64_t data_offset = 0;
  if (!view_->data_offset(etypes, file_bytes, data_offset)) {
    return fail(MPI_ERR_ARG, "offset %lld in this view is beyond 2^63 bytes", static_cast<long long>(etypes));
  }
  if (file_bytes == 0) return {};
  RangeHeld range(board_, medium_.descriptor.number());
  if (atomic_ && medium_.facts.seekable) {
    // If tiles overlap, the last data byte is not the last one in the file.
    const int64_t begin = view_->increasing() ? view_->file_offset(data_offset) : view_->displacement();
    const int64_t end =
        view_->increasing() ? view_->file_offset(data_offset + file_bytes - 1) + 1 : INT64_MAX;
    HEARTH_TRY(range.take(begin, end, access.writing));
  }
  if (!view_->representation().native()) return move_converted(access, data_offset, bytes);
  // Other threads may free the datatype or set another view while the lock is released.
  const datatype::Reference held(*access.data.type);
  const std::shared_ptr<const View> view = view_;
  os::Moved moved;
  {
    const bool may_last = file_bytes > kShownBytes || !medium_.facts.seekable;
    const ShownCall shown(comm_, access.writing ? "write" : "read", file_bytes, may_last);
    const Unlocked unlocked(needs_unlocking(file_bytes));
    moved = move_data(medium_, *view, data_offset, access.writing, access.data);
  }
  bytes = moved.bytes;
  return outcome_of(moved, access.writing);
}

Status OpenFile::run(const Access& access, int64_t& bytes) {
  profile::Recorder* const recorder = profile::process_recorder;
  if (recorder == nullptr) [[likely]]
    return run_access(access, bytes);
  const uint64_t begun_ns = os::now_ns();
  const Status outcome = run_access(access, bytes);
  recorder->accessed_file(access.writing, static_cast<uint64_t>(bytes), os::now_ns() - begun_ns);
  return outcome;
}

Status OpenFile::run_access(const Access& access, int64_t& bytes) {
  bytes = 0;
  int64_t file_bytes = 0;
  int64_t etypes = 0;
  Status outcome = attempt([&] { return check(access, file_bytes); });
  if (outcome.ok() && access.collective && split_.has_value())
    outcome =
        fail(MPI_ERR_OTHER, "a split collective access of '%.200s' has not ended", medium_.name.c_str());
  bool located = false;
  if (outcome.ok()) {
    outcome = locate(access, file_bytes, etypes);
    located = outcome.ok();
  } else if (access.pointer == Pointer::ordered) {
    // The other processes wait for this one.
    const KeptFailure refused(outcome);
    HEARTH_TRY(ordered_offset(0, etypes));
    outcome = refused.again();
  }
  bool moved = false;
  if (access.collective && staging_ != nullptr)
    outcome = staging_->move(access, outcome, etypes, file_bytes, moved, bytes);
  if (!moved && outcome.ok()) outcome = move(access, etypes, file_bytes, bytes);
  // A blocking access moves the pointer by what was transferred, a non-blocking one by what was requested
  // (MPI 5.0 section 14.4.1).
  if (located && !access.nonblocking && access.pointer == Pointer::individual && file_bytes > 0) {
    // Whole elements were converted, or memory and file have equally many bytes.
    const int64_t in_file = view_->representation().native()
                                ? bytes
                                : bytes / access.data.type->size * (file_bytes / access.data.count);
    pointer_ -= file_bytes / view_->etype_bytes() - in_file / view_->etype_bytes();
  }
  return outcome;
}

Status OpenFile::begin_split(const Access& access) {
  if (split_.has_value()) {
    return fail(
        MPI_ERR_OTHER,
        "a split collective access of '%.200s' has begun and not ended: a file handle has one at a time",
        medium_.name.c_str());
  }
  int64_t bytes = 0;
  const KeptFailure outcome(run(access, bytes));
  split_.emplace(Split{access.writing, access.pointer, outcome, bytes});
  return {};
}

Status OpenFile::end_split(const Access& access, int64_t& bytes) {
  if (!split_.has_value()) {
    return fail(MPI_ERR_OTHER, "no split collective access of '%.200s' has begun", medium_.name.c_str());
  }
  if (split_->writing != access.writing || split_->pointer != access.pointer) {
    return fail(MPI_ERR_OTHER, "the access that has begun is MPI_File_%s%s_begin, which needs its own end",
                split_->writing ? "write" : "read", name_of(split_->pointer));
  }
  bytes = split_->bytes;
  const KeptFailure outcome = split_->outcome;
  split_.reset();
  return outcome.again();
}

// Pointers.

Status OpenFile::byte_offset(MPI_Offset offset, MPI_Offset& displacement) const {
  HEARTH_TRY(check_random_access());
  if (offset < 0)
    return fail(MPI_ERR_ARG, "offset is %lld: it must not be negative", static_cast<long long>(offset));
  int64_t data_offset = 0;
  if (!view_->data_offset(offset, 1, data_offset))
    return fail(MPI_ERR_ARG, "offset %lld in this view is beyond 2^63 bytes", static_cast<long long>(offset));
  displacement = view_->file_offset(data_offset);
  return {};
}

Status OpenFile::position(MPI_Offset& offset) const {
  HEARTH_TRY(check_random_access());
  offset = pointer_;
  return {};
}

/// The first etype of the view that does not lie before the end of the file.
Status OpenFile::end_position(MPI_Offset& offset) const {
  MPI_Offset length = 0;
  HEARTH_TRY(bytes(length));
  const int64_t etype = std::max<int64_t>(1, view_->etype_bytes());
  offset = (view_->data_before(length) + etype - 1) / etype;
  return {};
}

Status OpenFile::seek_target(MPI_Offset offset, int whence, MPI_Offset current, MPI_Offset& target) const {
  MPI_Offset from = 0;
  switch (whence) {
    case MPI_SEEK_SET:
      break;
    case MPI_SEEK_CUR:
      from = current;
      break;
    case MPI_SEEK_END:
      HEARTH_TRY(end_position(from));
      break;
    default:
      return fail(MPI_ERR_ARG, "whence is %d: none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END", whence);
  }
  target = saturated_sum(from, offset);
  if (target >= 0) return {};
  return fail(MPI_ERR_ARG, "offset %lld leads to position %lld, before the beginning of the view",
              static_cast<long long>(offset), static_cast<long long>(target));
}

Status OpenFile::seek(MPI_Offset offset, int whence) {
  HEARTH_TRY(check_random_access());
  MPI_Offset target = 0;
  HEARTH_TRY(seek_target(offset, whence, pointer_, target));
  pointer_ = target;
  return {};
}

Status OpenFile::shared_position(MPI_Offset& offset) {
  int64_t etypes = 0;
  HEARTH_TRY(board_.read(etypes));
  offset = etypes;
  return {};
}

Status OpenFile::seek_shared(MPI_Offset offset, int whence) {
  HEARTH_TRY(check_random_access());
  HEARTH_TRY(check_same(offset, "offset"));
  HEARTH_TRY(check_same(whence, "whence"));
  int64_t current = 0;
  Status found = board_.read(current);
  MPI_Offset target = 0;
  if (found.ok()) found = seek_target(offset, whence, current, target);
  // All processes have read the pointer before it moves, and it has moved before one returns.
  HEARTH_TRY(agree(comm_, found));
  return agree(comm_, comm_.rank == 0 ? board_.write(target) : Status());
}

}  // namespace hearth::io
