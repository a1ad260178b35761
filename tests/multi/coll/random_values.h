/* Random numbers that all ranks draw alike, the predefined datatypes, and the results of reductions on their
 * values. The values are computed by the simplest means, independently of the library. */
#ifndef TESTS_MULTI_COLL_RANDOM_VALUES_H
#define TESTS_MULTI_COLL_RANDOM_VALUES_H

#include <stdint.h>

#include "check.h"

static uint64_t mix(uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

/* A word derived from up to three others and a seed. */
static uint64_t hash_of(uint64_t seed, long a, long b, long c) {
  const uint64_t first = mix(seed + 0x9e3779b97f4a7c15u * (uint64_t)(a + 2));
  return mix(first + 0xc2b2ae3d27d4eb4fu * (uint64_t)(b + 2) + 0x165667b19e3779f9u * (uint64_t)(c + 2));
}

/* A stream of random words. */
typedef struct {
  uint64_t seed, drawn;
} Stream;

static uint64_t draw_word(Stream* stream) {
  return mix(stream->seed + 0x9e3779b97f4a7c15u * ++stream->drawn);
}
static long draw(Stream* stream, long below) {
  return below <= 1 ? 0 : (long)((draw_word(stream) >> 16) % (uint64_t)below);
}
static int chance(Stream* stream, int percent) {
  return draw(stream, 100) < percent;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;
#else
typedef uint64_t Wide;
typedef int64_t SignedWide;
#endif

/* The representation of a number in memory. */
typedef enum { kSigned, kUnsigned, kHalf, kSingle, kDouble, kExtended, kQuad } Machine;

/* The reductions that are defined for it: none for kText, MPI_MINLOC and MPI_MAXLOC for kPair. */
typedef enum { kText, kBits, kLogical, kInteger, kReal, kComplex, kPair } Class;

typedef struct {
  const char* name;
  MPI_Datatype type;
  Class class;
  Machine machine;
  int bytes;                   /* of one number */
  Machine second;              /* of a pair */
  int second_at, second_bytes; /* of a pair or a complex number */
  int extent;
} Type;

/* A number of the type; two numbers for pairs and complex types. */
typedef struct {
  Wide bits;
  long double first, second;
} Value;

#define ONE(mpi, class, machine, c) \
  { #mpi, mpi, class, machine, sizeof(c), machine, 0, 0, sizeof(c) }
#define COMPLEX(mpi, machine, c) \
  { #mpi, mpi, kComplex, machine, sizeof(c), machine, sizeof(c), sizeof(c), 2 * sizeof(c) }
#define PAIR(mpi, machine, c, index_machine, index)      \
  {                                                      \
#mpi, mpi, kPair, machine, sizeof(c), index_machine, \
        offsetof(                                        \
            struct {                                     \
              c value;                                   \
              index place;                               \
            },                                           \
            place),                                      \
        sizeof(index), sizeof(struct {                   \
          c value;                                       \
          index place;                                   \
        })                                               \
  }

#include <stddef.h>
#include <wchar.h>

/* A stand-in of the right size for a type that C lacks. */
typedef struct {
  unsigned char bytes[2];
} TwoBytes;
typedef struct {
  unsigned char bytes[16];
} SixteenBytes;

static const Type kTypes[] = {
    ONE(MPI_CHAR, kText, kSigned, char),
    ONE(MPI_WCHAR, kText, kSigned, wchar_t),
    ONE(MPI_BYTE, kBits, kUnsigned, uint8_t),
    ONE(MPI_SIGNED_CHAR, kInteger, kSigned, int8_t),
    ONE(MPI_UNSIGNED_CHAR, kInteger, kUnsigned, uint8_t),
    ONE(MPI_SHORT, kInteger, kSigned, short),
    ONE(MPI_UNSIGNED_SHORT, kInteger, kUnsigned, short),
    ONE(MPI_INT, kInteger, kSigned, int),
    ONE(MPI_UNSIGNED, kInteger, kUnsigned, int),
    ONE(MPI_LONG, kInteger, kSigned, long),
    ONE(MPI_UNSIGNED_LONG, kInteger, kUnsigned, long),
    ONE(MPI_LONG_LONG, kInteger, kSigned, int64_t),
    ONE(MPI_UNSIGNED_LONG_LONG, kInteger, kUnsigned, int64_t),
    ONE(MPI_INT8_T, kInteger, kSigned, int8_t),
    ONE(MPI_UINT8_T, kInteger, kUnsigned, int8_t),
    ONE(MPI_INT16_T, kInteger, kSigned, int16_t),
    ONE(MPI_UINT16_T, kInteger, kUnsigned, int16_t),
    ONE(MPI_INT32_T, kInteger, kSigned, int32_t),
    ONE(MPI_UINT32_T, kInteger, kUnsigned, int32_t),
    ONE(MPI_INT64_T, kInteger, kSigned, int64_t),
    ONE(MPI_UINT64_T, kInteger, kUnsigned, int64_t),
    ONE(MPI_AINT, kInteger, kSigned, MPI_Aint),
    ONE(MPI_COUNT, kInteger, kSigned, MPI_Count),
    ONE(MPI_OFFSET, kInteger, kSigned, MPI_Offset),
    ONE(MPI_C_BOOL, kLogical, kUnsigned, uint8_t),
    ONE(MPI_FLOAT, kReal, kSingle, float),
    ONE(MPI_DOUBLE, kReal, kDouble, double),
    ONE(MPI_LONG_DOUBLE, kReal, kExtended, long double),
    COMPLEX(MPI_C_FLOAT_COMPLEX, kSingle, float),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, kDouble, double),
    COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, kExtended, long double),
    PAIR(MPI_SHORT_INT, kSigned, short, kSigned, int),
    PAIR(MPI_2INT, kSigned, int, kSigned, int),
    PAIR(MPI_LONG_INT, kSigned, long, kSigned, int),
    PAIR(MPI_FLOAT_INT, kSingle, float, kSigned, int),
    PAIR(MPI_DOUBLE_INT, kDouble, double, kSigned, int),
    PAIR(MPI_LONG_DOUBLE_INT, kExtended, long double, kSigned, int),
#ifdef MPI_ABI_VERSION
    /* In other libraries the types of Fortran depend on their Fortran compiler. */
    ONE(MPI_PACKED, kText, kUnsigned, char),
    ONE(MPI_CHARACTER, kText, kSigned, char),
    ONE(MPI_CXX_BOOL, kLogical, kUnsigned, uint8_t),
    COMPLEX(MPI_CXX_FLOAT_COMPLEX, kSingle, float),
    COMPLEX(MPI_CXX_DOUBLE_COMPLEX, kDouble, double),
    COMPLEX(MPI_CXX_LONG_DOUBLE_COMPLEX, kExtended, long double),
    ONE(MPI_LOGICAL, kLogical, kUnsigned, int32_t),
    ONE(MPI_LOGICAL1, kLogical, kUnsigned, int8_t),
    ONE(MPI_LOGICAL2, kLogical, kUnsigned, int16_t),
    ONE(MPI_LOGICAL4, kLogical, kUnsigned, int32_t),
    ONE(MPI_LOGICAL8, kLogical, kUnsigned, int64_t),
    ONE(MPI_INTEGER, kInteger, kSigned, int32_t),
    ONE(MPI_INTEGER1, kInteger, kSigned, int8_t),
    ONE(MPI_INTEGER2, kInteger, kSigned, int16_t),
    ONE(MPI_INTEGER4, kInteger, kSigned, int32_t),
    ONE(MPI_INTEGER8, kInteger, kSigned, int64_t),
    ONE(MPI_REAL, kReal, kSingle, float),
    ONE(MPI_REAL4, kReal, kSingle, float),
    ONE(MPI_REAL8, kReal, kDouble, double),
    ONE(MPI_DOUBLE_PRECISION, kReal, kDouble, double),
    COMPLEX(MPI_COMPLEX, kSingle, float),
    COMPLEX(MPI_DOUBLE_COMPLEX, kDouble, double),
    COMPLEX(MPI_COMPLEX8, kSingle, float),
    COMPLEX(MPI_COMPLEX16, kDouble, double),
    PAIR(MPI_2REAL, kSingle, float, kSingle, float),
    PAIR(MPI_2DOUBLE_PRECISION, kDouble, double, kDouble, double),
    PAIR(MPI_2INTEGER, kSigned, int32_t, kSigned, int32_t),
#ifdef __FLT16_MANT_DIG__
    ONE(MPI_REAL2, kReal, kHalf, TwoBytes),
    COMPLEX(MPI_COMPLEX4, kHalf, TwoBytes),
#endif
#ifdef __SIZEOF_INT128__
    ONE(MPI_INTEGER16, kInteger, kSigned, SixteenBytes),
    ONE(MPI_LOGICAL16, kLogical, kUnsigned, SixteenBytes),
#endif
#ifdef __SIZEOF_FLOAT128__
    ONE(MPI_REAL16, kReal, kQuad, SixteenBytes),
    COMPLEX(MPI_COMPLEX32, kQuad, SixteenBytes),
#endif
#endif
};
enum { kTypeCount = sizeof kTypes / sizeof kTypes[0] };

/* The element of user-defined operations: two numbers of 32 bits. */
static const Type* user_type(void) {
  for (int i = 0; i < kTypeCount; ++i)
    if (kTypes[i].type == MPI_UINT64_T) return &kTypes[i];
  return NULL;
}

typedef enum {
  kSum,
  kProduct,
  kMinimum,
  kMaximum,
  kAnd,
  kOr,
  kExclusiveOr,
  kLogicalAnd,
  kLogicalOr,
  kLogicalExclusiveOr,
  kMinimumPlace,
  kMaximumPlace,
  kUserAnyOrder,
  kUserInOrder,
  kOperations
} Operation;

static const struct {
  const char* name;
  const char* classes; /* letters as in class_letter() */
} kOperationNames[kOperations] = {
    {"MPI_SUM", "irc"},
    {"MPI_PROD", "irc"},
    {"MPI_MIN", "ir"},
    {"MPI_MAX", "ir"},
    {"MPI_BAND", "ib"},
    {"MPI_BOR", "ib"},
    {"MPI_BXOR", "ib"},
    {"MPI_LAND", "il"},
    {"MPI_LOR", "il"},
    {"MPI_LXOR", "il"},
    {"MPI_MINLOC", "p"},
    {"MPI_MAXLOC", "p"},
    {"a user's that commutes", ""},
    {"a user's that does not commute", ""},
};

static char class_letter(Class class) {
  return "tblircp"[class];
}

static MPI_Op operation_handle(Operation operation, const MPI_Op users[2]) {
  const MPI_Op predefined[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_BAND,   MPI_BOR,
                               MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
  return operation < kUserAnyOrder ? predefined[operation] : users[operation - kUserAnyOrder];
}

static long double load_number(Machine machine, int bytes, const unsigned char* from) {
  int64_t word = 0;
  float single;
  double both;
  long double extended;
  switch (machine) {
    case kSigned:
      memcpy(&word, from, (size_t)bytes);
      return (long double)((int64_t)((uint64_t)word << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    case kSingle:
      memcpy(&single, from, sizeof single);
      return single;
    case kDouble:
      memcpy(&both, from, sizeof both);
      return both;
    case kExtended:
      memcpy(&extended, from, sizeof extended);
      return extended;
#ifdef __FLT16_MANT_DIG__
    case kHalf: {
      _Float16 half;
      memcpy(&half, from, sizeof half);
      return half;
    }
#endif
#ifdef __SIZEOF_FLOAT128__
    case kQuad: {
      __float128 quad;
      memcpy(&quad, from, sizeof quad);
      return (long double)quad;
    }
#endif
    default:
      return 0;
  }
}

static void store_number(Machine machine, int bytes, unsigned char* to, long double number) {
  const int64_t word = (int64_t)number;
  const float single = (float)number;
  const double both = (double)number;
  switch (machine) {
    case kSigned:
      memcpy(to, &word, (size_t)bytes);
      break;
    case kSingle:
      memcpy(to, &single, sizeof single);
      break;
    case kDouble:
      memcpy(to, &both, sizeof both);
      break;
    case kExtended:
      memcpy(to, &number, sizeof number);
      break;
#ifdef __FLT16_MANT_DIG__
    case kHalf: {
      const _Float16 half = (_Float16)number;
      memcpy(to, &half, sizeof half);
      break;
    }
#endif
#ifdef __SIZEOF_FLOAT128__
    case kQuad: {
      const __float128 quad = number;
      memcpy(to, &quad, sizeof quad);
      break;
    }
#endif
    default:
      break;
  }
}

static int is_whole(const Type* type) {
  return type->class == kInteger || type->class == kBits || type->class == kLogical;
}

static Value load_value(const Type* type, const unsigned char* from) {
  Value value = {0, 0, 0};
  if (is_whole(type)) {
    memcpy(&value.bits, from, (size_t)type->bytes);
    return value;
  }
  value.first = load_number(type->machine, type->bytes, from);
  if (type->second_bytes > 0)
    value.second = load_number(type->second, type->second_bytes, from + type->second_at);
  return value;
}

static void store_value(const Type* type, unsigned char* to, Value value) {
  if (is_whole(type)) {
    memcpy(to, &value.bits, (size_t)type->bytes);
    return;
  }
  store_number(type->machine, type->bytes, to, value.first);
  if (type->second_bytes > 0)
    store_number(type->second, type->second_bytes, to + type->second_at, value.second);
}

static int equal_values(Value a, Value b) {
  return a.bits == b.bits && a.first == b.first && a.second == b.second;
}

/* A rank's input to a reduction at an index. Integers are arbitrary. Other types have values for which sums
 * and products are exact in any order: they are small, and at most every fifth rank has a factor greater than
 * one. */
static Value input_value(const Type* type, Operation operation, uint64_t seed, int rank, long index) {
  const uint64_t word = hash_of(seed, rank, index, 7);
  const int greater = (uint64_t)rank % 5 == hash_of(seed, -1, index, 8) % 5;
  Value value = {0, 0, 0};
  if (is_whole(type)) {
    value.bits = word;
#ifdef __SIZEOF_INT128__
    value.bits |= (Wide)mix(word) << 64;
#endif
    if (type->class == kLogical) value.bits = word & 1;
    /* Integer sums and products wrap around in Hearth; MPI leaves that open. */
    if (operation == kSum && !promised()) value.bits = word % 4;
    if (operation == kProduct && !promised()) value.bits = greater ? 2 : 1;
    if (operation >= kLogicalAnd && operation <= kLogicalExclusiveOr && word >> 60 < 6) value.bits = 0;
    if (operation >= kUserAnyOrder) value.bits = (word >> 4) % 1000003 + (Wide)((word >> 34) % 1000003 << 32);
    if (type->bytes < (int)sizeof(Wide)) value.bits &= ((Wide)1 << 8 * type->bytes) - 1;
    return value;
  }
  switch (type->class) {
    case kReal:
      value.first = (long double)(word % 9) - 4;
      if (operation == kMinimum || operation == kMaximum) value.first = (long double)(word % 2001) - 1000;
      if (operation == kProduct) value.first = (word & 1 ? 1 : -1) * (greater ? 2 : 1);
      break;
    case kComplex:
      value.first = (long double)(word % 9) - 4;
      value.second = (long double)(word / 9 % 9) - 4;
      if (operation == kProduct) {
        value.first = greater || word & 1 ? (word & 2 ? 1 : -1) : 0;
        value.second = greater || !(word & 1) ? (word & 4 ? 1 : -1) : 0;
      }
      break;
    default:
      value.first = (long double)(word % 5) - 2; /* often equal, so that indices matter */
      value.second = (long double)(word / 5 % 201) - 100;
  }
  return value;
}

enum { kPrime = 1000003 };

/* x -> a x + b, composed; a and b are the halves of a word. The order matters. */
static uint64_t chain(uint64_t first, uint64_t then) {
  const uint64_t a = first & 0xffffffffu, b = first >> 32, c = then & 0xffffffffu, d = then >> 32;
  return a * c % kPrime | (c * b + d) % kPrime << 32;
}
static uint64_t sum_and_minimum(uint64_t x, uint64_t y) {
  const uint64_t a = x >> 32, b = y >> 32;
  return ((x & 0xffffffffu) + (y & 0xffffffffu)) % kPrime | (a < b ? a : b) << 32;
}

static SignedWide with_sign(const Type* type, Wide bits) {
  const int unused = 8 * ((int)sizeof(Wide) - type->bytes);
  return (SignedWide)(bits << unused) >> unused;
}

static Value combine_whole(const Type* type, Operation operation, Value a, Value b) {
  Value result = {0, 0, 0};
  const int less =
      type->machine == kSigned ? with_sign(type, a.bits) < with_sign(type, b.bits) : a.bits < b.bits;
  switch (operation) {
    case kSum:
      result.bits = a.bits + b.bits;
      break;
    case kProduct:
      result.bits = a.bits * b.bits;
      break;
    case kMinimum:
      return less ? a : b;
    case kMaximum:
      return less ? b : a;
    case kAnd:
      result.bits = a.bits & b.bits;
      break;
    case kOr:
      result.bits = a.bits | b.bits;
      break;
    case kExclusiveOr:
      result.bits = a.bits ^ b.bits;
      break;
    case kLogicalAnd:
      result.bits = a.bits && b.bits;
      break;
    case kLogicalOr:
      result.bits = a.bits || b.bits;
      break;
    case kLogicalExclusiveOr:
      result.bits = !a.bits != !b.bits;
      break;
    case kUserAnyOrder:
      result.bits = sum_and_minimum((uint64_t)a.bits, (uint64_t)b.bits);
      break;
    default:
      result.bits = chain((uint64_t)a.bits, (uint64_t)b.bits);
  }
  if (type->bytes < (int)sizeof(Wide)) result.bits &= ((Wide)1 << 8 * type->bytes) - 1;
  return result;
}

/* a op b */
static Value combine(const Type* type, Operation operation, Value a, Value b) {
  Value result = {0, 0, 0};
  if (is_whole(type)) return combine_whole(type, operation, a, b);
  switch (operation) {
    case kSum:
      result.first = a.first + b.first;
      result.second = a.second + b.second;
      break;
    case kProduct:
      result.first = a.first * b.first - a.second * b.second;
      result.second = a.first * b.second + a.second * b.first;
      break;
    case kMinimum:
      return a.first < b.first ? a : b;
    case kMaximum:
      return a.first > b.first ? a : b;
    default:
      if (a.first == b.first) return a.second < b.second ? a : b;
      return (a.first < b.first) == (operation == kMinimumPlace) ? a : b;
  }
  return result;
}

#endif
