#include "check/operation.h"

#include <cstring>

#include "check/collectives.h"

namespace hearth::check {
namespace {

uintptr_t address_of(const Arguments& call, const char* name) {
  return reinterpret_cast<uintptr_t>(call.pointer<void>(name));
}

bool is_place(const Arguments& call, const char* name) {
  return call.pointer<void>(name) == MPI_IN_PLACE;
}

struct Names {
  const char* buffer;
  const char* count;
  const char* type;
  const char* peer;
  const char* tag;
};

void read_side(const Arguments& call, Types& types, const Names& names, Side& side) {
  side.present = true;
  side.peer = call.number(names.peer);
  side.tag = call.number(names.tag);
  side.count = call.number(names.count);
  side.type = types.find(call.handle<MPI_Datatype>(names.type));
  if (side.peer != MPI_PROC_NULL) side.buffer.add(address_of(call, names.buffer), side.count, side.type);
}

// Adds one block per process, from arrays of counts and displacements.
void add_blocks(const Arguments& call, Types& types, int processes, bool sends, Buffer& buffer) {
  const char* counts = sends ? "sendcounts" : "recvcounts";
  const char* displacements = call.has("displs") ? "displs" : sends ? "sdispls" : "rdispls";
  const char* several = sends ? "sendtypes" : "recvtypes";
  const uintptr_t base = address_of(call, sends ? "sendbuf" : "recvbuf");
  const auto* each = call.has(several) ? call.pointer<const MPI_Datatype>(several) : nullptr;
  if (call.pointer<void>(counts) == nullptr || call.pointer<void>(displacements) == nullptr) return;
  if (call.has(several) && each == nullptr) return;
  for (int i = 0; i < processes; ++i) {
    const TypePointer type =
        types.find(each != nullptr ? each[i] : call.handle<MPI_Datatype>(sends ? "sendtype" : "recvtype"));
    if (type == nullptr) continue;
    const int64_t unit = each != nullptr ? 1 : type->extent;
    buffer.add(base + static_cast<uintptr_t>(call.entry(displacements, i) * unit), call.entry(counts, i),
               type);
  }
}

void read_reduction(const Arguments& call, Types& types, bool at_root, int size, int rank,
                    Operation& operation) {
  const TypePointer type = types.find(call.handle<MPI_Datatype>("datatype"));
  int64_t sent = call.has("count") ? call.number("count") : 0;
  int64_t received = sent;
  if (call.has("recvcount")) {
    received = call.number("recvcount");
    sent = received * size;
  } else if (call.has("recvcounts") && call.pointer<void>("recvcounts") != nullptr) {
    for (int i = 0; i < size; ++i) sent += call.entry("recvcounts", i);
    received = call.entry("recvcounts", rank);
  }
  if (is_place(call, "sendbuf")) {
    operation.receive.buffer.add(address_of(call, "recvbuf"), sent, type);
    return;
  }
  operation.send.buffer.add(address_of(call, "sendbuf"), sent, type);
  if (at_root) operation.receive.buffer.add(address_of(call, "recvbuf"), received, type);
}

}  // namespace

Manner manner_of(const Arguments& call) {
  const std::string name = call.name();
  const bool collective = std::strcmp(call.group(), "coll") == 0;
  if (!collective && !is_message(call) && name.find("_init") == std::string::npos) return Manner::other;
  if (name.ends_with("_init") || name.ends_with("_init_c")) return Manner::persistent;
  return call.has("request") ? Manner::nonblocking : Manner::blocking;
}

bool is_message(const Arguments& call) {
  if (std::strcmp(call.group(), "pt2pt") != 0 || call.has("partitions")) return false;
  return call.has("datatype") || call.has("sendtype");
}

void read_message(const Arguments& call, Types& types, Operation& operation) {
  if (call.has("sendtype")) {
    read_side(call, types, {"sendbuf", "sendcount", "sendtype", "dest", "sendtag"}, operation.send);
    read_side(call, types, {"recvbuf", "recvcount", "recvtype", "source", "recvtag"}, operation.receive);
  } else if (call.has("sendtag")) {  // MPI_Sendrecv_replace: one buffer for both sides
    read_side(call, types, {"buf", "count", "datatype", "dest", "sendtag"}, operation.send);
    read_side(call, types, {"buf", "count", "datatype", "source", "recvtag"}, operation.receive);
    operation.send.buffer = Buffer();
  } else if (call.has("dest")) {
    read_side(call, types, {"buf", "count", "datatype", "dest", "tag"}, operation.send);
  } else if (call.has("source")) {
    read_side(call, types, {"buf", "count", "datatype", "source", "tag"}, operation.receive);
  } else {  // MPI_Mrecv: the message has the peer and the tag
    operation.receive.present = true;
    operation.receive.count = call.number("count");
    operation.receive.type = types.find(call.handle<MPI_Datatype>("datatype"));
    operation.receive.buffer.add(address_of(call, "buf"), operation.receive.count, operation.receive.type);
  }
}

void read_collective(const Arguments& call, Types& types, Operation& operation) {
  const Comm& comm = *operation.comm;
  const std::string stem = stem_of(call.name());
  const Flow flow = flow_of(call.name());
  if (flow == Flow::none || comm.inter) return;
  const bool at_root = call.has("root") ? call.number("root") == comm.rank : true;
  const auto size = static_cast<int>(comm.members.size());
  if (flow == Flow::all_alike) {
    read_reduction(call, types, at_root, size, comm.rank, operation);
    return;
  }
  if (call.has("buffer")) {
    Side& side = at_root ? operation.send : operation.receive;
    side.buffer.add(address_of(call, "buffer"), call.number("count"),
                    types.find(call.handle<MPI_Datatype>("datatype")));
    return;
  }
  const bool sends = (flow != Flow::from_root || at_root) && !is_place(call, "sendbuf");
  const bool receives = (flow != Flow::to_root || at_root) && !is_place(call, "recvbuf");
  if (sends && call.has("sendcounts")) {
    add_blocks(call, types, size, true, operation.send.buffer);
  } else if (sends) {
    const int blocks = stem == "alltoall" || stem == "scatter" ? size : 1;
    operation.send.buffer.add(address_of(call, "sendbuf"), call.number("sendcount") * blocks,
                              types.find(call.handle<MPI_Datatype>("sendtype")));
  }
  if (receives && call.has("recvcounts")) {
    add_blocks(call, types, size, false, operation.receive.buffer);
  } else if (receives) {
    const int blocks = flow == Flow::from_root ? 1 : size;
    operation.receive.buffer.add(address_of(call, "recvbuf"), call.number("recvcount") * blocks,
                                 types.find(call.handle<MPI_Datatype>("recvtype")));
  }
}

std::string words_of(const Operation& operation) {
  std::string text = abi::call_table[static_cast<size_t>(operation.call)].name;
  std::string inside;
  const auto add = [&](const Side& side, const char* direction) {
    if (!side.present || side.peer == MPI_PROC_NULL) return;
    const shm::SignatureWords data =
        side.type == nullptr
            ? shm::SignatureWords()
            : side.type->signature.repeated(static_cast<uint64_t>(std::max<int64_t>(side.count, 0))).words();
    inside += (inside.empty() ? "" : "; ") + words_of(data) + direction;
    inside += side.peer == MPI_ANY_SOURCE ? "any rank" : "rank " + std::to_string(side.peer);
    inside += side.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + std::to_string(side.tag);
  };
  add(operation.send, " to ");
  add(operation.receive, " from ");
  return inside.empty() ? text : text + "(" + inside + ")";
}

}  // namespace hearth::check
