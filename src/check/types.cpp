#include "check/types.h"

#include <algorithm>

#include "hearth_calls.h"

namespace hearth::check {
namespace {

constexpr uint64_t kBase = 0x9e3779b97f4a7c15;  // odd, so that no power of it is 0 modulo 2^64
constexpr size_t kSegmentsMax = 1 << 16;
constexpr uint64_t kHandlesMax = 4096;
constexpr uint64_t kDatatypeLast = 0x3ff;

uint64_t scatter(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

struct Pair {
  MPI_Datatype pair;
  MPI_Datatype first;
  MPI_Datatype second;
};
const Pair kPairs[] = {
    {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, MPI_LONG, MPI_INT},
    {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
    {MPI_2INT, MPI_INT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2REAL, MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
};

uint64_t word_of(MPI_Datatype type) {
  return reinterpret_cast<uintptr_t>(type);
}

// The arguments of a constructor in order, from its small or its large form.
struct Contents {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Datatype> types;
  size_t next_integer = 0;
  size_t next_address = 0;
  size_t next_count = 0;

  int integer() { return next_integer < integers.size() ? integers[next_integer++] : 0; }
  int64_t count() {
    if (counts.empty()) return integer();
    return next_count < counts.size() ? counts[next_count++] : 0;
  }
  int64_t address() {
    if (!counts.empty()) return count();
    return next_address < addresses.size() ? addresses[next_address++] : 0;
  }
  std::vector<int64_t> several(int64_t number, int64_t (Contents::*next)()) {
    std::vector<int64_t> values(static_cast<size_t>(std::max<int64_t>(number, 0)));
    for (int64_t& value : values) value = (this->*next)();
    return values;
  }

  bool read(MPI_Datatype type) {
    MPI_Count sizes[4] = {};
    int combiner = 0;
    if (PMPI_Type_get_envelope_c(type, &sizes[0], &sizes[1], &sizes[2], &sizes[3], &combiner) !=
        MPI_SUCCESS) {
      return false;
    }
    integers.resize(static_cast<size_t>(sizes[0]));
    addresses.resize(static_cast<size_t>(sizes[1]));
    counts.resize(static_cast<size_t>(sizes[2]));
    types.resize(static_cast<size_t>(sizes[3]));
    return PMPI_Type_get_contents_c(type, sizes[0], sizes[1], sizes[2], sizes[3], integers.data(),
                                    addresses.data(), counts.data(), types.data()) == MPI_SUCCESS;
  }
};

void read_bounds(MPI_Datatype type, TypeNode& node) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  MPI_Count size = 0;
  PMPI_Type_get_extent_c(type, &lower, &extent);
  PMPI_Type_get_true_extent_c(type, &true_lower, &true_extent);
  PMPI_Type_size_c(type, &size);
  node.extent = extent;
  node.true_lower_bound = true_lower;
  node.true_extent = true_extent;
  node.size = size;
}

void take_parts(Contents& contents, int combiner, const TypePointer& old, TypeNode& node) {
  const auto add = [&](int64_t displacement, int64_t count, int64_t repeats = 1, int64_t stride = 0) {
    if (count > 0 && repeats > 0) node.parts.push_back({displacement, count, repeats, stride, old});
  };
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      add(0, 1);
      break;
    case MPI_COMBINER_CONTIGUOUS:
      add(0, contents.count());
      break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const int64_t repeats = contents.count();
      const int64_t length = contents.count();
      const int64_t stride =
          combiner == MPI_COMBINER_VECTOR ? contents.count() * old->extent : contents.address();
      add(0, length, repeats, stride);
      break;
    }
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const bool bytes = combiner == MPI_COMBINER_HINDEXED;
      const int64_t number = contents.count();
      const auto lengths = contents.several(number, &Contents::count);
      const auto places = contents.several(number, bytes ? &Contents::address : &Contents::count);
      for (size_t i = 0; i < lengths.size(); ++i) add(places[i] * (bytes ? 1 : old->extent), lengths[i]);
      break;
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const bool bytes = combiner == MPI_COMBINER_HINDEXED_BLOCK;
      const int64_t number = contents.count();
      const int64_t length = contents.count();
      for (const int64_t place : contents.several(number, bytes ? &Contents::address : &Contents::count)) {
        add(place * (bytes ? 1 : old->extent), length);
      }
      break;
    }
    default: {
      // Distributed arrays: only the number of elements is known; the addresses are not derived.
      node.laid_out = false;
      add(0, old->size > 0 ? node.size / old->size : 0);
      break;
    }
  }
}

// Processes one dimension after another, the fastest varying first.
void take_subarray(Contents& contents, const TypePointer& old, TypeNode& node) {
  const int dimensions = contents.integer();
  const auto sizes = contents.several(dimensions, &Contents::count);
  const auto subsizes = contents.several(dimensions, &Contents::count);
  const auto starts = contents.several(dimensions, &Contents::count);
  const bool fortran = contents.integer() == MPI_ORDER_FORTRAN;
  TypePointer inner = old;
  int64_t stride = old->extent;
  int64_t displacement = 0;
  for (int step = 0; step < dimensions; ++step) {
    const auto i = static_cast<size_t>(fortran ? step : dimensions - 1 - step);
    auto next = std::make_shared<TypeNode>();
    next->parts.push_back({0, 1, subsizes[i], stride, inner});
    next->signature = inner->signature.repeated(static_cast<uint64_t>(subsizes[i]));
    next->size = inner->size * subsizes[i];
    next->true_lower_bound = inner->true_lower_bound;
    next->true_extent = inner->true_extent + stride * (subsizes[i] - 1);
    displacement += starts[i] * stride;
    stride *= sizes[i];
    next->extent = stride;
    inner = next;
  }
  node.parts.push_back({displacement, 1, 1, 0, inner});
}

}  // namespace

