#include "datatype/external32.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>

#include "datatype/signature.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

/// The conversion of elements of one predefined type.
struct Conversion {
  enum class Kind : uint8_t { reorder, integer, unsigned_integer, long_double };

  Kind kind = Kind::reorder;
  int64_t native_bytes = 0;    // of one number: a complex number is two
  int64_t external_bytes = 0;  // of one number
  int64_t numbers = 1;         // in one element
};

bool is(const Type& type, MPI_Datatype handle) {
  return type.predefined != 0 && type.predefined == reinterpret_cast<uintptr_t>(handle);
}

Conversion conversion_of(const Type& type) {
  using Kind = Conversion::Kind;
  if (is(type, MPI_LONG)) return {Kind::integer, sizeof(long), 4, 1};
  if (is(type, MPI_UNSIGNED_LONG)) return {Kind::unsigned_integer, sizeof(long), 4, 1};
  if (is(type, MPI_WCHAR)) return {Kind::unsigned_integer, sizeof(wchar_t), 2, 1};
  switch (type.element) {
    case Element::float_long:
      return {Kind::long_double, sizeof(long double), 16, 1};
    case Element::complex_long:
      return {Kind::long_double, sizeof(long double), 16, 2};
    case Element::complex_half:
    case Element::complex32:
    case Element::complex64:
    case Element::complex128:
      return {Kind::reorder, type.size / 2, type.size / 2, 2};
    default:
      return {Kind::reorder, type.size, type.size, 1};
  }
}

void copy_reordered(std::byte* to, const std::byte* from, int64_t bytes) {
  if constexpr (std::endian::native == std::endian::little) {
    std::reverse_copy(from, from + bytes, to);
  } else {
    std::copy(from, from + bytes, to);
  }
}

