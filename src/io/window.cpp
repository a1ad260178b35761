#include "io/window.h"

#include <algorithm>
#include <vector>

#include "base/attempt.h"
#include "base/chaos.h"
#include "base/copy.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "io/aggregation.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/system_call.h"
#include "mpi.h"
#include "shm/node.h"

namespace hearth::io {
namespace {

/// A pseudo-random value for a position, so that sums over different positions differ (see coverage()).
uint64_t mark(int64_t position) {
  auto word = static_cast<uint64_t>(position) + 0x9e3779b97f4a7c15;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

/// The sum of mark(end) - mark(begin) of the runs of an access. Over all processes it is that of one single
/// run exactly if the runs cover that run once, without holes and overlaps: at each position inside, as many
/// runs begin as end. (A coincidence of sums has a probability of 2^-64.)
uint64_t coverage(const View& view, int64_t data_offset, int64_t bytes) {
  uint64_t sum = 0;
  view.for_each_run(data_offset, bytes, [&](int64_t offset, int64_t length) {
    sum += mark(offset + length) - mark(offset);
    return true;
  });
  return sum;
}

Status barrier(Comm& comm) {
  return coll::run<coll::barrier>(comm);
}

}  // namespace

StagingWindow::StagingWindow(OpenFile& file, int64_t buffer_bytes)
    : file_(file), buffer_bytes_(buffer_bytes), parts_(static_cast<size_t>(file.comm_.size)) {}

StagingWindow::~StagingWindow() {
  if (own_ != nullptr) surroundings().release(own_);
}

Status StagingWindow::prepare(OpenFile& file) {
  const Medium& medium = file.medium_;
  const View& view = *file.view_;
  // By messages, another machine writes the data of this process, which reads them back from the file system.
  const bool suits = file.local_ ? !medium.facts.in_memory : medium.facts.coherent;
  const bool wanted =
      medium.choice == EngineChoice::window || (medium.choice == EngineChoice::automatic && suits);
  const bool possible = wanted && file.comm_.size > 1 && medium.facts.seekable && view.increasing() &&
                        view.representation().native() && !view.empty();
  // 0: no process may use the window; 2: this process has a view for it; 1: it takes part for the others.
  int64_t least = possible ? (view.contiguous() ? 1 : 2) : 0;
  int64_t greatest = least;
  HEARTH_TRY(min_and_max(file.comm_, least, greatest));
  const bool in_use = least > 0 && greatest == 2;
  // Readers copy from the page cache themselves, unless the hint of all processes asks for the window.
  int64_t reads = file.local_ && medium.choice == EngineChoice::window ? 1 : 0;
  int64_t some_read = reads;
  if (in_use) HEARTH_TRY(min_and_max(file.comm_, reads, some_read));
  if (file.staging_ == nullptr && in_use) HEARTH_TRY(make(file));
  if (file.staging_ == nullptr) return {};
  file.staging_->in_use_ = in_use;
  file.staging_->reads_ = reads != 0;
  return {};
}

/// Collective. Hints and the length of blocks may differ between processes.
Status StagingWindow::make(OpenFile& file) {
  const int64_t block = std::max<int64_t>(4096, file.medium_.facts.block_bytes);
  int64_t bytes = file.staging_bytes_ > 0 ? file.staging_bytes_ : kDefaultBytes;
  bytes = (bytes + block - 1) / block * block;
  int64_t smallest = bytes;
  HEARTH_TRY(min_and_max(file.comm_, smallest, bytes));
  std::unique_ptr<StagingWindow> window;
  static_cast<void>(attempt([&] {
    window.reset(new StagingWindow(file, bytes));
    return Status();
  }));
  bool shared = false;
  if (file.local_) {
    HEARTH_TRY(share_memory(file, window.get(), shared));
  } else {
    int64_t least = window != nullptr ? 1 : 0;
    int64_t greatest = least;
    HEARTH_TRY(min_and_max(file.comm_, least, greatest));
    shared = least == 1;
  }
  if (shared) file.staging_ = std::move(window);
  return {};
}

/// On rank 0: allocates the buffers; false if they cannot be shared.
bool StagingWindow::allocate() {
  const shm::Arena* arena = shm::node().arena();
  const size_t bytes = memory_bytes();
  const auto take = [&] { return surroundings().allocate(bytes, own_); };
  if (arena == nullptr || !attempt(take).ok()) return false;
  memory_ = static_cast<std::byte*>(own_);
  return arena->holds(own_, bytes);
}

Status StagingWindow::share_memory(OpenFile& file, StagingWindow* window, bool& shared) {
  constexpr uint64_t kNowhere = ~uint64_t{0};
  Comm& comm = file.comm_;
  uint64_t offset = kNowhere;
  if (comm.rank == 0 && window != nullptr && window->allocate())
    offset = shm::node().arena()->offset_of(window->own_);
  HEARTH_TRY(
      coll::run<coll::bcast>(comm, &offset, Count{sizeof offset}, datatype::predefined_type(MPI_BYTE), 0));
  if (comm.rank != 0 && window != nullptr && offset != kNowhere)
    window->memory_ = rma::Window::reach(comm.peers[0], offset, window->memory_bytes());
  int64_t least = offset != kNowhere && window != nullptr && window->memory_ != nullptr ? 1 : 0;
  int64_t greatest = least;
  HEARTH_TRY(min_and_max(comm, least, greatest));
  shared = least == 1;
  return {};
}

StagingWindow::Part StagingWindow::part_of(int64_t data_offset, int64_t file_bytes) const {
  const View& view = *file_.view_;
  return {view.file_offset(data_offset), view.file_offset(data_offset + file_bytes - 1) + 1,
          coverage(view, data_offset, file_bytes), 0};
}

/// Decides from the parts of all processes, so that all decide alike.
Status StagingWindow::plan(const Part& own, bool writing, int64_t& begin, int64_t& end, bool& fits) {
  Comm& comm = file_.comm_;
  parts_.resize(static_cast<size_t>(comm.size));  // within its capacity
  std::vector<Part>& parts = parts_;
  datatype::Type& byte = datatype::predefined_type(MPI_BYTE);
  HEARTH_TRY(
      coll::run<coll::allgather>(comm, &own, Count{sizeof own}, byte, parts.data(), Count{sizeof own}, byte));
  uint64_t sum = 0;
  bool refused = false;
  for (const Part& part : parts) {
    sum += part.sum;
    refused = refused || part.refused != 0;
  }
  std::erase_if(parts, [](const Part& part) { return part.end == 0; });
  fits = false;
  if (refused || parts.size() < 2 || !(writing || reads_) || file_.atomic_) return {};
  std::ranges::sort(parts, {}, &Part::begin);
  begin = parts[0].begin;
  end = 0;
  bool interleaved = false;
  for (const Part& part : parts) {
    interleaved = interleaved || part.begin < end;
    end = std::max(end, part.end);
  }
  fits = interleaved && sum == mark(end) - mark(begin);
  return {};
}

/// Copies the pieces of this process that lie in [begin, end) of the file, to or from a buffer that begins at
/// `begin`.
void StagingWindow::copy_cycle(const Access& access, std::byte* buffer, int64_t begin, int64_t end,
                               Rest& rest) const {
  const Data& data = access.data;
  const bool one_run = datatype::is_one_run(*data.type, data.count);
  std::byte* const memory = static_cast<std::byte*>(data.buffer) + data.type->true_lower_bound;
  int64_t copied = 0;
  file_.view_->for_each_run(rest.data_offset, rest.bytes, [&](int64_t offset, int64_t bytes) {
    if (offset >= end) return false;
    const int64_t part = std::min(bytes, end - offset);
    const auto length = static_cast<size_t>(part);
    const int64_t at = rest.done + copied;
    std::byte* const staged = buffer + (offset - begin);
    if (access.writing) {
      one_run ? copy_bytes(staged, memory + at, length)
              : datatype::pack(*data.type, data.buffer, at, staged, length);
    } else {
      one_run ? copy_bytes(memory + at, staged, length)
              : datatype::unpack(*data.type, data.buffer, at, staged, length);
    }
    copied += part;
    return part == bytes;
  });
  rest.data_offset += copied;
  rest.bytes -= copied;
  rest.done += copied;
}

Status StagingWindow::write_cycles(const Access& access, int64_t begin, int64_t end, Rest& rest) {
  Comm& comm = file_.comm_;
  int32_t error = 0;
  for (int64_t cycle = 0; begin < end; ++cycle) {
    // Cycles end at multiples of the buffer, so that calls write whole blocks.
    const int64_t cycle_end = std::min(end, (begin / buffer_bytes_ + 1) * buffer_bytes_);
    copy_cycle(access, buffer(cycle), begin, cycle_end, rest);
    chaos::at(chaos::Point::file_staged);
    HEARTH_TRY(barrier(comm));
    // The other processes store into this buffer again after the next barrier.
    if (comm.rank == 0 && error == 0) {
      const ShownCall shown(comm, "write", cycle_end - begin);
      const Unlocked unlocked;
      error = write_counted(file_.medium_, buffer(cycle), cycle_end - begin, begin).error;
    }
    begin = cycle_end;
  }
  // The broadcast also orders later reads after the write.
  HEARTH_TRY(coll::run<coll::bcast>(comm, &error, Count{1}, datatype::predefined_type(MPI_INT), 0));
  return error == 0 ? Status() : fail_for(error, "write to", file_.medium_.name);
}

Status StagingWindow::read_cycles(const Access& access, int64_t begin, int64_t end, Rest& rest) {
  Comm& comm = file_.comm_;
  const auto end_of = [&](int64_t from) { return std::min(end, (from / buffer_bytes_ + 1) * buffer_bytes_); };
  const auto read = [&](int64_t cycle, int64_t from) {
    const Unlocked unlocked;
    const os::Moved moved = read_counted(file_.medium_, buffer(cycle), end_of(from) - from, from);
    header().valid_bytes[cycle % 2] = moved.bytes;
    header().error[cycle % 2] = moved.error;
  };
  if (comm.rank == 0) read(0, begin);
  for (int64_t cycle = 0; begin < end; ++cycle) {
    const int64_t cycle_end = end_of(begin);
    HEARTH_TRY(barrier(comm));
    const int64_t valid_end = begin + header().valid_bytes[cycle % 2];
    const int32_t error = header().error[cycle % 2];
    copy_cycle(access, buffer(cycle), begin, std::min(cycle_end, valid_end), rest);
    if (error != 0) return fail_for(error, "read", file_.medium_.name);
    if (valid_end < cycle_end) break;  // the end of the file, on all processes
    begin = cycle_end;
    if (comm.rank == 0 && begin < end) read(cycle + 1, begin);
  }
  // Buffers are free again for the next access.
  return barrier(comm);
}

Status StagingWindow::move_by_messages(const Access& access, int64_t begin, int64_t end, const Rest& rest,
                                       bool& moved, int64_t& bytes) {
  Aggregation aggregation(file_.comm_, file_.medium_, buffer_bytes_);
  const Status outcome =
      aggregation.write(*file_.view_, access.data, {begin, end, rest.data_offset, rest.bytes}, moved);
  if (moved && outcome.ok()) bytes = rest.bytes;
  return outcome;
}

Status StagingWindow::move(const Access& access, Status checked, int64_t etypes, int64_t file_bytes,
                           bool& moved, int64_t& bytes) {
  moved = false;
  if (!in_use_) return checked;
  const KeptFailure refused(checked);
  Part own = {0, 0, 0, checked.ok() ? 0 : 1};
  Rest rest = {0, file_bytes, 0};
  if (checked.ok() && !file_.view_->data_offset(etypes, file_bytes, rest.data_offset)) own.refused = 1;
  if (own.refused == 0 && file_bytes > 0) own = part_of(rest.data_offset, file_bytes);
  int64_t begin = 0;
  int64_t end = 0;
  bool fits = false;
  HEARTH_TRY(plan(own, access.writing, begin, end, fits));
  HEARTH_TRY(refused.again());
  if (!fits) return {};
  if (!file_.local_) return move_by_messages(access, begin, end, rest, moved, bytes);
  moved = true;
  const Status outcome =
      access.writing ? write_cycles(access, begin, end, rest) : read_cycles(access, begin, end, rest);
  bytes = outcome.ok() || !access.writing ? rest.done : 0;
  return outcome;
}

}  // namespace hearth::io
