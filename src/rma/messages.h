// One-sided operations by messages, for memory that the origin does not reach by loads and stores.
//
//   origin                                target, in any call of MPI
//   request: operation, place, length --->  checks that the memory is in its part
//   data, if any                      --->  performs the operation
//                                     <---  reply: the fetched data, then one byte, its Outcome; if nothing
//                                           was done, that byte alone
//
// The requests of one origin are performed in order; different origins do not wait for each other. Requests
// describe data as blocks of bytes, so no datatype is sent; many blocks or bytes are split over several
// requests. The origin's data are packed during the call, so its buffer is free afterwards.
//
// If the target runs out of memory, inside any call of MPI there, that call must not fail. A request stays in
// the unexpected queue until there is memory to read it. Data of one block are received into the window
// itself. If there is no buffer for other data, they are dropped, and the reply reports it: the origin's next
// synchronization fails with MPI_ERR_NO_MEM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "datatype/blocks.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/op.h"
#include "p2p/engine.h"

namespace hearth::rma {

class Window;

// Tags in the window's own communicator.
constexpr int kPostTag = 0;
constexpr int kCompleteTag = 1;
constexpr int kRequestTag = 2;
constexpr int kFirstOperationTag = 16;  // of data and replies

enum class Wanted : uint32_t { put, get, accumulate, compare_and_swap, lock, unlock };

/// The last byte of a reply. A lock is refused because a member has died that may hold it.
enum class Outcome : uint8_t { done = 1, refused, no_memory };

/// Header of a request; blocks follow.
struct RequestHeader {
  Wanted wanted;
  int32_t tag;
  uint32_t op;           // the ABI's constant of the operation; of lock and unlock: 1 for exclusive
  uint32_t elements[2];  // the ABI's constants of the element type: one type, or the members of a pair
  uint32_t blocks;
  uint32_t fetches;  // 1: the reply contains the previous data
  uint32_t unused;
  int64_t bytes;  // of all blocks
};

class Messages {
 public:
  /// An operation without its blocks.
  struct Operation {
    Wanted wanted;
    int target;
    const objects::Op* op = nullptr;
    const datatype::Type* element = nullptr;
    const std::byte* data = nullptr;  // packed: as many bytes as the blocks have, twice as many to compare
    bool exclusive = false;
    // Destination of the reply's data; nullptr: none.
    void* result = nullptr;
    datatype::Type* result_type = nullptr;
  };

  explicit Messages(Window& window);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// Starts to serve requests.
  void start_service() { listening_ = true; }
  /// Stops serving. Pre: all operations of this process have completed; not within advance().
  void close();
  /// Sends requests to a target; blocks are addresses in its memory. `request`: to be set, or nullptr.
  Status ask(const Operation& operation, std::span<const datatype::Block> blocks, p2p::Request** request);
  /// Advances requests in both directions; never blocks.
  void advance();
  /// Operations of this process that have no reply yet.
  int pending(int rank) const { return pending_[static_cast<size_t>(rank)]; }
  int pending() const { return pending_in_all_; }
  /// A pending reply of this rank, or of any rank if it is below 0, for the wait diagnostics; nullptr: none.
  const p2p::Request* awaited(int rank) const;
  /// Returns the deferred error: the first one since the last call.
  Status take_deferred_error();

 private:
  /// The user's request. It completes after this number of further replies.
  struct Awaited {
    p2p::Request* request;
    int replies;
    Status outcome;
  };
  struct RmaRequest;
  struct RmaService;

  Status ask_once(const Operation& operation, std::span<const datatype::Block> blocks, int64_t offset,
                  const std::shared_ptr<Awaited>& awaited);
  Status ask_in_portions(const Operation& operation, std::span<const datatype::Block> blocks,
                         const std::shared_ptr<Awaited>& awaited);
  void send_data(RmaRequest& rma_request);
  void finish(RmaRequest& rma_request);
  Status outcome_of(const RmaRequest& rma_request) const;
  Status await_room();
  void poll_requests();
  bool take_request(PeerIndex from, int64_t bytes);
  bool read(RmaService& service);
  bool lies_in_own(const RmaService& service) const;
  bool carry_out(RmaService& service);
  bool reply(RmaService& service);
  Outcome perform(RmaService& service);
  bool perform_lock(RmaService& service);
  p2p::Engine& engine() const { return p2p::engine(); }

  Window& window_;
  objects::Comm& comm_;
  // Lists, because an element moves from one to another without an allocation.
  std::list<RmaRequest> rma_requests_;
  std::vector<int> pending_;  // by rank
  int pending_in_all_ = 0;
  int64_t pending_bytes_ = 0;
  int next_tag_ = 0;
  int deferred_error_class_ = 0;
  int deferred_error_rank_ = 0;

  bool listening_ = false;
  std::vector<std::list<RmaService>> services_;  // by rank
  int services_in_all_ = 0;
  std::list<RmaService> answered_;  // served, with a pending reply
};

}  // namespace hearth::rma
