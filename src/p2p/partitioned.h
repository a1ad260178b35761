// Partitioned messages (MPI 5.0 section 4.2): one buffer, sent piece by piece as its parts become ready.
//
// The two sides find each other once, when their requests are made: the sender offers a channel, which is a
// context of its own and the shape of its partitions, in a message that only partitioned receives match. From
// then on each partition of the sender is a message of that context whose tag is the partition's number. The
// receiver, whose partitions may be others, posts a receive for each of the sender's.
//
//   sender    |  0  |  1  |  2  |  3  |     four messages
//   receiver  |   0    |  1   |   2   |     1 has arrived with messages 1 and 2
//
// What ends the operations of the communicator, a death or a revocation, ends these too: the engine knows
// whose the channel's context is (Engine::adopt). A send whose partitions are not all ready ends once they
// are.
//
// Used under the library's lock, on requests that MPI_Psend_init and MPI_Precv_init made.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "p2p/engine.h"

namespace hearth::p2p {

/// Offers travel in the context of their communicator with this bit, which the counted contexts never reach.
constexpr uint32_t kOfferContext = uint32_t{1} << 31;

/// What the sender tells the receiver, once.
struct PartitionOffer {
  uint32_t context = 0;  // of the channel
  int32_t partitions = 0;
  int64_t partition_bytes = 0;
};

/// What one side says of its buffer: `partitions` times `count` elements.
struct PartitionedBuffer {
  void* address;
  int partitions;
  Count count;
  datatype::Type* type;
};

/// Inactive persistent requests. `key` is the communicator's context, the other process and the tag; the
/// process may be MPI_PROC_NULL, never MPI_ANY_SOURCE. Requests of one key match in the order of these calls.
Status make_partitioned_send(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                             Request*& request);
Status make_partitioned_receive(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                                Request*& request);

/// Sends partitions first to last. MPI_ERR_REQUEST unless the request is an active partitioned send,
/// MPI_ERR_ARG for a partition that is none or is ready already; then nothing is sent.
Status send_partitions(Request& request, int first, int last);
/// Whether a partition of an active receive is in its buffer. MPI_ERR_REQUEST unless the request is a
/// partitioned receive. Does not progress.
Status find_arrived(const Request& request, int partition, bool& arrived);

}  // namespace hearth::p2p
