// Agreement among processes on several machines.
//
// The leader is the first member that is not known to have failed:
//
//   all      ->  leader  part: flags, known failures, acknowledged failures, last accepted proposal
//   leader   ->  all     proposal, once the leader has the parts of all live members
//   all      ->  leader  yes
//   leader   ->  all     decision, once all live members have answered yes
//   each     ->  all     the same decision, before it returns with it
//
// If the leader fails, each survivor sends its part to the next leader and rejects proposals of earlier
// leaders from then on. If a leader finds accepted proposals in the parts, it proposes that of the latest
// leader again.
//
// All members obtain the same outcome: let d be the first leader that decides. All members that were alive
// then had answered yes to d's proposal. A later leader has the parts of all live members, including its own.
// Each of them answered yes to d before it sent that part, because it would have rejected d's proposal
// afterwards. So each part holds d's proposal or that of a leader between the two, which equals d's by the
// same argument.
//
// The protocol terminates: each wait is for a process that participates or fails, and every process learns of
// every failure. A process that has returned is not needed any more, because its decision is on its way to
// all other members.
//
// Machines that cannot reach each other treat each other as failed and agree separately.
#include "coll/agreement_messages.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/chaos.h"
#include "base/contexts.h"
#include "coll/agreement.h"
#include "coll/schedule.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::coll {
namespace {

using objects::PeerIndex;
using p2p::Request;

enum class Kind : uint32_t { part, proposal, yes, decision, count_ };

/// Message header. Four sets of members follow (Set), each of set_bytes().
struct Header {
  Kind kind;
  uint32_t context;  // of the communicator
  uint32_t number;   // of the agreement
  uint32_t leader;   // index of the leader among the members
  uint32_t flags;
  uint32_t proposed_by;  // 1 + index of the leader that made the proposal; 0: no proposal
  uint32_t proposed_flags;
  uint32_t proposed_context;
};
enum Set { kDead, kAcknowledged, kLost, kUnexpected, kSets };
constexpr size_t set_bytes(size_t members) {
  return (members + 7) / 8;
}
constexpr size_t message_bytes(size_t members) {
  return sizeof(Header) + kSets * set_bytes(members);
}

using Members = std::vector<bool>;  // by index among the members

struct Proposal {
  uint32_t by = 0;  // 1 + index of the leader; 0: no proposal
  uint32_t flags = 0;
  uint32_t context = 0;
  Members lost;
  Members unexpected;
};

struct Message {
  PeerIndex from;
  Header header;
  std::vector<std::byte> bytes;
};

/// Sends and receives the agreement messages of this process. Messages of an agreement that has not started
/// here yet are stored until it starts.
class Mail {
 public:
  void send(std::vector<std::byte> bytes, PeerIndex to) {
    sent_.push_back({nullptr, to, std::move(bytes)});
    Transfer& transfer = sent_.back();
    // A send to a failed process fails immediately, which is harmless.
    const Status status =
        p2p::engine().isend(transfer.bytes.data(), static_cast<Count>(transfer.bytes.size()), byte_type(), to,
                            kTag, kAgreementContext, transfer.request);
    if (!status.ok()) sent_.pop_back();
  }

  /// Receives the messages that have arrived and frees completed transfers.
  void progress() {
    p2p::Engine& engine = p2p::engine();
    p2p::Received received;
    while (engine.probes().has_come(MPI_ANY_SOURCE, kTag, kAgreementContext, received)) {
      // A longer message is invalid. It is truncated, so its receive fails, and it is dropped.
      const size_t bytes = std::min(static_cast<size_t>(received.bytes),
                                    message_bytes(static_cast<size_t>(engine.processes().count())));
      coming_.push_back({nullptr, received.from, std::vector<std::byte>(bytes)});
      Transfer& transfer = coming_.back();
      const Status posted =
          engine.ireceive(transfer.bytes.data(), static_cast<Count>(transfer.bytes.size()), byte_type(),
                          received.from, kTag, kAgreementContext, transfer.request);
      if (posted.ok()) continue;
      coming_.pop_back();
      break;
    }
    std::erase_if(sent_, [&engine](Transfer& transfer) { return end(engine, transfer); });
    std::erase_if(coming_, [this, &engine](Transfer& transfer) {
      const bool whole = transfer.request->complete && transfer.request->outcome.ok();
      if (!end(engine, transfer)) return false;
      if (whole) keep(transfer);
      return true;
    });
  }

