// The file that the ranks of a job share under `mpiexec --check`: what each says of its messages, of its
// collectives and of the places that they were called from, so that another one, and at the end mpiexec, can
// compare. Sparse: only what is used is memory.
//
// mpiexec makes it; libhearth_check.so (src/check) maps it in every rank. A rank's part is written by that
// rank alone, under the check library's lock, but for `taken` of a message and for counts, which are atomic.
// Records may be overwritten by later ones of the same rank at any time: whoever reads one looks at its
// version before and after, and takes what does not fit as not known.
//
//   BoardHeader | told, a set of keys | findings | RankPart, one per rank
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::shm {

/// What --check looks for: one row of its summary each.
enum class CheckClass : uint32_t {
  collective_order,
  collective_arguments,
  type_mismatch,
  reduced_text,
  buffer_changed,
  buffer_overlap,
  request_lifecycle,
  ready_send,
  thread_level,
  lost_message,
  leak,
  deadlock,
  count_
};
constexpr size_t kCheckClasses = static_cast<size_t>(CheckClass::count_);
/// "messages never received".
const char* name_of(CheckClass kind);

constexpr size_t kCheckTextBytes = 160;

/// A place that MPI was called from. Written once; published by RankPart::sites.
struct CheckSite {
  char text[kCheckTextBytes];
};

/// A type signature (MPI 5.0 section 3.3.1): a hash of the basic types one after another, and how many.
struct SignatureWords {
  uint64_t hash = 0;
  uint64_t elements = 0;
  uint16_t basic = 0;  // the handle, where all are of one type
  uint16_t flags = 0;  // kSignature*
  uint32_t unused = 0;
};
constexpr uint16_t kSignaturePacked = 1;   // MPI_PACKED is among them, which matches any type
constexpr uint16_t kSignatureUnknown = 2;  // could not be found out

/// A message that was sent, at a place that follows from receiver, communicator, tag and number.
struct MessageRecord {
  uint64_t version;  // even; one more while it is written
  uint64_t comm;
  uint64_t number;  // of the messages to this process with this tag on this communicator, from 1
  uint64_t time_ns;
  SignatureWords signature;
  uint32_t to;
  int32_t tag;
  uint32_t site;
  uint16_t call;
  uint16_t unordered;   // threads sent at the same time, so that the number is not sure
  uint32_t taken;       // 1 once a receive has matched it: written by the receiver
  uint32_t comm_place;  // of its communicator among the sender's
};

/// A collective that a rank has begun.
struct CollectiveRecord {
  uint64_t version;
  uint64_t comm;
  uint64_t number;  // of the collectives of that communicator, from 1
  SignatureWords send;
  SignatureWords receive;
  uint64_t send_words;  // where the hashes for each peer begin in `words`, counted from 1 for ever; 0: none
  uint64_t receive_words;  // likewise
  uint64_t shape;  // of what has to be equal apart from signatures, such as the directions of a Cartesian
  int32_t root;
  uint32_t site;
  uint16_t call;
  uint16_t op;
  uint32_t rank;  // in the communicator
};

/// A communicator that a rank is a member of.
struct CheckComm {
  uint64_t id;  // the same for all members; 0: none
  uint64_t collectives;
  uint32_t last_site;
  uint16_t last_call;
  uint16_t unused;
  uint64_t freed;
  char name[64];
};

constexpr uint32_t kNoRank = UINT32_MAX;

struct CheckFinding {
  uint32_t written;  // 1: complete
  uint32_t kind;     // CheckClass
  uint32_t rank;     // kNoRank: mpiexec's own
  char text[1012];
};

constexpr size_t kCheckSites = 1024;
constexpr size_t kCheckMessages = 4096;
constexpr size_t kCheckCollectives = 512;
constexpr size_t kCheckWords = 16384;
constexpr size_t kCheckComms = 512;
constexpr size_t kCheckFindings = 256;
constexpr size_t kCheckKeys = 4096;

struct RankPart {
  uint32_t attached;   // the rank has come as far as MPI_Init or MPI_Session_init
  uint32_t finalized;  // and to the end of it
  uint32_t uncounted;  // receives whose message is not known: then none of its messages is called lost
  uint32_t sites;      // that are complete
  uint32_t comms;      // entries in use, of which the last are lost where there are more
  uint32_t unused;
  uint64_t messages_sent;
  uint64_t messages_received;
  uint64_t messages_compared;
  uint64_t messages_missed;  // received, but the sender's record was not there any more
  uint64_t records_lost;     // overwritten before they were taken
  uint64_t collectives;
  uint64_t words_written;
  CheckSite site[kCheckSites];
  CheckComm comm[kCheckComms];
  MessageRecord message[kCheckMessages];
  CollectiveRecord collective[kCheckCollectives];
  uint64_t words[kCheckWords];
};

struct BoardHeader {
  uint64_t magic;
  uint32_t ranks;
  uint32_t findings;  // places taken, which may be more than there are
  uint64_t found[kCheckClasses];
  uint64_t told[kCheckKeys];  // keys of findings that concern several ranks
  CheckFinding finding[kCheckFindings];
};

/// The place of a message's record, of a collective's.
size_t message_place(uint64_t comm, uint32_t to, int tag, uint64_t number);
size_t collective_place(uint64_t comm, uint64_t number);

class CheckBoard {
 public:
  CheckBoard() = default;
  ~CheckBoard();
  CheckBoard(CheckBoard&& other) noexcept;
  CheckBoard& operator=(CheckBoard&& other) noexcept;
  CheckBoard(const CheckBoard&) = delete;
  CheckBoard& operator=(const CheckBoard&) = delete;

  static Status create(uint32_t ranks, CheckBoard& board);
  /// False where the file is none of ours.
  static bool attach(os::Descriptor file, CheckBoard& board);

  bool usable() const { return header_ != nullptr; }
  int descriptor() const { return file_.number(); }
  uint32_t ranks() const { return header_->ranks; }
  BoardHeader& header() const { return *header_; }
  RankPart& part(uint32_t rank) const;

  /// True for the first who tells of this key, from whichever process.
  bool tell_once(uint64_t key) const;
  /// Counts a finding, and keeps its text while there is room.
  void add(CheckClass kind, uint32_t rank, const std::string& text) const;
  /// The text of a place that a rank has called from.
  std::string site_words(uint32_t rank, uint32_t site) const;

 private:
  static size_t bytes_for(uint32_t ranks);
  void swap(CheckBoard& other) noexcept;

  os::Descriptor file_;
  BoardHeader* header_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hearth::shm
