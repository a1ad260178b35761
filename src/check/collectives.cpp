#include "check/collectives.h"

#include <algorithm>
#include <cstring>

#include "base/atomic.h"
#include "check/files.h"
#include "check/record.h"

namespace hearth::check {
namespace {

using shm::CollectiveRecord;
using shm::SignatureWords;

struct Family {
  const char* stem;  // of "MPI_Ialltoallv_init"
  Flow flow;
};
constexpr Family kFamilies[] = {
    {"allgather", Flow::to_all},
    {"allgatherv", Flow::to_all},
    {"allreduce", Flow::all_alike},
    {"alltoall", Flow::to_all},
    {"alltoallv", Flow::to_all},
    {"alltoallw", Flow::to_all},
    {"bcast", Flow::from_root},
    {"exscan", Flow::all_alike},
    {"gather", Flow::to_root},
    {"gatherv", Flow::to_root},
    {"reduce", Flow::all_alike},
    {"reduce_scatter", Flow::all_alike},
    {"reduce_scatter_block", Flow::all_alike},
    {"scan", Flow::all_alike},
    {"scatter", Flow::from_root},
    {"scatterv", Flow::from_root},
};

Flow flow_of(uint16_t call) {
  return check::flow_of(abi::call_table[call].name);
}

SignatureWords unknown() {
  SignatureWords words;
  words.flags = shm::kSignatureUnknown;
  return words;
}

bool in_place(const Arguments& call, const char* buffer) {
  return call.pointer<void>(buffer) == MPI_IN_PLACE;
}

// The signature for one peer, as one word on the board.
uint64_t word_for(const SignatureWords& signature) {
  constexpr uint16_t kOpen = shm::kSignaturePacked | shm::kSignatureUnknown;
  if ((signature.flags & kOpen) != 0) return UINT64_MAX;
  return signature.elements == 0 ? 0 : mix(signature.hash, signature.elements);
}

}  // namespace

std::string stem_of(const std::string& name) {
  std::string stem = name.substr(4);
  for (const char* end : {"_c", "_init"}) {
    if (stem.ends_with(end)) stem.resize(stem.size() - std::strlen(end));
  }
  stem[0] = static_cast<char>(stem[0] | 0x20);
  const auto known = [](const std::string& text) {
    return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                       [&](const Family& family) { return text == family.stem; });
  };
  return !known(stem) && stem[0] == 'i' && known(stem.substr(1)) ? stem.substr(1) : stem;
}

Flow flow_of(const char* name) {
  const std::string stem = stem_of(name);
  for (const Family& family : kFamilies) {
    if (stem == family.stem) return family.flow;
  }
  return Flow::none;
}

struct Collectives::Described {
  CollectiveRecord record = {};
  std::vector<uint64_t> send;  // one word per peer; empty: record.send applies to all peers
  std::vector<uint64_t> receive;
};

bool Collectives::is_collective(const Arguments& call) {
  if (std::strcmp(call.group(), "coll") == 0) return call.function() != Call::reduce_local;
  if (std::strcmp(call.group(), "io") == 0) return Files::is_collective(call.function());
  switch (call.function()) {
    case Call::comm_create:
    case Call::comm_dup:
    case Call::comm_dup_with_info:
    case Call::comm_idup:
    case Call::comm_idup_with_info:
    case Call::comm_free:
    case Call::comm_disconnect:
    case Call::comm_split:
    case Call::comm_split_type:
    case Call::intercomm_create:
    case Call::intercomm_merge:
    case Call::cart_create:
    case Call::cart_sub:
    case Call::graph_create:
    case Call::dist_graph_create:
    case Call::dist_graph_create_adjacent:
      return true;
    default:
      return false;
  }
}

SignatureWords Collectives::signature(uint64_t type, int64_t count) {
  const TypePointer node = types_.find(reinterpret_cast<MPI_Datatype>(static_cast<uintptr_t>(type)));
  if (node == nullptr || count < 0) return unknown();
  return node->signature.repeated(static_cast<uint64_t>(count)).words();
}

