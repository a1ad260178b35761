#include "io/queue.h"

#include <cerrno>
#include <memory>
#include <new>

#include "base/atomic.h"
#include "base/os_queue.h"
#include "base/os_ring.h"
#include "base/os_wait.h"
#include "datatype/lifetime.h"
#include "io/errors.h"
#include "io/file.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"
#include "profile/recorder.h"
#include "shm/node.h"
#include "shm/wait.h"

namespace hearth::io {
namespace {

constexpr int64_t kQueuedBytesMin = 32 * 1024;
// From this length on the workers of the kernel are about as fast as a thread or faster (64 MiB on ext4 and
// tmpfs, two processors, November 2026).
constexpr int64_t kRingBytesMin = 512 * 1024;

os::JobThread the_thread;
os::FileRing the_ring;  // under the library's lock

/// The state of the request of a non-blocking access.
class Transfer final : public os::Job {
 public:
  Transfer(Medium& medium, std::shared_ptr<const View> view, int64_t data_offset, bool writing,
           const Data& data, int& pending)
      : medium_(medium),
        view_(std::move(view)),
        data_offset_(data_offset),
        writing_(writing),
        data_(data),
        pending_(&pending) {
    datatype::retain(*data.type);
    ++*pending_;
  }
  ~Transfer() override {
    datatype::release(*data_.type);
    --*pending_;
  }

  // In the thread. Wakes the sleeping rank after it has published the result.
  void run() override {
    try {
      moved_ = move_data(medium_, *view_, data_offset_, writing_, data_);
    } catch (const std::bad_alloc&) {
      moved_ = {0, ENOMEM};
    }
    if (begun_ns_ != 0) ended_ns_ = os::now_ns();
    const shm::WakeWord word = wake_;
    // Pairs with the load in done(): publishes the result and the data.
    atomic::store_release(done_, 1u);
    word.wake();
  }
  bool done() const { return atomic::load_acquire(done_) != 0; }
  void run_now() { run(); }

  /// Submits the transfer to io_uring if memory and file are one run each. False: not submitted.
  bool submit() {
    const int64_t bytes = data_.bytes();
    if (!view_->contiguous() || !datatype::is_one_run(*data_.type, data_.count) || !the_ring.open())
      return false;
    const int64_t begin = view_->file_offset(data_offset_);
    if (writing_ && begin + bytes > os::file_length_max()) return false;
    rest_ = {writing_, medium_.descriptor.number(),
             static_cast<std::byte*>(data_.buffer) + data_.type->true_lower_bound, bytes, begin};
    return the_ring.submit(rest_, tag());
  }
  /// Handles a completion of the ring; submits the rest after a short transfer.
  static void take(uint64_t tag, int32_t result) {
    reinterpret_cast<Transfer*>(static_cast<uintptr_t>(tag))->continue_after(result);
  }
  int64_t bytes() const { return moved_.bytes; }
  Status outcome() const {
    return moved_.error == 0 ? Status()
                             : fail_for(moved_.error, writing_ ? "write to" : "read", medium_.name);
  }
  void set_wake(shm::WakeWord word) { wake_ = word; }
  void describe(uint32_t context, p2p::WaitDiagnostics& note) const {
    note.file(context, writing_ ? "write" : "read", static_cast<uint64_t>(data_.bytes()));
  }
  void tell_profile() {
    if (profile::process_recorder == nullptr || ended_ns_ == 0) return;
    profile::process_recorder->accessed_file(writing_, static_cast<uint64_t>(moved_.bytes),
                                             ended_ns_ - begun_ns_);
    ended_ns_ = 0;
  }

 private:
  uint64_t tag() const { return reinterpret_cast<uintptr_t>(this); }

  void continue_after(int32_t result) {
    // When the submitting thread ends, the kernel cancels its transfers that have not begun.
    const bool again = result == -EINTR || result == -EAGAIN || result == -ECANCELED;
    if (result > 0) {
      count_moved(medium_, writing_, result);
      moved_.bytes += result;
      rest_.memory = static_cast<std::byte*>(rest_.memory) + result;
      rest_.offset += result;
      rest_.bytes -= result;
    } else if (result < 0 && !again) {
      moved_.error = -result;
    }
    const bool ended = moved_.error != 0 || rest_.bytes == 0 || result == 0;
    if (!ended && the_ring.submit(rest_, tag())) return;
    // No room in the ring: this thread moves the rest.
    if (!ended) finish_by_calls();
    if (begun_ns_ != 0) ended_ns_ = os::now_ns();
    done_ = 1;
  }
  void finish_by_calls() {
    auto* const memory = static_cast<std::byte*>(rest_.memory);
    const os::Moved moved = writing_ ? write_counted(medium_, memory, rest_.bytes, rest_.offset)
                                     : read_counted(medium_, memory, rest_.bytes, rest_.offset);
    moved_.bytes += moved.bytes;
    moved_.error = moved.error;
  }

