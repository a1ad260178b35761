// The structure of datatypes for the checks: the type signature (MPI 5.0 section 3.3.1) as a hash that can be
// composed from those of the parts, and the addresses of the data. Read by MPI_Type_get_envelope and
// MPI_Type_get_contents, once per handle. Under the check library's lock, in private memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/ledger.h"
#include "mpi.h"
#include "shm/check_board.h"

namespace hearth::check {

/// Signature of a sequence of basic elements. The hash of a concatenation follows from the parts' hashes, so
/// that repetition costs O(log count).
struct Signature {
  uint64_t hash = 0;
  uint64_t power = 1;
  uint64_t elements = 0;
  uint16_t basic = 0;  // the handle, if all elements have one named type
  uint16_t flags = 0;  // shm::kSignature*

  static Signature of_basic(uint64_t seed, uint16_t handle);
  Signature followed_by(const Signature& next) const;
  Signature repeated(uint64_t times) const;
  shm::SignatureWords words() const;
};

/// Whether the signatures are equal, or one of them is unknown or contains MPI_PACKED.
bool may_equal(const shm::SignatureWords& a, const shm::SignatureWords& b);
/// "4 x MPI_INT".
std::string words_of(const shm::SignatureWords& signature);
/// The name of a predefined handle; "" for other handles.
std::string handle_words(uint64_t handle);

struct TypeNode;
using TypePointer = std::shared_ptr<const TypeNode>;

/// A datatype: a basic one, or a sequence of parts in packed order.
struct TypeNode {
  struct Part {
    int64_t displacement;
    int64_t count;  // of `type`, one extent apart
    int64_t repeats;
    int64_t stride;  // bytes between repeats
    TypePointer type;
  };
  Signature signature;
  int64_t size = 0;
  int64_t extent = 0;
  int64_t true_lower_bound = 0;
  int64_t true_extent = 0;
  bool laid_out = true;  // false: the parts do not give the addresses
  std::vector<Part> parts;

  bool in_one_piece() const { return size == true_extent; }
};

/// The first `elements` basic elements of `count` of a type.
Signature prefix_of(const TypeNode& type, uint64_t count, uint64_t elements);

/// From the first byte to one past the last.
using Segment = std::pair<uintptr_t, uintptr_t>;
/// Appends the segments of `count` elements of a type at `address`; false if unknown or too many.
bool add_segments(const TypeNode& type, uintptr_t address, int64_t count, std::vector<Segment>& segments);

class Types {
 public:
  explicit Types(const Ledger& ledger) : ledger_(ledger) {}
  /// nullptr if it is not a datatype.
  TypePointer find(MPI_Datatype type);

 private:
  struct Known {
    uint64_t generation = 0;
    TypePointer node;
  };
  TypePointer read(MPI_Datatype type);
  TypePointer read_basic(MPI_Datatype type, int combiner);
  bool read_parts(MPI_Datatype type, int combiner, TypeNode& node);

  const Ledger& ledger_;
  std::unordered_map<MPI_Datatype, Known> known_;
};

}  // namespace hearth::check