// Arguments that are not significant on this rank stay "no data" and are never compared.
Collectives::Described Collectives::describe(const Arguments& call, const Comm& comm) {
  Described result;
  CollectiveRecord& record = result.record;
  record.call = static_cast<uint16_t>(call.function());
  record.root = call.has("root") ? static_cast<int32_t>(call.number("root")) : -1;
  record.rank = static_cast<uint32_t>(comm.rank);
  if (call.has("op")) {
    const uint64_t op = call.word("op");
    record.op = op < UINT16_MAX && !handle_words(op).empty() ? static_cast<uint16_t>(op) : UINT16_MAX;
  }
  if (std::strcmp(call.group(), "io") == 0) record.shape = Files::equal_arguments(call, types_);
  const Flow flow = flow_of(record.call);
  if (flow == Flow::none || comm.inter) return result;
  const bool at_root = record.root == comm.rank;
  const auto size = static_cast<int>(comm.peers.size());

  // One count and type, or arrays of them.
  const auto one = [&](const char* count, const char* type) {
    return signature(call.word(type), call.number(count));
  };
  const auto many = [&](const char* counts, const char* type, const char* types,
                        std::vector<uint64_t>& words) {
    const auto* each = call.has(types) ? call.pointer<const MPI_Datatype>(types) : nullptr;
    if (call.pointer<void>(counts) == nullptr || (call.has(types) && each == nullptr)) return;
    for (int i = 0; i < size; ++i) {
      const uint64_t handle = each != nullptr ? reinterpret_cast<uintptr_t>(each[i]) : call.word(type);
      words.push_back(word_for(signature(handle, call.entry(counts, i))));
    }
  };

  if (flow == Flow::all_alike) {
    if (call.has("recvcounts")) {
      int64_t sum = 0;
      record.shape = 1;
      for (int i = 0; i < size && call.pointer<void>("recvcounts") != nullptr; ++i) {
        sum += call.entry("recvcounts", i);
        record.shape = mix(record.shape, static_cast<uint64_t>(call.entry("recvcounts", i)));
      }
      record.send = signature(call.word("datatype"), sum);
    } else {
      record.send = one(call.has("recvcount") ? "recvcount" : "count", "datatype");
    }
    return result;
  }
  if (call.has("buffer")) {  // MPI_Bcast
    record.send = record.receive = one("count", "datatype");
    return result;
  }
  const bool sends = flow != Flow::from_root || at_root;
  const bool receives = flow != Flow::to_root || at_root;
  if (receives && !in_place(call, "recvbuf")) {
    if (call.has("recvcounts")) {
      many("recvcounts", "recvtype", "recvtypes", result.receive);
    } else {
      record.receive = one("recvcount", "recvtype");
    }
  }
  if (!sends) return result;
  if (in_place(call, "sendbuf")) {
    // The sent data are in the receive buffer, with the receive signature. The root's own part is not
    // compared with that of any other rank.
    record.send = record.receive;
    result.send = result.receive;
    if (stem_of(call.name()) == "allgatherv" && !result.receive.empty()) {
      record.send = signature(call.word("recvtype"), call.entry("recvcounts", comm.rank));
      result.send.clear();
    }
  } else if (call.has("sendcounts")) {
    many("sendcounts", "sendtype", "sendtypes", result.send);
  } else {
    record.send = one("sendcount", "sendtype");
  }
  return result;
}

void Collectives::publish(Described& described) {
  shm::RankPart& own = report_.own();
  const auto write = [&](const std::vector<uint64_t>& words, uint64_t& begin, SignatureWords& plain) {
    if (words.empty()) return;
    if (words.size() > shm::kCheckWords / 4) {
      plain = unknown();
      return;
    }
    begin = own.words_written + 1;
    for (size_t i = 0; i < words.size(); ++i) {
      atomic::store_relaxed(own.words[(begin - 1 + i) % shm::kCheckWords], words[i]);
    }
    // Pairs with the acquire load in towards(), which rejects words that may have been overwritten.
    atomic::store_release(own.words_written, own.words_written + words.size());
  };
  write(described.send, described.record.send_words, described.record.send);
  write(described.receive, described.record.receive_words, described.record.receive);
  publish_record(own.collective[shm::collective_place(described.record.comm, described.record.number)],
                 described.record);
}

