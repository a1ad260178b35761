#include "check/messages.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "check/record.h"

namespace hearth::check {
namespace {

bool fits(int wanted, int got, int wildcard) {
  return wanted == got || wanted == wildcard;
}

bool is_ready(Call call) {
  return call == Call::rsend || call == Call::irsend || call == Call::rsend_init;
}

std::string tag_words(int tag) {
  return tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag);
}

}  // namespace

Sent Messages::send(const CommPointer& comm, int64_t to, int64_t tag, const TypePointer& type, int64_t count,
                    Call call, uint32_t site) {
  Sent sent;
  if (comm == nullptr || !report_.has_board() || tag < 0 || count < 0) return sent;
  const uint32_t process = comm->process(to);
  if (process >= report_.board().ranks()) return sent;
  sent.comm = comm;
  sent.key = {process, static_cast<int>(tag)};
  Stream& stream = comm->sent[sent.key];
  if (stream.at_once++ > 0) stream.unordered = true;
  sent.number = ++stream.number;
  sent.place = shm::message_place(comm->id, process, sent.key.second, sent.number);
  shm::RankPart& own = report_.own();
  shm::MessageRecord& place = own.message[sent.place];
  if (atomic::load_relaxed(place.version) != 0 && atomic::load_relaxed(place.taken) == 0) ++own.records_lost;
  shm::MessageRecord record = {};
  record.comm = comm->id;
  record.number = sent.number;
  record.time_ns = os::now_ns();
  if (type != nullptr) {
    record.signature = type->signature.repeated(static_cast<uint64_t>(count)).words();
  } else {
    record.signature.flags = shm::kSignatureUnknown;
  }
  record.to = process;
  record.tag = sent.key.second;
  record.site = site;
  record.call = static_cast<uint16_t>(call);
  record.unordered = stream.unordered ? 1 : 0;
  record.comm_place = comm->place;
  publish_record(place, record);
  atomic::store_relaxed(own.messages_sent, own.messages_sent + 1);
  return sent;
}

void Messages::end_send(const Sent& sent, bool failed) {
  if (sent.comm == nullptr) return;
  Stream& stream = sent.comm->sent[sent.key];
  --stream.at_once;
  if (!failed) return;
  shm::RankPart& own = report_.own();
  atomic::store_relaxed(own.message[sent.place].taken, 1u);
  atomic::store_relaxed(own.messages_sent, own.messages_sent - 1);
  if (stream.number == sent.number) {
    --stream.number;
  } else {
    stream.unordered = true;
  }
}

PostedPointer Messages::post(const CommPointer& comm, int64_t source, int64_t tag, const TypePointer& type,
                             int64_t count, Call call, uint32_t site) {
  if (comm->receiving++ > 0) comm->receives_unordered = true;
  auto posted = std::make_shared<Posted>();
  posted->source = static_cast<int>(source);
  posted->tag = static_cast<int>(tag);
  posted->type = type;
  posted->count = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  posted->time_ns = os::now_ns();
  posted->site = site;
  posted->call = call;
  if (source != MPI_PROC_NULL) comm->posted.push_back(posted);
  return posted;
}

void Messages::match(Comm& comm, const PostedPointer& posted, int source, int tag) {
  if (posted->state != Posted::State::open) return;
  const uint32_t process = comm.process(source);
  if (process == UINT32_MAX) {
    drop(comm, posted);
    return;
  }
  posted->state = Posted::State::matched;
  posted->matched_source = source;
  posted->matched_tag = tag;
  if (report_.has_board()) {
    atomic::store_relaxed(report_.own().messages_received, report_.own().messages_received + 1);
  }
  settle(comm);
}

void Messages::drop(Comm& comm, const PostedPointer& posted) {
  posted->state = Posted::State::gone;
  settle(comm);
}

// The receive stays open: younger receives that might have matched its message are not compared.
void Messages::give_up(Comm&, const PostedPointer&) {
  if (report_.has_board()) atomic::store_relaxed(report_.own().uncounted, 1u);
}

void Messages::receive_matched(Comm& comm, const PostedPointer& posted, const TypePointer& type,
                               int64_t count, Call call, uint32_t site) {
  posted->type = type;
  posted->count = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  posted->call = call;
  posted->site = site;
  if (posted->state == Posted::State::numbered) compare(comm, *posted);
}

