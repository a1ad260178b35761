// The file that the ranks of a job share under `mpiexec --check`. Each rank records its messages, its
// collectives and the call sites, so that other ranks and, at the end, mpiexec can compare. Sparse: only the
// used parts take memory.
//
// mpiexec creates it; libhearth_check.so (src/check) maps it in every rank. A rank's part is written by that
// rank only, under the check library's lock, except for `taken` of a message and for counts, which are
// atomic. A rank may overwrite its older records at any time: a reader compares the version before and after,
// and treats a record that changed as unknown.
//
//   BoardHeader | reported, a set of keys | findings | RankPart, one per rank
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::shm {

/// The classes of errors that --check detects, each a row of its summary.
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
  file_refused,
  deadlock,
  count_
};
constexpr size_t kCheckClasses = static_cast<size_t>(CheckClass::count_);
/// "messages never received".
const char* name_of(CheckClass kind);

constexpr size_t kCheckTextBytes = 160;

/// A call site. Written once; published by RankPart::sites.
struct CheckSite {
  char text[kCheckTextBytes];
};

/// A type signature (MPI 5.0 section 3.3.1): a hash of the sequence of basic types, and their number.
struct SignatureWords {
  uint64_t hash = 0;
  uint64_t elements = 0;
  uint16_t basic = 0;  // the handle, if all are of one type
  uint16_t flags = 0;  // kSignature*
  uint32_t unused = 0;
};
constexpr uint16_t kSignaturePacked = 1;   // contains MPI_PACKED, which matches any type
constexpr uint16_t kSignatureUnknown = 2;  // could not be determined

/// A message that was sent. Its index follows from receiver, communicator, tag and number.
struct MessageRecord {
  uint64_t version;  // even; odd while the record is written
  uint64_t comm;
  uint64_t number;  // of the messages to this process with this tag on this communicator, from 1
  uint64_t time_ns;
  SignatureWords signature;
  uint32_t to;
  int32_t tag;
  uint32_t site;
  uint16_t call;
  uint16_t unordered;   // threads sent at the same time, so the number is uncertain
  uint32_t taken;       // 1 once a receive has matched it; written by the receiver
  uint32_t comm_place;  // index of the communicator in the sender's table
};

/// A collective that a rank has started.
struct CollectiveRecord {
  uint64_t version;
  uint64_t comm;
  uint64_t number;  // of the collectives of that communicator, from 1
  SignatureWords send;
  SignatureWords receive;
  uint64_t send_words;     // running index in `words`, from 1, of the first hash, one per peer; 0: none
  uint64_t receive_words;  // likewise
  uint64_t shape;  // of other arguments that must be equal, such as the directions of a Cartesian topology
  int32_t root;
  uint32_t site;
  uint16_t call;
  uint16_t op;
  uint32_t rank;  // in the communicator
};

/// A communicator of which a rank is a member.
struct CheckComm {
  uint64_t id;  // equal on all members; 0: none
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
  uint32_t rank;     // kNoRank: of mpiexec
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
  uint32_t attached;   // the rank has reached MPI_Init or MPI_Session_init
  uint32_t finalized;  // the rank has reached the end of MPI
  uint32_t uncounted;  // receives of unknown messages; if any, no message to this rank is reported as lost
  uint32_t sites;      // complete entries
  uint32_t comms;      // used entries; communicators beyond the table are not recorded
  uint32_t unused;
  uint64_t messages_sent;
  uint64_t messages_received;
  uint64_t messages_compared;
  uint64_t messages_missed;  // received, but the sender's record had been overwritten
  uint64_t records_lost;     // overwritten before they were received
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
  uint32_t findings;  // claimed entries; may exceed the table
  uint64_t found[kCheckClasses];
  uint64_t reported[kCheckKeys];  // keys of findings that concern several ranks
  CheckFinding finding[kCheckFindings];
};

/// The index of the record of a message, and of a collective.
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
  /// False if the file is not a check board.
  static bool attach(os::Descriptor file, CheckBoard& board);

  bool usable() const { return header_ != nullptr; }
  int descriptor() const { return file_.number(); }
  uint32_t ranks() const { return header_->ranks; }
  BoardHeader& header() const { return *header_; }
  RankPart& part(uint32_t rank) const;

  /// True for the first call with this key in any process.
  bool report_once(uint64_t key) const;
  /// Counts a finding and stores its text while there is room.
  void add(CheckClass kind, uint32_t rank, const std::string& text) const;
  /// The text of a rank's call site.
  std::string site_words(uint32_t rank, uint32_t site) const;

 private:
  static size_t bytes_for(uint32_t ranks);
  void swap(CheckBoard& other) noexcept;

  os::Descriptor file_;
  BoardHeader* header_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hearth::shm
