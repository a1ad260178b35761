// The transport between machines: packets over libfabric, on any network that libfabric supports.
//
//   packet on the wire   | key 8 | from 4 | number 4 | taken 4 | unmatched KiB 4 | header 16 | payload ... |
//
// Packets use libfabric's message interface, into buffers that the receiver has posted in advance. The engine
// interprets and matches them like packets of a ring, so wildcards see one order per sender over any
// transport. Providers match packets of a pair in order, but some complete long ones later. So packets are
// numbered, and an early one waits for those before it. Whole buffers use the tagged interface, from the
// sender's memory directly to the receiver's; the tag contains sender and number.
//
// Memory is bounded. A sender may have kWindow packets in flight to one process. Each packet in the opposite
// direction acknowledges packets (`taken`); if there is none, a separate packet does (kAcknowledgementKind).
// If the window is full, claim() returns nullptr. The number of posted receive buffers does not depend on the
// number of processes.
//
// Short packets that wait to be sent, and short answers during one poll, are combined into one message of
// libfabric, each on a multiple of 8 bytes. Their numbers follow from the first one:
//
//   | key 8 | from 4 | number 4 | taken 4 | unmatched KiB 4 | header 16 | payload | header 16 | payload ... |
//
// libfabric connects to a process when the first packet is sent there.
//
// Under the library's lock. All memory is private to this process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/pool.h"
#include "transport/fabric.h"
#include "transport/fabric_buffers.h"
#include "transport/fabric_endpoint.h"
#include "transport/fabric_liveness.h"

namespace hearth::transport {

class FabricTransport final : public Network, private BufferTransfers {
 public:
  static Status open(const NetworkSetup& setup, std::unique_ptr<FabricTransport>& transport);
  ~FabricTransport() override;

  const char* name() const override { return "fabric"; }
  size_t packet_bytes_max() const override { return packet_bytes_max_; }
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override;
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override;
  int poll(PacketHandler handler, void* receiver) override;
  bool quiet() const override { return under_way_ == 0 && waiting_.empty(); }
  uint32_t unexpected_kib_at(PeerIndex to) override { return peer(to).unexpected_kib_there; }
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override;

  BufferTransfers& buffer_transfers() override { return *this; }

  void watch(PeerIndex index) override;
  bool is_gone(PeerIndex index) override { return peer(index).lost; }

  // No bounce buffers: no memory is shared with processes on other machines. No sleep: another machine cannot
  // wake this process, so the router sleeps for short times only.

  std::span<const std::byte> address() const override { return address_; }
  void introduce(PeerIndex index, std::span<const std::byte> address) override;
  const std::string& way() const override { return endpoint_.way(); }
  void leave() override;
  bool has_left() override;
  void rejoin() override;

