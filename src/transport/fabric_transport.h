// The transport between machines: packets over libfabric, which brings them over whatever network there is.
//
//   packet on the way   | key 8 | from 4 | number 4 | taken 4 | unmatched KiB 4 | header 16 | payload ... |
//
// Packets go by libfabric's message interface into buffers that the receiver has posted beforehand: what a
// packet means, and in which order messages match, is decided by the engine as for packets in a ring, so that
// wildcards see one order for each sender whichever way it comes. Providers match packets of a pair in order,
// but some have the longer ones ready later: they are numbered, and wait here for those before them. Whole
// buffers go by the tagged interface, straight from the sender's memory to the receiver's; the tag names
// sender and number.
//
// Memory is bounded. A sender may have kWindow packets on the way to one process that this has not taken; how
// many have been, each packet tells that goes back, and where none does one of its own (kTellsKind). Who
// cannot send more is told so by claim(). The receiver's posted buffers are as many whatever the number of
// processes.
//
// Short packets that wait for their way, and short answers given during one poll, go in one message of
// libfabric's, each on a multiple of 8 bytes; the numbers follow from the first one's:
//
//   | key 8 | from 4 | number 4 | taken 4 | unmatched KiB 4 | header 16 | payload | header 16 | payload ... |
//
// A way to a process is made by libfabric when the first packet goes there.
//
// Under the library's lock. All memory is this process's own.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <string>
#include <vector>

#include "base/pool.h"
#include "transport/fabric_library.h"
#include "transport/guard.h"
#include "transport/network.h"

namespace hearth::transport {

/// Closes what libfabric has opened.
struct CloseFid {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using Fid = std::unique_ptr<Object, CloseFid>;

class FabricTransport final : public Network {
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

  bool carries_buffers(PeerIndex) const override { return true; }
  bool await_buffer(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
                    const PacketHeader& over) override;
  bool send_buffer(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
                   const PacketHeader& over) override;

  void watch(PeerIndex index) override;
  bool is_gone(PeerIndex index) override { return peer(index).lost; }

  // No cells: no memory is shared with processes elsewhere. No sleep: nobody wakes a process from another
  // machine, the router sleeps in short naps.

  std::span<const std::byte> address() const override { return address_; }
  void introduce(PeerIndex index, std::span<const std::byte> address) override;
  const std::string& way() const override { return way_; }
  void leave() override;
  bool has_left() override;

 private:
  /// What stands in front of each packet.
  struct Wire {
    uint64_t key;
    uint32_t from;
    uint32_t number;         // packets of this pair before this one
    uint32_t taken;          // packets of the receiver of this one that its sender has taken so far
    uint32_t unmatched_kib;  // of those, what waits for a receive
    PacketHeader header;
  };
  static_assert(sizeof(Wire) == kNetworkHeaderBytes);

  // Kinds of packets that are the transport's own. They count in no window and have no number of their own.
  static constexpr uint8_t kTellsKind = 0;      // nothing but what stands in every Wire
  static constexpr uint8_t kLeavesKind = 0x3e;  // and that no more will come

  static constexpr uint32_t kWindow = 64;
  static constexpr int kPosted = 64;
  // Taken from the system at a time.
  static constexpr int kBuffersEach = 16;
  // Polls without an event between two looks at the guard.
  static constexpr uint32_t kPollsPerGuard = 512;
  // Who leaves well says so by a packet, which may come after its end is seen.
  static constexpr uint64_t kLeaveNs = 500'000'000;
  // Machines that are watched although this process has not talked with them.
  static constexpr size_t kMachinesWatchedMax = 64;
  // Longest packet that goes together with others: copying it takes less than sending it.
  static constexpr size_t kTogetherBytesMax = 1024;
  // Where the header of the next packet is, behind so many bytes.
  static constexpr size_t place_behind(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
  // Events that one poll takes at most.
  static constexpr size_t kBatch = 16;

  /// What libfabric gives back when something is over. Its own part is first.
  struct Operation {
    enum class Kind : uint8_t { receive, send, buffer_comes, buffer_leaves };
    fi_context2 own = {};
    Kind kind = Kind::receive;
    PeerIndex peer = 0;
  };
  struct Buffer : Operation {
    Buffer* next = nullptr;
    std::byte* data = nullptr;  // buffer_bytes()
    void* registration = nullptr;
    uint32_t bytes = 0;
  };
  /// A buffer of the program that libfabric reads or writes just now.
  struct Lent : Operation {
    Lent() = default;
    uint32_t slot = 0;
    uint32_t alive = 0;
    size_t bytes = 0;
    PacketHeader over = {};
    Fid<fid_mr> registration;
  };
  struct Peer {
    std::vector<std::byte> address;  // until it is known to libfabric
    fi_addr_t number = FI_ADDR_UNSPEC;
    uint32_t sent = 0;          // packets to it
    uint32_t taken_there = 0;   // of those, as it says
    uint32_t taken = 0;         // packets from it
    uint32_t taken_told = 0;    // as it knows
    uint32_t leaves_after = 0;  // packets from it before it left, where `leaves`
    uint32_t unexpected_kib_there = 0;
    uint32_t under_way = 0;  // packets and buffers to it that have not left yet
    int64_t unexpected_bytes = 0;
    Buffer* queue = nullptr;  // packets that libfabric has not taken yet, oldest first
    Buffer* queue_last = nullptr;
    std::vector<Buffer*> early;  // packets from it that came before one that goes first
    bool waiting = false;        // in waiting_
    bool watched = false;        // by the guard
    bool to_tell = false;        // it must hear what we have taken
    bool talks = false;          // a packet went there or came from there
    bool leaves = false;         // it will send no more
    bool lost = false;

    bool has_left() const { return leaves && taken == leaves_after; }
  };
  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    std::vector<Buffer> buffers;
    Fid<fid_mr> registration;
  };

