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
  void add(const char* text) { add("%s", text); }
  size_t length() const { return length_; }

 private:
  char* to_;
  size_t bytes_;
  size_t length_ = 0;
};

const char* name_in(const ConstantSet& set, int64_t number) {
  const NamedNumber* const end = set.constants + set.count;
  const NamedNumber* const found =
      std::find_if(set.constants, end, [number](const NamedNumber& each) { return each.value == number; });
  return found != end ? found->name : nullptr;
}

/// "MPI_MODE_CREATE | MPI_MODE_WRONLY"; bits that are no constants as one number.
void add_bits(Text& text, const ConstantSet& set, int64_t number) {
  const char* separator = "";
  for (int i = 0; i < set.count; ++i) {
    if ((number & set.constants[i].value) == 0) continue;
    text.add("%s%s", separator, set.constants[i].name);
    number &= ~int64_t{set.constants[i].value};
    separator = " | ";
  }
  if (number != 0) text.add("%s0x%" PRIx64, separator, static_cast<uint64_t>(number));
}

/// A number of a set of constants by its name.
void add_number(Text& text, Meaning meaning, int64_t number) {
  const ConstantSet& set = constant_sets[static_cast<int>(meaning)];
  if (set.bits && number > 0) return add_bits(text, set, number);
  const char* const name = name_in(set, number);
  name != nullptr ? text.add("%s", name) : text.add("%" PRId64, number);
}

void add_handle(Text& text, uint64_t word) {
  const char* name = handle_name(word);
  if (name != nullptr) {
    text.add("%s", name);
  } else {
    text.add("0x%" PRIx64, word);
  }
}

void add_value(Text& text, const Parameter& parameter, uint64_t word) {
  const Kind kind = parameter.kind;
  const auto number = static_cast<int64_t>(word);
  switch (kind) {
    case Kind::dest:
    case Kind::source:
    case Kind::target:
    case Kind::root:
    case Kind::tag_or_any:
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
      return add_number(text, parameter.meaning, number);
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
    add_value(line, info.parameters[i], words[i]);
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