 private:
  bool reaches(PeerIndex) const override { return true; }
  bool await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
             const PacketHeader& over) override;
  bool send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
            const PacketHeader& over) override;

  /// The header on the wire.
  struct Wire {
    uint64_t key;
    uint32_t from;
    uint32_t number;  // packets of this pair before this one
    uint32_t taken;   // acknowledgement: packets from the receiver of this one that its sender has taken
    uint32_t unmatched_kib;  // of those, unmatched
    PacketHeader header;
  };
  static_assert(sizeof(Wire) == kNetworkHeaderBytes);

  // Packet kinds of the transport itself. They do not count in the window and have no numbers.
  static constexpr uint8_t kAcknowledgementKind = 0;  // acknowledgement only, as in every Wire
  // Shutdown: no more packets will come. The cookie numbers these announcements.
  static constexpr uint8_t kLeavesKind = 0x3e;
  static constexpr uint8_t kStays = 1;  // its flag: withdraws the announcement

  static constexpr uint32_t kWindow = 64;
  static constexpr int kPosted = 64;
  // Longest packet that is combined with others: copying it takes less time than sending it.
  static constexpr size_t kTogetherBytesMax = 1024;
  // Offset of the next packet's header after `bytes` bytes.
  static constexpr size_t place_behind(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
  // Maximum number of events per poll.
  static constexpr size_t kBatch = 16;

  using Operation = FabricOperation;
  using Buffer = FabricBuffer;
  /// A user buffer in a whole-buffer transfer.
  struct PostedBuffer : Operation {
    PostedBuffer() = default;
    uint32_t slot = 0;
    uint32_t alive = 0;
    size_t bytes = 0;
    PacketHeader over = {};
    Fid<fid_mr> registration;
  };
  struct Peer {
    std::vector<std::byte> address;  // port of the connection monitor, then libfabric's address
    fi_addr_t number = FI_ADDR_UNSPEC;
    uint32_t sent = 0;                // packets to it
    uint32_t taken_there = 0;         // of those, acknowledged by it
    uint32_t taken = 0;               // packets from it
    uint32_t taken_acknowledged = 0;  // of those, acknowledged to it
    uint32_t leaves_after = 0;        // with `leaves`: packets that it has sent in all
    uint32_t announced_after = 0;     // with `announced`: packets to it that the announcement counted
    uint32_t announcements = 0;       // to it
    uint32_t announcement = 0;        // number of its last one
    uint32_t unexpected_kib_there = 0;
    uint32_t under_way = 0;  // packets and buffers to it whose sends are pending
    int64_t unexpected_bytes = 0;
    Buffer* queue = nullptr;  // packets that libfabric has not accepted yet, oldest first
    Buffer* queue_last = nullptr;
    std::vector<Buffer*> early;        // packets from it that arrived ahead of their predecessors
    bool waiting = false;              // in waiting_
    bool watched = false;              // by the connection monitor
    bool acknowledgement_due = false;  // an acknowledgement is due
    bool talks = false;                // packets have been exchanged
    bool leaves = false;               // it has announced its shutdown
    bool announced = false;            // this process has announced its own to it
    bool lost = false;
    const char* lost_while_left = nullptr;  // why it was lost, while this is not reported

    bool has_left() const { return leaves && taken == leaves_after; }
  };
  explicit FabricTransport(const NetworkSetup& setup)
      : setup_(setup),
        buffers_(endpoint_),
        liveness_(setup_.node_of, setup.self, setup.key),
        peers_(static_cast<size_t>(setup.size)) {}
  Status open();
  void choose_lengths();
  Status connect(PeerIndex to);
  Peer& peer(PeerIndex index) { return peers_[static_cast<size_t>(index)]; }

  PostedBuffer* post_buffer(Operation::Kind kind, PeerIndex index, const std::byte* buffer, size_t bytes,
                            const PacketHeader& over);

  bool post_receive(Buffer* buffer);
  bool post(PeerIndex to, Buffer* buffer);
  void send_or_queue(PeerIndex to, Buffer* buffer);
  bool send_queue(PeerIndex to);
  bool join(Buffer& last, const Buffer& next) const;
  void list_waiting(PeerIndex to);
  void serve_waiting();
  bool send_control(PeerIndex to, uint8_t kind);
  int take(Buffer* buffer, size_t bytes, PacketHandler handler, void* receiver);
  static bool is_sound(const Buffer& buffer);
  void note_announcement(Peer& from, const Wire& wire);
  /// Whether the packet withdraws an announcement. If it does not arrive, its receiver is not lost: it may
  /// have ended in good order, and this process may not have received its own announcement yet.
  static bool withdraws(const Buffer& buffer) {
    const PacketHeader& header = reinterpret_cast<const Wire*>(buffer.data)->header;
    return header.kind() == kLeavesKind && (header.flags() & kStays) != 0;
  }
  int hand_over(const Buffer& buffer, PacketHandler handler, void* receiver);
  void repost(Buffer* buffer);
  int end(Operation& operation, size_t bytes, PacketHandler handler, void* receiver);
  void end_with_error();
  void check_liveness();
  void lose_machine_of(PeerIndex index, const char* why);
  void lose(PeerIndex index, const char* why);
  void announce();
  bool send_announcement(PeerIndex to, uint8_t flags);
  void count_out(PeerIndex index);
  void count_left(PeerIndex index);
  void refuse(const char* what);

  const NetworkSetup setup_;
  // Destroyed in reverse order: registrations of memory before the endpoint's domain.
  FabricEndpoint endpoint_;
  FabricBuffers buffers_;
  Pool<PostedBuffer> posted_;
  FabricLiveness liveness_;
  std::vector<std::byte> address_;
  size_t inject_bytes_max_ = 0;
  size_t packet_bytes_max_ = kNetworkPacketBytesUsual;

  std::vector<Peer> peers_;
  std::vector<PeerIndex> waiting_;  // with a queue or a due acknowledgement
  std::vector<Buffer*> unposted_;   // receive buffers that could not be posted yet
  size_t unreplaced_ = 0;           // receive buffers in Peer::early for which no memory was left
  Buffer* claimed_ = nullptr;       // returned by claim()
  size_t under_way_ = 0;            // packets and buffers whose sends are pending
  uint64_t leaving_since_ns_ = 0;   // since leave(); 0: in use
  bool polling_ = false;            // inside poll(): short answers wait until its end
  bool refusal_reported_ = false;
};

}  // namespace hearth::transport