uint64_t read_big_endian(const std::byte* from, int64_t bytes) {
  uint64_t value = 0;
  for (int64_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint64_t>(from[i]);
  return value;
}

/// An integer of `bytes` bytes, extended to 64 bits with its sign if it has one.
uint64_t extend(uint64_t value, int64_t bytes, bool has_sign) {
  const int unused = 64 - 8 * static_cast<int>(bytes);
  if (unused == 0) return value;
  const uint64_t high = value << unused;
  return has_sign ? static_cast<uint64_t>(static_cast<int64_t>(high) >> unused) : high >> unused;
}

#if LDBL_MANT_DIG == 113
using Binary128 = long double;
#elif defined(__SIZEOF_FLOAT128__)
using Binary128 = __float128;
#else
#error "this compiler has no type of IEEE format binary128: external32 needs one for long double"
#endif

class Converter {
 public:
  explicit Converter(const Type& type) : conversion_(conversion_of(type)), type_(type) {}

  Status pack(const std::byte* native, Count count, std::byte* external) const {
    for (Count i = 0; i < count * conversion_.numbers; ++i) {
      HEARTH_TRY(pack_number(native, external));
      native += conversion_.native_bytes;
      external += conversion_.external_bytes;
    }
    return {};
  }
  void unpack(const std::byte* external, Count count, std::byte* native) const {
    for (Count i = 0; i < count * conversion_.numbers; ++i) {
      unpack_number(external, native);
      native += conversion_.native_bytes;
      external += conversion_.external_bytes;
    }
  }
  int64_t element_bytes() const { return conversion_.external_bytes * conversion_.numbers; }
  size_t native_bytes(Count elements) const { return static_cast<size_t>(elements * type_.size); }

 private:
  bool has_sign() const { return conversion_.kind == Conversion::Kind::integer; }

  Status pack_number(const std::byte* native, std::byte* external) const {
    switch (conversion_.kind) {
      case Conversion::Kind::reorder:
        copy_reordered(external, native, conversion_.native_bytes);
        return {};
      case Conversion::Kind::long_double: {
        long double value;
        std::memcpy(&value, native, sizeof value);
        const auto wide = static_cast<Binary128>(value);
        copy_reordered(external, reinterpret_cast<const std::byte*>(&wide), sizeof wide);
        return {};
      }
      case Conversion::Kind::integer:
      case Conversion::Kind::unsigned_integer:
        return pack_integer(native, external);
    }
    return {};
  }

  Status pack_integer(const std::byte* native, std::byte* external) const {
    std::byte reordered[sizeof(uint64_t)];
    copy_reordered(reordered, native, conversion_.native_bytes);
    const int64_t skipped = conversion_.native_bytes - conversion_.external_bytes;
    std::copy(reordered + skipped, reordered + conversion_.native_bytes, external);
    const uint64_t value =
        extend(read_big_endian(reordered, conversion_.native_bytes), conversion_.native_bytes, has_sign());
    const uint64_t kept =
        extend(read_big_endian(external, conversion_.external_bytes), conversion_.external_bytes, has_sign());
    if (value == kept) return {};
    return fail(MPI_ERR_CONVERSION,
                "a value of %s needs more than the %lld bytes that external32 gives it. Remedy: send it as "
                "another type, such as MPI_INT64_T",
                type_.name.c_str(), static_cast<long long>(conversion_.external_bytes));
  }

  void unpack_number(const std::byte* external, std::byte* native) const {
    switch (conversion_.kind) {
      case Conversion::Kind::reorder:
        copy_reordered(native, external, conversion_.native_bytes);
        return;
      case Conversion::Kind::long_double: {
        Binary128 wide;
        copy_reordered(reinterpret_cast<std::byte*>(&wide), external, sizeof wide);
        const auto value = static_cast<long double>(wide);
        std::memcpy(native, &value, sizeof value);
        return;
      }
      case Conversion::Kind::integer:
      case Conversion::Kind::unsigned_integer:
        const uint64_t value = extend(read_big_endian(external, conversion_.external_bytes),
                                      conversion_.external_bytes, has_sign());
        if (conversion_.native_bytes == sizeof(uint64_t)) {
          std::memcpy(native, &value, sizeof value);
        } else {
          const auto narrow = static_cast<uint32_t>(value);
          std::memcpy(native, &narrow, sizeof narrow);
        }
        return;
    }
  }

  Conversion conversion_;
  const Type& type_;
};

// The native data are packed as for a message, piece by piece, through a buffer on the stack.
constexpr int64_t kPieceBytes = 2048;

/// Calls visit(converter, part, offset, piece) for each part of a run of elements of one basic type: the
/// packed bytes of `part` elements begin at `offset` of the message and fit into `piece`.
template <class Visit>
Status for_each_piece(const Type& type, Count count, const Visit& visit) {
  int64_t offset = 0;
  alignas(16) std::byte piece[kPieceBytes];
  return for_each_run(type, count, [&](const Type& basic, Count run) {
    const Converter converter(basic);
    while (run > 0) {
      const Count part = std::min(run, kPieceBytes / basic.size);
      HEARTH_TRY(visit(converter, part, offset, piece));
      offset += part * basic.size;
      run -= part;
    }
    return Status();
  });
}

}  // namespace

int64_t external32_bytes(const Type& type) {
  int64_t bytes = 0;
  // Cannot fail, because the callback does not.
  (void)for_each_run(type, 1, [&](const Type& basic, Count count) {
    bytes += count * Converter(basic).element_bytes();
    return Status();
  });
  return bytes;
}

Status pack_external32(const Type& type, const void* buffer, Count count, std::byte* packed) {
  return for_each_piece(type, count,
                        [&](const Converter& converter, Count part, int64_t offset, std::byte* piece) {
                          pack(type, buffer, offset, piece, converter.native_bytes(part));
                          HEARTH_TRY(converter.pack(piece, part, packed));
                          packed += part * converter.element_bytes();
                          return Status();
                        });
}

Status unpack_external32(const Type& type, void* buffer, Count count, const std::byte* packed) {
  return for_each_piece(type, count,
                        [&](const Converter& converter, Count part, int64_t offset, std::byte* piece) {
                          converter.unpack(packed, part, piece);
                          unpack(type, buffer, offset, piece, converter.native_bytes(part));
                          packed += part * converter.element_bytes();
                          return Status();
                        });
}

}  // namespace hearth::datatype