  /// The next message of this agreement.
  std::optional<Message> take(uint32_t context, uint32_t number) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Message& message) {
      return message.header.context == context && message.header.number == number;
    });
    if (found == kept_.end()) return std::nullopt;
    Message message = std::move(*found);
    kept_.erase(found);
    return message;
  }

  void end_agreement(uint32_t context, uint32_t number) {
    over_[context] = number;
    std::erase_if(kept_, [this](const Message& message) { return is_over(message.header); });
  }

 private:
  static constexpr int kTag = 0;

  struct Transfer {
    Request* request;
    PeerIndex peer;
    std::vector<std::byte> bytes;
  };

  static bool end(p2p::Engine& engine, Transfer& transfer) {
    if (!transfer.request->complete) return false;
    engine.requests().destroy(transfer.request);
    return true;
  }

  bool is_over(const Header& header) const {
    const auto last = over_.find(header.context);
    return last != over_.end() && header.number <= last->second;
  }

  void keep(Transfer& transfer) {
    Message message{transfer.peer, {}, std::move(transfer.bytes)};
    if (message.bytes.size() < sizeof message.header) return;
    std::memcpy(&message.header, message.bytes.data(), sizeof message.header);
    if (!is_over(message.header)) kept_.push_back(std::move(message));
  }

  std::deque<Transfer> sent_;  // the engine reads these buffers until the sends complete
  std::deque<Transfer> coming_;
  std::deque<Message> kept_;
  std::map<uint32_t, uint32_t> over_;  // by context: the last agreement that completed here
};

Mail& mail() {
  static auto& the_mail = *new Mail;
  return the_mail;
}

class ByMessages final : public AgreementProtocol {
 public:
  explicit ByMessages(AgreementPart part);
  bool advance(AgreementOutcome& outcome) override;
  void describe(p2p::WaitDiagnostics& note) const override;

 private:
  struct Part {
    uint32_t flags;
    Members acknowledged;
    Proposal proposal;
  };

  size_t count() const { return part_.members.size(); }
  void look_who_died();
  void follow(size_t leader);
  void poll(const Message& message);
  void lead();
  Proposal make_proposal() const;
  void send(Kind kind, const Proposal& proposal, size_t to) const;
  void send_to_others(Kind kind, const Proposal& proposal) const;
  Members acknowledged() const;
  void put_set(const Members& set, int which, std::vector<std::byte>& bytes) const;
  Members get_set(const std::vector<std::byte>& bytes, int which) const;

  const AgreementPart part_;
  size_t self_ = 0;
  Members dead_;  // detected here or reported in a message
  bool begun_ = false;
  size_t leader_ = 0;  // the latest leader whose proposals are accepted
  Proposal proposal_;  // accepted last
  bool decided_ = false;
  // As the leader.
  std::vector<std::optional<Part>> parts_;
  bool proposing_ = false;
  Members agrees_;
};

ByMessages::ByMessages(AgreementPart part)
    : part_(std::move(part)), dead_(count()), parts_(count()), agrees_(count()) {
  const auto own = std::find(part_.members.begin(), part_.members.end(), p2p::engine().self());
  self_ = static_cast<size_t>(own - part_.members.begin());
}

bool ByMessages::advance(AgreementOutcome& outcome) {
  mail().progress();
  look_who_died();
  const auto living = std::find(dead_.begin(), dead_.end(), false);
  const auto first = static_cast<size_t>(living - dead_.begin());
  if (!begun_ || first > leader_) follow(std::max(first, leader_));
  while (!decided_) {
    const std::optional<Message> message = mail().take(part_.comm.context, part_.number);
    if (!message) break;
    poll(*message);
  }
  if (!decided_ && leader_ == self_) lead();
  if (!decided_) return false;
  send_to_others(Kind::decision, proposal_);
  chaos::at(chaos::Point::agreement_decided);
  mail().end_agreement(part_.comm.context, part_.number);
  outcome.flags = proposal_.flags;
  outcome.allocation.context = proposal_.context;
  for (size_t member = 0; member < count(); ++member) {
    if (proposal_.lost[member]) outcome.lost.push_back(part_.members[member]);
    if (proposal_.unexpected[member]) outcome.unexpected.push_back(part_.members[member]);
  }
  return true;
}

void ByMessages::look_who_died() {
  for (size_t member = 0; member < count(); ++member) {
    if (p2p::engine().failures().is_dead(part_.members[member])) dead_[member] = true;
  }
}

void ByMessages::follow(size_t leader) {
  begun_ = true;
  leader_ = leader;
  if (leader == self_) {
    parts_[self_] = Part{part_.flags, acknowledged(), proposal_};
  } else {
    send(Kind::part, proposal_, leader);
  }
  chaos::at(chaos::Point::agreement_contributed);
}

void ByMessages::poll(const Message& message) {
  const Header& header = message.header;
  const auto sender = std::find(part_.members.begin(), part_.members.end(), message.from);
  // Validate the message, because it comes from another process.
  if (sender == part_.members.end() || header.kind >= Kind::count_ || header.leader >= count() ||
      header.proposed_by > count() || message.bytes.size() != message_bytes(count())) {
    return;
  }
  const auto from = static_cast<size_t>(sender - part_.members.begin());
  Proposal proposal{header.proposed_by, header.proposed_flags, header.proposed_context,
                    get_set(message.bytes, kLost), get_set(message.bytes, kUnexpected)};
  const Members dead = get_set(message.bytes, kDead);
  for (size_t member = 0; member < count(); ++member) {
    if (dead[member] && member != self_) dead_[member] = true;
  }
  switch (header.kind) {
    case Kind::part:
      if (header.leader == self_) {
        parts_[from] = Part{header.flags, get_set(message.bytes, kAcknowledged), std::move(proposal)};
      }
      return;
    case Kind::proposal:
      // Reject a leader with a higher index. It treats this process as failed, and after its failure this
      // process would select no new leader.
      if (header.leader < leader_ || header.leader > self_ || from != header.leader) return;
      begun_ = true;
      leader_ = header.leader;
      proposal_ = std::move(proposal);
      return send(Kind::yes, proposal_, from);
    case Kind::yes:
      if (header.leader == self_) agrees_[from] = true;
      return;
    default:
      proposal_ = std::move(proposal);
      decided_ = true;
  }
}