Signature Signature::of_basic(uint64_t seed, uint16_t handle) {
  Signature result;
  result.hash = scatter(seed + 1);
  result.power = kBase;
  result.elements = 1;
  result.basic = handle;
  return result;
}

Signature Signature::followed_by(const Signature& next) const {
  if (elements == 0) return next;
  if (next.elements == 0) return *this;
  Signature result;
  result.hash = hash * next.power + next.hash;
  result.power = power * next.power;
  result.elements = elements + next.elements;
  result.basic = basic == next.basic ? basic : uint16_t{0};
  result.flags = flags | next.flags;
  return result;
}

Signature Signature::repeated(uint64_t times) const {
  Signature result;
  Signature part = *this;
  for (; times != 0; times >>= 1) {
    if ((times & 1) != 0) result = part.followed_by(result);
    if (times > 1) part = part.followed_by(part);
  }
  return result;
}

shm::SignatureWords Signature::words() const {
  return {hash, elements, basic, flags, 0};
}

bool may_equal(const shm::SignatureWords& a, const shm::SignatureWords& b) {
  constexpr uint16_t kOpen = shm::kSignaturePacked | shm::kSignatureUnknown;
  if (((a.flags | b.flags) & kOpen) != 0) return true;
  return a.hash == b.hash && a.elements == b.elements;
}

std::string handle_words(uint64_t handle) {
  const abi::NamedHandle* end = abi::handle_names + abi::handle_name_count;
  const abi::NamedHandle* found = std::find_if(
      abi::handle_names, end, [handle](const abi::NamedHandle& row) { return row.value == handle; });
  return found == end ? "" : found->name;
}

std::string words_of(const shm::SignatureWords& signature) {
  if ((signature.flags & shm::kSignatureUnknown) != 0) return "data of a type that could not be read";
  if (signature.elements == 0) return "no data";
  const std::string name = signature.basic == 0 ? "" : handle_words(signature.basic);
  const std::string number = std::to_string(signature.elements);
  return name.empty() ? number + " elements of several types" : number + " x " + name;
}

Signature prefix_of(const TypeNode& type, uint64_t count, uint64_t elements) {
  const uint64_t each = type.signature.elements;
  if (each == 0 || elements == 0) return {};
  if (elements >= count * each) return type.signature.repeated(count);
  Signature result = type.signature.repeated(elements / each);
  uint64_t left = elements % each;
  for (const TypeNode::Part& part : type.parts) {
    if (left == 0) break;
    const auto copies = static_cast<uint64_t>(part.count * part.repeats);
    const Signature piece = prefix_of(*part.type, copies, left);
    result = result.followed_by(piece);
    left -= piece.elements;
  }
  return result;
}

bool add_segments(const TypeNode& type, uintptr_t address, int64_t count, std::vector<Segment>& segments) {
  if (count <= 0 || type.size == 0) return true;
  const auto add = [&](uintptr_t first, int64_t bytes) {
    if (!segments.empty() && segments.back().second == first) {
      segments.back().second += static_cast<uintptr_t>(bytes);
      return true;
    }
    segments.emplace_back(first, first + static_cast<uintptr_t>(bytes));
    return segments.size() <= kSegmentsMax;
  };
  const uintptr_t begin = address + static_cast<uintptr_t>(type.true_lower_bound);
  if (type.in_one_piece() && (type.extent == type.size || count == 1)) return add(begin, type.size * count);
  if (!type.laid_out) return false;
  for (int64_t i = 0; i < count; ++i) {
    const uintptr_t at = address + static_cast<uintptr_t>(i * type.extent);
    if (type.parts.empty()) {
      if (!add(at + static_cast<uintptr_t>(type.true_lower_bound), type.size)) return false;
      continue;
    }
    for (const TypeNode::Part& part : type.parts) {
      for (int64_t repeat = 0; repeat < part.repeats; ++repeat) {
        const uintptr_t place = at + static_cast<uintptr_t>(part.displacement + repeat * part.stride);
        if (!add_segments(*part.type, place, part.count, segments)) return false;
      }
    }
  }
  return true;
}