bool Collectives::read(uint32_t process, const Comm& comm, uint64_t number, CollectiveRecord& record) const {
  const shm::CollectiveRecord& place =
      report_.board().part(process).collective[shm::collective_place(comm.id, number)];
  return read_record(place, record) && record.comm == comm.id && record.number == number;
}

// The signature that a rank sends to, or expects from, one peer.
SignatureWords Collectives::towards(uint32_t process, const CollectiveRecord& record, bool sends,
                                    int peer) const {
  const uint64_t begin = sends ? record.send_words : record.receive_words;
  const SignatureWords& plain = sends ? record.send : record.receive;
  SignatureWords result;
  if (begin == 0) {
    result.hash = word_for(plain);
    result.flags = result.hash == UINT64_MAX ? shm::kSignatureUnknown : uint16_t{0};
    return result;
  }
  const shm::RankPart& part = report_.board().part(process);
  const uint64_t at = begin - 1 + static_cast<uint64_t>(peer);
  result.hash = atomic::load_relaxed(part.words[at % shm::kCheckWords]);
  atomic::fence_full();
  const bool overwritten = atomic::load_acquire(part.words_written) > at + shm::kCheckWords / 2;
  if (overwritten || result.hash == UINT64_MAX) result.flags = shm::kSignatureUnknown;
  return result;
}

// Describes the difference; "" if there is none.
std::string Collectives::compare(const Comm& comm, const CollectiveRecord& mine, uint32_t process,
                                 const CollectiveRecord& other) const {
  const bool rooted = mine.root != -1 || other.root != -1;
  if (comm.inter) return "";
  if (rooted && mine.root != other.root) return "with different roots";
  if (mine.op != other.op) return "with different operations";
  if (mine.shape != other.shape)
    return flow_of(mine.call) == Flow::none ? "with different arguments that must be equal"
                                            : "with different arrays of counts";
  const auto my_rank = static_cast<int>(mine.rank);
  const auto other_rank = static_cast<int>(other.rank);
  // Compares the sender's signature with the receiver's.
  const auto differ = [&](bool i_send) {
    const SignatureWords sent =
        i_send ? towards(report_.rank(), mine, true, other_rank) : towards(process, other, true, my_rank);
    const SignatureWords wanted =
        i_send ? towards(process, other, false, my_rank) : towards(report_.rank(), mine, false, other_rank);
    return !may_equal(sent, wanted);
  };
  const char* const amounts = "with different amounts or types of data";
  switch (flow_of(mine.call)) {
    case Flow::none:
      return "";
    case Flow::all_alike:
      return may_equal(mine.send, other.send) ? "" : amounts;
    case Flow::from_root:
      if (my_rank != mine.root && other_rank != mine.root) return "";
      return differ(my_rank == mine.root) ? amounts : "";
    case Flow::to_root:
      if (my_rank != mine.root && other_rank != mine.root) return "";
      return differ(my_rank != mine.root) ? amounts : "";
    case Flow::to_all:
      return differ(true) || differ(false) ? amounts : "";
  }
  return "";
}

