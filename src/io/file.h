// An open file of MPI (MPI 5.0 chapter 14): view, pointers, and the operations of its processes.
//
// Every data access ends in io/medium.h. State that processes share is on a Board in shared memory, so that
// no file is locked and no hidden file exists while all processes are on one machine. Collective writes
// whose pieces interleave without holes go through a staging window (io/window.cpp); all other accesses are
// independent.
// docs/design/io.md.
//
// All calls under the library's lock, which system calls release if they move more than a page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/agreement.h"
#include "io/board.h"
#include "io/medium.h"
#include "io/view.h"
#include "objects/comm.h"
#include "objects/info.h"
#include "p2p/request.h"

namespace hearth::io {

class StagingWindow;

/// The name without a file system prefix of ROMIO, such as "ufs:", if no file has the whole name.
std::string without_prefix(const char* filename);

/// Where an access begins.
enum class Pointer : uint8_t { explicit_offset, individual, shared, ordered };

/// A data access: one of the data calls of MPI 5.0 section 14.4.
struct Access {
  bool writing;
  Pointer pointer;
  bool collective;
  MPI_Offset offset;  // in etypes, for Pointer::explicit_offset
  Data data;
  bool nonblocking = false;
};

class OpenFile {
 public:
  /// A file that is not open yet. `comm` belongs to the file and outlives it; `local`: all its processes are
  /// on this machine. Throws std::bad_alloc.
  OpenFile(Comm& comm, bool local, int amode);
  /// Collective. Fails on all processes if it fails on one.
  Status open(const char* filename, const objects::Info* info);
  /// Collective. The file is closed even if an error is returned, except MPI_ERR_REQUEST: a process has
  /// incomplete accesses.
  Status close();
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& name() const { return medium_.name; }
  int amode() const { return amode_; }
  void set_hints(const objects::Info& info);

  // Size and device. All but bytes() are collective.
  Status bytes(MPI_Offset& bytes) const;
  Status set_bytes(MPI_Offset bytes);
  Status preallocate(MPI_Offset bytes);
  Status sync();

  // View and pointers. set_view, shared seeks and set_atomicity are collective.
  const View& view() const { return *view_; }
  /// `prepared`: the outcome of an earlier step of the call in this process.
  Status set_view(Status prepared, MPI_Offset displacement, Type& etype, Type& filetype,
                  const char* representation);
  /// Position in the file of an offset in etypes.
  Status byte_offset(MPI_Offset offset, MPI_Offset& displacement) const;
  Status position(MPI_Offset& offset) const;
  Status seek(MPI_Offset offset, int whence);
  Status shared_position(MPI_Offset& offset);
  Status seek_shared(MPI_Offset offset, int whence);
  bool atomic() const { return atomic_; }
  Status set_atomicity(bool atomic);

  // Data access.
  /// `bytes`: of the buffer's data that were moved, also with an error.
  Status run(const Access& access, int64_t& bytes);
  /// Non-blocking: the data are moved in the call, by io_uring or by a thread (io/queue.h).
  Status start(const Access& access, p2p::Request*& request);
  /// The two halves of a split collective; the second returns the outcome of the first.
  Status begin_split(const Access& access);
  Status end_split(const Access& access, int64_t& bytes);

 private:
  struct Split {
    bool writing;
    Pointer pointer;
    KeptFailure outcome;
    int64_t bytes;
  };

  // open.cpp
  Status open_medium();
  int open_descriptor(bool first);
  Status move_to_end();
  Status check_closable() const;
  Status make_view(MPI_Offset displacement, Type& etype, Type& filetype, const char* representation,
                   std::shared_ptr<const View>& view);
  Status check_same(int64_t value, const char* what) const;
  /// Runs `action`, which returns 0 or an errno, on rank 0 without the library's lock; all processes return
  /// its outcome.
  template <class Action>
  Status by_first(const char* verb, const Action& action) const;

  // queue.cpp
  Status start_queued(const Access& access, int64_t file_bytes, p2p::Request& request);

  // transfer.cpp
  Status run_access(const Access& access, int64_t& bytes);
  Status check(const Access& access, int64_t& file_bytes) const;
  Status locate(const Access& access, int64_t file_bytes, int64_t& etypes);
  Status ordered_offset(int64_t etypes, int64_t& offset);
  Status move(const Access& access, int64_t etypes, int64_t file_bytes, int64_t& bytes);
  bool needs_unlocking(int64_t bytes) const;
  Status move_converted(const Access& access, int64_t data_offset, int64_t& bytes);
  Status end_position(MPI_Offset& offset) const;
  Status seek_target(MPI_Offset offset, int whence, MPI_Offset current, MPI_Offset& target) const;
  Status check_random_access() const;
  Status outcome_of(const os::Moved& moved, bool writing) const;

  friend class StagingWindow;

  Comm& comm_;
  int amode_;
  Medium medium_;
  Board board_;
  std::shared_ptr<const View> view_;
  std::unique_ptr<StagingWindow> staging_;
  MPI_Offset pointer_ = 0;  // in etypes
  std::optional<Split> split_;
  bool local_ = true;
  bool atomic_ = false;
  int64_t staging_bytes_ = 0;    // the hint cb_buffer_size; 0: the default
  unsigned permissions_ = 0666;  // the hint file_perm
  int pending_ = 0;              // non-blocking accesses
  std::vector<int64_t> counts_;  // of ordered accesses: the etypes of each process
};

}  // namespace hearth::io
