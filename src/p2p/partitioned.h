// Partitioned communication (MPI 5.0 section 4.2): one buffer, sent in partitions as they become ready.
//
// The two sides match once, when their requests are created: the sender sends an offer, which only
// partitioned receives match. It contains a newly allocated context id, the channel, and the layout of the
// partitions. From then on each partition of the sender is a message in that context, with the number of the
// partition as its tag. The receiver, whose partitions may be others, posts a receive for each partition of
// the sender.
//
//   sender    |  0  |  1  |  2  |  3  |     four messages
//   receiver  |   0    |  1   |   2   |     1 has arrived with messages 1 and 2
//
// A death or revocation that ends the operations of the communicator ends these too: FailureRecord::adopt()
// records which communicator the channel's context belongs to. A send of which some partitions are not ready
// ends once they are.
//
// Used under the library's lock, on requests of MPI_Psend_init and MPI_Precv_init.
#pragma once

#include "base/contexts.h"
#include "base/counts.h"
#include "base/status.h"
#include "p2p/engine.h"

namespace hearth::p2p {

/// The sender's offer, sent once.
struct PartitionOffer {
  uint32_t context = 0;  // of the channel
  int32_t partitions = 0;
  int64_t partition_bytes = 0;
};

/// The buffer of one side: `partitions` times `count` elements.
struct PartitionedBuffer {
  void* address;
  int partitions;
  Count count;
  datatype::Type* type;
};

/// Create inactive persistent requests. `key` is the communicator's context, the other process and the tag;
/// the process may be MPI_PROC_NULL, never MPI_ANY_SOURCE. Requests of one key match in the order of these
/// calls.
Status make_partitioned_send(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                             Request*& request);
Status make_partitioned_receive(Engine& engine, const PartitionedBuffer& buffer, const MatchKey& key,
                                Request*& request);

/// Sends partitions first to last. MPI_ERR_REQUEST unless the request is an active partitioned send,
/// MPI_ERR_ARG for a partition that does not exist or is ready already. On an error nothing is sent.
Status send_partitions(Request& request, int first, int last);
/// Whether a partition of an active receive is in its buffer. MPI_ERR_REQUEST unless the request is a
/// partitioned receive. Does not progress.
Status find_arrived(const Request& request, int partition, bool& arrived);

}  // namespace hearth::p2p