TypePointer Types::find(MPI_Datatype type) {
  const uint64_t word = word_of(type);
  const bool named = word < kHandlesMax;
  if (named && (word <= word_of(MPI_DATATYPE_NULL) || word > kDatatypeLast || handle_words(word).empty())) {
    return nullptr;
  }
  const uint64_t generation = named ? 1 : ledger_.generation(word);
  if (generation == 0) return nullptr;
  if (const auto known = known_.find(type); known != known_.end() && known->second.generation == generation) {
    return known->second.node;
  }
  const TypePointer node = read(type);
  known_[type] = {generation, node};
  return node;
}

TypePointer Types::read_basic(MPI_Datatype type, int combiner) {
  auto node = std::make_shared<TypeNode>();
  read_bounds(type, *node);
  const uint64_t word = word_of(type);
  for (const Pair& pair : kPairs) {
    if (pair.pair != type) continue;
    const TypePointer first = find(pair.first);
    const TypePointer second = find(pair.second);
    node->parts.push_back({0, 1, 1, 0, first});
    node->parts.push_back({std::max(first->extent, second->extent), 1, 1, 0, second});
    node->signature = first->signature.followed_by(second->signature);
    return node;
  }
  uint64_t seed = word;
  if (word >= kHandlesMax) {  // MPI_Type_create_f90_real and similar: distinguished by their arguments
    Contents contents;
    contents.read(type);
    seed = static_cast<uint64_t>(combiner) << 32;
    for (const int value : contents.integers) seed = scatter(seed + static_cast<uint32_t>(value));
  }
  node->signature = Signature::of_basic(seed, static_cast<uint16_t>(word < kHandlesMax ? word : 0));
  if (type == MPI_PACKED) node->signature.flags = shm::kSignaturePacked;
  return node;
}

bool Types::read_parts(MPI_Datatype type, int combiner, TypeNode& node) {
  Contents contents;
  if (!contents.read(type) || contents.types.empty()) return false;
  std::vector<TypePointer> old;
  for (const MPI_Datatype each : contents.types) {
    // Derived types are returned as copies, which are freed here and therefore not cached.
    const bool predefined = word_of(each) < kHandlesMax;
    old.push_back(predefined ? find(each) : read(each));
    if (!predefined) {
      MPI_Datatype copy = each;
      int of_copy = 0;
      MPI_Count unused[4];
      PMPI_Type_get_envelope_c(each, &unused[0], &unused[1], &unused[2], &unused[3], &of_copy);
      const bool unnamed = of_copy == MPI_COMBINER_F90_REAL || of_copy == MPI_COMBINER_F90_COMPLEX ||
                           of_copy == MPI_COMBINER_F90_INTEGER || of_copy == MPI_COMBINER_VALUE_INDEX;
      if (!unnamed) PMPI_Type_free(&copy);
    }
    if (old.back() == nullptr) return false;
  }
  if (combiner == MPI_COMBINER_STRUCT) {
    const int64_t number = contents.count();
    const auto lengths = contents.several(number, &Contents::count);
    const auto places = contents.several(number, &Contents::address);
    for (size_t i = 0; i < lengths.size() && i < old.size(); ++i) {
      if (lengths[i] > 0) node.parts.push_back({places[i], lengths[i], 1, 0, old[i]});
    }
  } else if (combiner == MPI_COMBINER_VALUE_INDEX) {
    for (const TypePointer& member : old) node.parts.push_back({0, 1, 1, 0, member});
    node.laid_out = false;
  } else if (combiner == MPI_COMBINER_SUBARRAY) {
    take_subarray(contents, old[0], node);
  } else {
    take_parts(contents, combiner, old[0], node);
  }
  for (const TypeNode::Part& part : node.parts) {
    const auto copies = static_cast<uint64_t>(part.count * part.repeats);
    node.signature = node.signature.followed_by(part.type->signature.repeated(copies));
    node.laid_out = node.laid_out && part.type->laid_out;
  }
  return true;
}

TypePointer Types::read(MPI_Datatype type) {
  MPI_Count unused[4];
  int combiner = 0;
  if (PMPI_Type_get_envelope_c(type, &unused[0], &unused[1], &unused[2], &unused[3], &combiner) !=
      MPI_SUCCESS) {
    return nullptr;
  }
  const bool basic = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
                     combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  if (basic) return read_basic(type, combiner);
  auto node = std::make_shared<TypeNode>();
  read_bounds(type, *node);
  if (!read_parts(type, combiner, *node)) return nullptr;
  return node;
}

}  // namespace hearth::check