void ByMessages::lead() {
  const auto all_that_live = [this](const auto& have) {
    for (size_t member = 0; member < count(); ++member) {
      if (!dead_[member] && !have(member)) return false;
    }
    return true;
  };
  if (!proposing_) {
    if (!all_that_live([this](size_t member) { return parts_[member].has_value(); })) return;
    proposing_ = true;
    proposal_ = make_proposal();
    agrees_[self_] = true;
    chaos::at(chaos::Point::agreement_decides);
    send_to_others(Kind::proposal, proposal_);
  }
  decided_ = all_that_live([this](size_t member) -> bool { return agrees_[member]; });
}

Proposal ByMessages::make_proposal() const {
  Proposal proposal;
  for (const std::optional<Part>& part : parts_) {
    if (part && part->proposal.by > proposal.by) proposal = part->proposal;
  }
  if (proposal.by == 0) {
    proposal.flags = ~0u;
    Members expected(count(), true);
    for (const std::optional<Part>& part : parts_) {
      if (!part) continue;
      proposal.flags &= part->flags;
      for (size_t member = 0; member < count(); ++member) {
        expected[member] = expected[member] && part->acknowledged[member];
      }
    }
    proposal.lost = proposal.unexpected = dead_;
    for (size_t member = 0; member < count(); ++member) {
      if (expected[member]) proposal.unexpected[member] = false;
    }
    if (part_.makes) {
      proposal.context = p2p::engine().processes().new_context(part_.members);
      chaos::at(chaos::Point::context_taken);
    }
  }
  proposal.by = static_cast<uint32_t>(self_) + 1;
  return proposal;
}

Members ByMessages::acknowledged() const {
  Members set(count());
  for (size_t member = 0; member < count(); ++member) {
    const uint32_t death = p2p::engine().failures().registry()->death_of(part_.members[member]);
    set[member] = death != 0 && death <= part_.comm.deaths_acknowledged;
  }
  return set;
}

void ByMessages::send(Kind kind, const Proposal& proposal, size_t to) const {
  const Header header = {.kind = kind,
                         .context = part_.comm.context,
                         .number = part_.number,
                         .leader = static_cast<uint32_t>(leader_),
                         .flags = part_.flags,
                         .proposed_by = proposal.by,
                         .proposed_flags = proposal.flags,
                         .proposed_context = proposal.context};
  std::vector<std::byte> bytes(message_bytes(count()));
  std::memcpy(bytes.data(), &header, sizeof header);
  put_set(dead_, kDead, bytes);
  put_set(acknowledged(), kAcknowledged, bytes);
  put_set(proposal.lost, kLost, bytes);
  put_set(proposal.unexpected, kUnexpected, bytes);
  mail().send(std::move(bytes), part_.members[to]);
}

void ByMessages::send_to_others(Kind kind, const Proposal& proposal) const {
  for (size_t member = 0; member < count(); ++member) {
    if (member != self_ && !dead_[member]) send(kind, proposal, member);
  }
}

void ByMessages::put_set(const Members& set, int which, std::vector<std::byte>& bytes) const {
  std::byte* const at = bytes.data() + sizeof(Header) + static_cast<size_t>(which) * set_bytes(count());
  for (size_t member = 0; member < set.size(); ++member) {
    if (set[member]) at[member / 8] |= std::byte{1} << (member % 8);
  }
}

Members ByMessages::get_set(const std::vector<std::byte>& bytes, int which) const {
  const std::byte* const at = bytes.data() + sizeof(Header) + static_cast<size_t>(which) * set_bytes(count());
  Members set(count());
  for (size_t member = 0; member < count(); ++member) {
    set[member] = (at[member / 8] >> (member % 8) & std::byte{1}) != std::byte{0};
  }
  return set;
}

void ByMessages::describe(p2p::WaitDiagnostics& note) const {
  note.collective(part_.comm.context + kCollectiveContext);
  if (leader_ != self_) return note.missing(part_.members[leader_]);
  for (size_t member = 0; member < count(); ++member) {
    const bool has_contributed = proposing_ ? agrees_[member] : parts_[member].has_value();
    if (!dead_[member] && !has_contributed) note.missing(part_.members[member]);
  }
}

}  // namespace

void set_up_agreements_by_messages() {
  mail() = {};
}

std::unique_ptr<AgreementProtocol> agree_by_messages(AgreementPart part) {
  return std::make_unique<ByMessages>(std::move(part));
}

}  // namespace hearth::coll