  explicit FabricTransport(const NetworkSetup& setup)
      : setup_(setup), peers_(static_cast<size_t>(setup.size)) {}
  Status open_endpoint();
  Status open_objects();
  void choose_lengths();
  Status connect(PeerIndex to);
  Peer& peer(PeerIndex index) { return peers_[static_cast<size_t>(index)]; }

  Status take_slab();
  Buffer* take_buffer();
  void give_buffer(Buffer* buffer);
  bool registers() const { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }
  bool register_memory(const void* memory, size_t bytes, Fid<fid_mr>& registration);
  Lent* lend(Operation::Kind kind, PeerIndex index, const std::byte* buffer, size_t bytes,
             const PacketHeader& over);

  bool post_receive(Buffer* buffer);
  bool post(PeerIndex to, Buffer* buffer);
  void send_or_queue(PeerIndex to, Buffer* buffer);
  bool send_queue(PeerIndex to);
  bool join(Buffer& last, const Buffer& next) const;
  void list_waiting(PeerIndex to);
  void serve_waiting();
  bool tell(PeerIndex to, uint8_t kind);
  int take(Buffer* buffer, size_t bytes, PacketHandler handler, void* receiver);
  static bool is_sound(const Buffer& buffer);
  int hand_over(const Buffer& buffer, PacketHandler handler, void* receiver);
  void repost(Buffer* buffer);
  int end(Operation& operation, size_t bytes, PacketHandler handler, void* receiver);
  void end_with_error();
  void look_who_is_gone();
  void watch_machines();
  void lose_machine_of(PeerIndex index, const char* why);
  void lose(PeerIndex index, const char* why);
  void count_out(PeerIndex index);
  void count_left(PeerIndex index);
  void refuse(const char* what);

  const NetworkSetup setup_;
  const FabricLibrary* library_ = nullptr;
  FabricInfo info_;
  std::string way_;
  std::vector<std::byte> address_;
  size_t inject_bytes_max_ = 0;
  size_t packet_bytes_max_ = kNetworkPacketBytesUsual;
  size_t buffer_bytes() const { return sizeof(Wire) + packet_bytes_max_; }
  // Closed in the reverse of this order.
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  std::vector<Slab> slabs_;
  Pool<Lent> lent_;
  Fid<fid_av> addresses_;
  Fid<fid_cq> events_;
  Fid<fid_ep> endpoint_;

  std::vector<Peer> peers_;
  std::vector<PeerIndex> waiting_;  // with a queue, or to be told
  std::vector<Buffer*> unposted_;   // receive buffers that libfabric did not take back yet
  Buffer* free_ = nullptr;
  Buffer* claimed_ = nullptr;  // given out by claim()
  size_t under_way_ = 0;       // packets and buffers of ours that have not left yet
  Guard guard_;
  struct Suspect {
    PeerIndex peer;
    const char* why;
    bool silent;
    uint64_t since_ns;
  };
  std::vector<Suspect> suspects_;  // whose process has ended
  uint32_t quiet_polls_ = 0;       // since the last event or look at the guard
  uint64_t packets_ = 0;           // taken
  uint64_t packets_seen_ = 0;      // at the last look
  uint64_t quiet_since_ns_ = 0;
  bool machines_watched_ = false;
  uint64_t leaving_since_ns_ = 0;  // 0: it does not
  bool polling_ = false;           // packets are being handed over: answers wait until that is done
  bool refusal_told_ = false;
};

}  // namespace hearth::transport
