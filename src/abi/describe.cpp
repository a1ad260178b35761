#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "abi/error.h"
#include "abi/handle.h"

namespace hearth::abi {
namespace {

/// Appends to a buffer of fixed size and counts the bytes that the whole text needs.
class Text {
 public:
  Text(char* to, size_t bytes) : to_(to), bytes_(bytes) {
    if (bytes_ > 0) to_[0] = 0;
  }
  template <class... Values>
  void add(const char* format, Values... values) {
    const size_t at = std::min(length_, bytes_);
    const int added = std::snprintf(to_ + at, bytes_ - at, format, values...);
    if (added > 0) length_ += static_cast<size_t>(added);
  }
  size_t length() const { return length_; }

 private:
  char* to_;
  size_t bytes_;
  size_t length_ = 0;
};

void add_rank(Text& text, int64_t rank) {
  switch (rank) {
    case MPI_ANY_SOURCE:
      return text.add("MPI_ANY_SOURCE");
    case MPI_PROC_NULL:
      return text.add("MPI_PROC_NULL");
    case MPI_ROOT:
      return text.add("MPI_ROOT");
    default:
      return text.add("%" PRId64, rank);
  }
}

void add_handle(Text& text, uint64_t word) {
  const char* name = handle_name(word);
  if (name != nullptr) {
    text.add("%s", name);
  } else {
    text.add("0x%" PRIx64, word);
  }
}

void add_value(Text& text, Kind kind, uint64_t word) {
  const auto number = static_cast<int64_t>(word);
  switch (kind) {
    case Kind::dest:
    case Kind::source:
    case Kind::target:
    case Kind::root:
      return add_rank(text, number);
    case Kind::tag_or_any:
      if (number == MPI_ANY_TAG) return text.add("MPI_ANY_TAG");
      return text.add("%" PRId64, number);
    case Kind::int_:
    case Kind::count:
    case Kind::large_count:
    case Kind::request_count:
    case Kind::length:
    case Kind::size:
    case Kind::aint:
    case Kind::aint_size:
    case Kind::window_size:
    case Kind::integer:
    case Kind::displacement:
    case Kind::wide_size:
    case Kind::disp_unit:
    case Kind::offset:
    case Kind::raw_int:
    case Kind::tag:
      return text.add("%" PRId64, number);
    case Kind::comm:
    case Kind::comm_named:
    case Kind::group:
    case Kind::type:
    case Kind::any_type:
    case Kind::type_named:
    case Kind::op:
    case Kind::info:
    case Kind::info_or_null:
    case Kind::errhandler:
    case Kind::request:
    case Kind::win:
    case Kind::win_named:
    case Kind::file:
    case Kind::file_or_null:
    case Kind::session:
      return add_handle(text, word);
    case Kind::in_or_place:
    case Kind::in_or_place_at_root:
    case Kind::out_or_place_at_root:
      if (word == reinterpret_cast<uintptr_t>(MPI_IN_PLACE)) return text.add("MPI_IN_PLACE");
      return text.add("0x%" PRIx64, word);
    case Kind::string:
      if (word == 0) return text.add("NULL");
      return text.add("\"%.64s\"", reinterpret_cast<const char*>(word));
    case Kind::status:
    case Kind::statuses:
      if (word == 0) return text.add(kind == Kind::status ? "MPI_STATUS_IGNORE" : "MPI_STATUSES_IGNORE");
      return text.add("0x%" PRIx64, word);
    default:
      if (word == 0) return text.add("NULL");
      return text.add("0x%" PRIx64, word);
  }
}

}  // namespace

const char* handle_name(uint64_t value) {
  const NamedHandle* end = handle_names + handle_name_count;
  const NamedHandle* found = std::lower_bound(
      handle_names, end, value, [](const NamedHandle& row, uint64_t wanted) { return row.value < wanted; });
  return found != end && found->value == value ? found->name : nullptr;
}

size_t describe_call(Call call, const uint64_t* words, char* text, size_t bytes) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  Text line(text, bytes);
  line.add("%s(", info.name);
  for (int i = 0; i < info.parameter_count; ++i) {
    line.add("%s%s=", i > 0 ? ", " : "", info.parameters[i].name);
    add_value(line, info.parameters[i].kind, words[i]);
  }
  line.add(")");
  return line.length();
}

namespace {

/// The first valid argument of one of these kinds. `by_pointer`: a kind that is passed by address.
template <class Object>
Object* object_among(Call call, const uint64_t* words, std::initializer_list<Kind> kinds, Kind by_pointer) {
  const CallInfo& info = call_table[static_cast<int>(call)];
  for (int i = 0; i < info.parameter_count; ++i) {
    const Kind kind = info.parameters[i].kind;
    uint64_t word = words[i];
    if (kind == by_pointer && word != 0) {
      std::memcpy(&word, reinterpret_cast<const void*>(word), sizeof word);
    } else if (std::ranges::find(kinds, kind) == kinds.end()) {
      continue;
    }
    if (Object* object = find<Object>(reinterpret_cast<HandleOf<Object>>(word))) return object;
  }
  return nullptr;
}

}  // namespace

objects::Comm* comm_among(Call call, const uint64_t* words) {
  return object_among<objects::Comm>(call, words, {Kind::comm, Kind::comm_named}, Kind::comm_inout);
}

objects::Win* win_among(Call call, const uint64_t* words) {
  return object_among<objects::Win>(call, words, {Kind::win, Kind::win_named}, Kind::win_inout);
}

objects::File* file_among(Call call, const uint64_t* words) {
  return object_among<objects::File>(call, words, {Kind::file, Kind::file_or_null}, Kind::file_inout);
}

objects::Group* group_among(Call call, const uint64_t* words) {
  return object_among<objects::Group>(call, words, {Kind::group}, Kind::group_inout);
}

p2p::Request* request_among(Call call, const uint64_t* words) {
  return object_among<p2p::Request>(call, words, {Kind::request}, Kind::request_inout);
}

}  // namespace hearth::abi