// Assigns numbers to the matched receives, oldest first, as far as they are certain.
void Messages::settle(Comm& comm) {
  std::vector<const Posted*> open;
  for (const PostedPointer& posted : comm.posted) {
    if (posted->state == Posted::State::open) open.push_back(posted.get());
    if (posted->state != Posted::State::matched) continue;
    const bool unsure = std::any_of(open.begin(), open.end(), [&](const Posted* older) {
      return fits(older->source, posted->matched_source, MPI_ANY_SOURCE) &&
             fits(older->tag, posted->matched_tag, MPI_ANY_TAG);
    });
    if (unsure) {
      open.push_back(posted.get());  // younger receives with the same match get later messages
      continue;
    }
    posted->state = Posted::State::numbered;
    posted->number = ++comm.received[{static_cast<uint32_t>(posted->matched_source), posted->matched_tag}];
    compare(comm, *posted);
  }
  std::erase_if(comm.posted, [](const PostedPointer& posted) {
    return posted->state == Posted::State::numbered || posted->state == Posted::State::gone;
  });
}

void Messages::compare(Comm& comm, Posted& posted) {
  if (!report_.has_board()) return;
  const uint32_t from = comm.process(posted.matched_source);
  if (from >= report_.board().ranks()) return;
  shm::RankPart& own = report_.own();
  // The sender computed the place from the receiver's rank, which is ours.
  const size_t at = shm::message_place(comm.id, report_.rank(), posted.matched_tag, posted.number);
  shm::MessageRecord& place = report_.board().part(from).message[at];
  shm::MessageRecord record;
  const bool here = read_record(place, record) && record.comm == comm.id && record.number == posted.number &&
                    record.to == report_.rank() && record.tag == posted.matched_tag;
  if (!here) {
    if (!posted.compared) ++own.messages_missed;
    posted.compared = true;
    return;
  }
  atomic::store_relaxed(place.taken, 1u);
  // A message from MPI_Mprobe has no receive type yet.
  if (posted.type == nullptr || posted.compared) return;
  posted.compared = true;
  if (record.unordered != 0 || comm.receives_unordered) {
    ++own.messages_missed;
    return;
  }
  ++own.messages_compared;
  compare_types(comm, posted, record);
  if (is_ready(static_cast<Call>(record.call)) && posted.time_ns > record.time_ns &&
      posted.call != Call::mrecv && posted.call != Call::imrecv) {
    Finding finding;
    finding.kind = shm::CheckClass::ready_send;
    finding.what = std::string("a message of ") + abi::call_table[record.call].name + " from " +
                   rank_words(comm, posted.matched_source) + ", tag " + std::to_string(posted.matched_tag) +
                   ", on " + comm.name + " was sent before its receive was posted";
    finding.details = {
        "sent by rank " + std::to_string(from) + " at " + report_.site_words(from, record.site),
        "received by rank " + std::to_string(report_.rank()) + " at " + report_.site_words(posted.site)};
    finding.why =
        "A ready send may begin only when its receive has been posted (MPI 5.0 section 3.4). Remedy: "
        "MPI_Send, or a "
        "message the other way that says that the receive is posted";
    finding.key = mix(mix(record.site, from), posted.site);
    report_.add(finding);
  }
}

void Messages::compare_types(Comm& comm, const Posted& posted, const shm::MessageRecord& record) {
  const Signature whole = posted.type->signature.repeated(posted.count);
  const shm::SignatureWords& sent = record.signature;
  const uint64_t elements = std::min(sent.elements, whole.elements);
  if (elements == 0) return;
  if (sent.elements > whole.elements) {
    // More elements than expected. With the same type the call itself reports truncation.
    if (sent.basic == 0 || whole.basic == 0 || sent.basic == whole.basic) return;
    if (((sent.flags | whole.flags) & (shm::kSignaturePacked | shm::kSignatureUnknown)) != 0) return;
  } else if (may_equal(sent, prefix_of(*posted.type, posted.count, elements).words())) {
    return;
  }
  const uint32_t from = comm.process(posted.matched_source);
  Finding finding;
  finding.kind = shm::CheckClass::type_mismatch;
  finding.what = "a message from " + rank_words(comm, posted.matched_source) + ", " +
                 tag_words(posted.matched_tag) + ", on " + comm.name + " was sent as " + words_of(sent) +
                 " and received as " + words_of(whole.words());
  finding.details = {"sent by rank " + std::to_string(from) + " in " + abi::call_table[record.call].name +
                         " at " + report_.site_words(from, record.site),
                     "received by rank " + std::to_string(report_.rank()) + " in " +
                         abi::call_table[static_cast<size_t>(posted.call)].name + " at " +
                         report_.site_words(posted.site)};
  finding.why =
      "Each element is received as the type that it was sent as; only MPI_PACKED goes with any, and MPI_BYTE "
      "with "
      "MPI_BYTE (MPI 5.0 section 3.3.1). Remedy: the same types, in the same order, on both sides";
  finding.key = mix(mix(record.site, from), posted.site);
  report_.add(finding);
}

}  // namespace hearth::check