  Medium& medium_;
  std::shared_ptr<const View> view_;
  int64_t data_offset_;
  bool writing_;
  Data data_;
  int* pending_;  // of the file
  shm::WakeWord wake_;
  os::Moved moved_;
  os::RingTransfer rest_ = {};  // in the ring: what is not moved yet
  uint64_t begun_ns_ = profile::process_recorder != nullptr ? os::now_ns() : 0;
  uint64_t ended_ns_ = 0;
  uint32_t done_ = 0;
};

const p2p::RequestHooks transfer_hooks = {
    .advance =
        [](p2p::Request& request) {
          uint64_t tag;
          int32_t result;
          while (the_ring.poll(tag, result)) Transfer::take(tag, result);
          request.complete = static_cast<Transfer*>(request.state)->done();
        },
    .start = nullptr,
    .query =
        [](p2p::Request& request, MPI_Status& status) {
          Transfer& transfer = *static_cast<Transfer*>(request.state);
          surroundings().set_status_bytes(status, transfer.bytes());
          transfer.tell_profile();
          return transfer.outcome();
        },
    .cancel = nullptr,
    .release =
        [](p2p::Request& request) {
          delete static_cast<Transfer*>(request.state);
          return Status();
        },
    .describe =
        [](const p2p::Request& request, p2p::WaitDiagnostics& note) {
          static_cast<const Transfer*>(request.state)->describe(request.comm->context, note);
        },
};

/// An access that was done in the call: `state` is the number of bytes.
const p2p::RequestHooks done_hooks = {
    .advance = nullptr,
    .start = nullptr,
    .query =
        [](p2p::Request& request, MPI_Status& status) {
          surroundings().set_status_bytes(status, request.received_bytes);
          return Status();
        },
    .cancel = nullptr,
    .release = nullptr,
    .describe = nullptr,
};

}  // namespace

void stop_queue() {
  the_thread.stop();
  while (the_ring.in_flight() > 0) {
    uint64_t tag;
    int32_t result;
    the_ring.wait();
    while (the_ring.poll(tag, result)) Transfer::take(tag, result);
  }
}

Status OpenFile::start(const Access& access, p2p::Request*& request) {
  int64_t file_bytes = 0;
  HEARTH_TRY(check(access, file_bytes));
  request = p2p::engine().requests().create(p2p::RequestKind::one_sided);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  const bool queued =
      view_->representation().native() && !atomic_ && medium_.facts.seekable && file_bytes >= kQueuedBytesMin;
  Status begun;
  if (queued) {
    begun = start_queued(access, file_bytes, *request);
  } else {
    int64_t bytes = 0;
    Access independent = access;
    independent.collective = false;
    independent.nonblocking = true;
    begun = run(independent, bytes);
    request->hooks = &done_hooks;
    request->received_bytes = bytes;
    request->complete = true;
  }
  if (!begun.ok()) {
    p2p::engine().requests().destroy(request);
    request = nullptr;
  }
  return begun;
}

Status OpenFile::start_queued(const Access& access, int64_t file_bytes, p2p::Request& request) {
  int64_t etypes = 0;
  HEARTH_TRY(locate(access, file_bytes, etypes));
  int64_t data_offset = 0;
  if (!view_->data_offset(etypes, file_bytes, data_offset))
    return fail(MPI_ERR_ARG, "offset %lld in this view is beyond 2^63 bytes", static_cast<long long>(etypes));
  auto* const transfer =
      new (std::nothrow) Transfer(medium_, view_, data_offset, access.writing, access.data, pending_);
  if (transfer == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a non-blocking access");
  transfer->set_wake(shm::WakeWord(shm::node().segment(), shm::node().local_rank()));
  request.hooks = &transfer_hooks;
  request.state = transfer;
  const bool by_ring = medium_.queue == QueueChoice::ring ||
                       (medium_.queue == QueueChoice::automatic && file_bytes >= kRingBytesMin);
  const bool queued = (by_ring && transfer->submit()) || the_thread.post(*transfer);
  if (queued) {
    p2p::engine().requests().add_hooked(request);
  } else {
    transfer->run_now();
    request.complete = true;
  }
  return {};
}

}  // namespace hearth::io
