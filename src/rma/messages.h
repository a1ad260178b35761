// One-sided operations by messages, for memory that the origin does not reach by loads and stores.
//
//   origin                                target, in any call of MPI
//   request: what, where, how much  --->  looks whether the memory is in its part
//   data, if any                    --->  carries it out
//                                   <---  reply: the data that it fetches, then one byte, its Outcome; only
//                                         that byte where nothing was done
//
// What one origin asks is carried out in its order; different origins do not wait for each other. Requests
// say where data lie in blocks of bytes, so no datatype travels; what has many blocks or bytes goes in
// several. The origin's data are packed when the call is made: its buffer is free at once.
//
// Memory that runs out at the target, inside any call of MPI there, must not fail that call. A request stays
// in the queue of unexpected messages until there is memory to read it. Data of one block are received into
// the window itself. Where there is no buffer for other data, they are dropped, and the reply says so: the
// origin's next synchronization fails with MPI_ERR_NO_MEM.
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

/// What a request begins with; blocks follow.
struct RequestHeader {
  Wanted wanted;
  int32_t tag;
  uint32_t op;           // the ABI's constant of the operation; of lock and unlock: 1 for exclusive
  uint32_t elements[2];  // the ABI's constants of what is combined: one type, or the members of a pair
  uint32_t blocks;
  uint32_t fetches;  // 1: the reply has what was there before
  uint32_t unused;
  int64_t bytes;  // of all blocks
};

class Messages {
 public:
  /// What an operation consists of, besides its blocks.
  struct Operation {
    Wanted wanted;
    int target;
    const objects::Op* op = nullptr;
    const datatype::Type* element = nullptr;
    const std::byte* data = nullptr;  // packed: as many bytes as the blocks have, twice as many to compare
    bool exclusive = false;
    // Where the reply's data go; nullptr: they do not.
    void* result = nullptr;
    datatype::Type* result_type = nullptr;
  };

  explicit Messages(Window& window);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// From here on this process answers.
  void listen() { listening_ = true; }
  /// No more. Pre: all operations of this process are over; not within advance().
  void close();
  /// Asks a target; blocks are addresses in its memory. `request`: to be set, or nullptr.
  Status ask(const Operation& operation, std::span<const datatype::Block> blocks, p2p::Request** request);
  /// Goes on; never blocks.
  void advance();
  /// Operations of this process that have no reply yet.
  int pending(int rank) const { return pending_[static_cast<size_t>(rank)]; }
  int pending() const { return pending_in_all_; }
  /// For who waits for these: one of what is awaited.
  const p2p::Request* awaited(int rank) const;
  /// The first that went wrong since the last call, in words.
  Status take_trouble();

 private:
  /// The user's request: over when so many replies have come.
  struct Awaited {
    p2p::Request* request;
    int replies;
    Status outcome;
  };
  struct Asked;
  struct Heard;

  Status ask_once(const Operation& operation, std::span<const datatype::Block> blocks, int64_t offset,
                  const std::shared_ptr<Awaited>& awaited);
  Status ask_in_portions(const Operation& operation, std::span<const datatype::Block> blocks,
                         const std::shared_ptr<Awaited>& awaited);
  void send_data(Asked& asked);
  void finish(Asked& asked);
  Status outcome_of(const Asked& asked) const;
  Status await_room();
  void hear();
  bool take_request(PeerIndex from, int64_t bytes);
  bool read(Heard& heard);
  bool lies_in_own(const Heard& heard) const;
  bool carry_out(Heard& heard);
  bool reply(Heard& heard);
  Outcome perform(Heard& heard);
  bool perform_lock(Heard& heard);
  p2p::Engine& engine() const { return p2p::engine(); }

  Window& window_;
  objects::Comm& comm_;
  // Lists, because an element moves from one to another without an allocation.
  std::list<Asked> asked_;
  std::vector<int> pending_;  // by rank
  int pending_in_all_ = 0;
  int64_t pending_bytes_ = 0;
  int next_tag_ = 0;
  int trouble_class_ = 0;
  int trouble_rank_ = 0;

  bool listening_ = false;
  std::vector<std::list<Heard>> heard_;  // by rank
  int heard_in_all_ = 0;
  std::list<Heard> answered_;  // whose replies are not gone yet
};

}  // namespace hearth::rma