std::string Collectives::words(const CollectiveRecord& record) const {
  std::string text = abi::call_table[record.call].name;
  std::vector<std::string> parts;
  if (record.root != -1) parts.push_back("root " + std::to_string(record.root));
  if (record.op == UINT16_MAX) parts.push_back("an operation of the user's");
  if (record.op != 0 && record.op != UINT16_MAX) parts.push_back(handle_words(record.op));
  const Flow flow = flow_of(record.call);
  const bool at_root = record.root == static_cast<int32_t>(record.rank);
  const bool sends = flow == Flow::all_alike || flow == Flow::to_all || (flow == Flow::to_root) != at_root;
  const bool receives =
      flow == Flow::to_all || (flow == Flow::to_root && at_root) || (flow == Flow::from_root && !at_root);
  const char* verb = flow == Flow::all_alike ? "" : "sends ";
  if (sends && flow != Flow::none) {
    parts.push_back(record.send_words != 0 ? "sends by an array of counts" : verb + words_of(record.send));
  }
  if (receives) {
    parts.push_back(record.receive_words != 0 ? "receives by an array of counts"
                                              : "receives " + words_of(record.receive));
  }
  if (parts.empty()) return text;
  text += "(";
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text + ")";
}

void Collectives::tell(const Comm& comm, const CollectiveRecord& mine, const std::string& difference) {
  constexpr size_t kLines = 12;
  Finding finding;
  const bool order = difference.empty();
  finding.kind = order ? shm::CheckClass::collective_order : shm::CheckClass::collective_arguments;
  finding.what = "collective " + std::to_string(mine.number) + " of " + comm.name +
                 (order ? " is not the same call on all ranks" : " is called " + difference);
  // Ranks with the same call share a line.
  std::map<std::string, std::string> lines;
  for (const uint32_t process : comm.members) {
    CollectiveRecord record;
    if (process == UINT32_MAX || !read(process, comm, mine.number, record)) continue;
    const std::string site = report_.site_words(process, record.site);
    std::string& who = lines[words(record) + (site.empty() ? "" : ", called from " + site)];
    who += (who.empty() ? "rank " : ", ") + std::to_string(process);
  }
  for (const auto& [what, who] : lines) {
    if (finding.details.size() < kLines) finding.details.push_back(who + ": " + what);
  }
  if (order) {
    finding.why =
        "All members call the collectives of a communicator in the same order (MPI 5.0 section 6.14). "
        "Remedy: the same "
        "calls on all ranks; look for a branch that only some of them take";
    finding.key = mix(comm.id, 0x6f72646572);
  } else if (flow_of(mine.call) == Flow::none) {
    finding.why =
        "All processes of a file pass the same mode, size, shared offset, extent of the etype and "
        "representation (MPI 5.0 sections 14.2 and 14.3). Remedy: the same arguments on all ranks";
    finding.key = mix(mix(comm.id, mine.site), mine.call);
  } else {
    finding.why =
        "Root and operation must be the same on all members, and the data that one sends are of the number "
        "and the types "
        "that the other receives (MPI 5.0 section 6.1). Remedy: the same arguments on all ranks";
    finding.key = mix(mix(comm.id, mine.site), mine.call);
  }
  report_.add(finding);
}

uint64_t Collectives::begin(const Arguments& call, Comm& comm, uint32_t site) {
  const uint64_t number = communicators_.count_collective(comm, call.function(), site);
  if (!report_.has_board()) return number;
  Described described = describe(call, comm);
  CollectiveRecord& mine = described.record;
  mine.comm = comm.id;
  mine.number = number;
  mine.site = site;
  publish(described);
  ++report_.own().collectives;
  // Of two concurrent ranks, at least one must see the other's record: orders the own publication before the
  // reads below. Pairs with the same fence in the other rank.
  atomic::fence_full();
  std::vector<uint32_t> others = comm.members;
  if (comm.inter) others.insert(others.end(), comm.peers.begin(), comm.peers.end());
  for (const uint32_t process : others) {
    if (process == report_.rank() || process == UINT32_MAX) continue;
    CollectiveRecord other;
    if (!read(process, comm, number, other)) continue;
    if (other.call != mine.call) {
      tell(comm, mine, "");
      break;
    }
    const std::string difference = compare(comm, mine, process, other);
    if (difference.empty()) continue;
    tell(comm, mine, difference);
    break;
  }
  return number;
}

}  // namespace hearth::check
