/* The predefined types of C and the predefined operations for accumulate.c: how small numbers are written and
 * read in each type, and the result of each operation (MPI 5.0 sections 6.9.2, 6.9.4, 12.3.3). */
#ifndef TESTS_MULTI_RMA_TYPES_H
#define TESTS_MULTI_RMA_TYPES_H

#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { kOps = 14, kSlotBytes = 3 * 32 };

typedef enum { kInteger, kMulti, kFloating, kComplex, kLogical, kByte, kPair } Family;

typedef struct {
  int value, index; /* the index is used by pairs only */
} Value;

typedef struct {
  const char* name;
  MPI_Datatype type;
  Family family;
  size_t bytes;
  void (*put)(void* at, int value, int index);
  Value (*get)(const void* at);
  Value (*get_of)(int value, int index); /* the value that is read after this one was written */
} Type;

#define ACCESS_ONE(name, T)                                \
  static void put_##name(void* at, int value, int index) { \
    const T x = (T)value;                                  \
    (void)index;                                           \
    memcpy(at, &x, sizeof x);                              \
  }                                                        \
  static Value get_##name(const void* at) {                \
    T x;                                                   \
    memcpy(&x, at, sizeof x);                              \
    return (Value){(int)x, 0};                             \
  }                                                        \
  static Value of_##name(int value, int index) {           \
    (void)index;                                           \
    return (Value){(int)(T)value, 0};                      \
  }

#define ACCESS_PAIR(name, T)                               \
  typedef struct {                                         \
    T value;                                               \
    int index;                                             \
  } name;                                                  \
  static void put_##name(void* at, int value, int index) { \
    name x;                                                \
    memset(&x, 0, sizeof x);                               \
    x.value = (T)value;                                    \
    x.index = index;                                       \
    memcpy(at, &x, sizeof x);                              \
  }                                                        \
  static Value get_##name(const void* at) {                \
    name x;                                                \
    memcpy(&x, at, sizeof x);                              \
    return (Value){(int)x.value, x.index};                 \
  }                                                        \
  static Value of_##name(int value, int index) {           \
    return (Value){value, index};                          \
  }

ACCESS_ONE(schar, signed char)
ACCESS_ONE(uchar, unsigned char)
ACCESS_ONE(short, short)
ACCESS_ONE(ushort, unsigned short)
ACCESS_ONE(int, int)
ACCESS_ONE(unsigned, unsigned)
ACCESS_ONE(long, long)
ACCESS_ONE(ulong, unsigned long)
ACCESS_ONE(longlong, long long)
ACCESS_ONE(ulonglong, unsigned long long)
ACCESS_ONE(aint, MPI_Aint)
ACCESS_ONE(offset, MPI_Offset)
ACCESS_ONE(count, MPI_Count)
ACCESS_ONE(float, float)
ACCESS_ONE(double, double)
ACCESS_ONE(longdouble, long double)
ACCESS_ONE(bool, bool)
ACCESS_ONE(fcomplex, float _Complex)
ACCESS_ONE(dcomplex, double _Complex)
ACCESS_ONE(ldcomplex, long double _Complex)
ACCESS_PAIR(float_int, float)
ACCESS_PAIR(double_int, double)
ACCESS_PAIR(long_int, long)
ACCESS_PAIR(two_int, int)
ACCESS_PAIR(short_int, short)
ACCESS_PAIR(long_double_int, long double)

#define ONE(type, family, name, T) \
  { #type, type, family, sizeof(T), put_##name, get_##name, of_##name }
#define PAIR(type, name) \
  { #type, type, kPair, sizeof(name), put_##name, get_##name, of_##name }

static const Type types_[] = {ONE(MPI_SIGNED_CHAR, kInteger, schar, signed char),
                              ONE(MPI_UNSIGNED_CHAR, kInteger, uchar, unsigned char),
                              ONE(MPI_SHORT, kInteger, short, short),
                              ONE(MPI_UNSIGNED_SHORT, kInteger, ushort, unsigned short),
                              ONE(MPI_INT, kInteger, int, int),
                              ONE(MPI_UNSIGNED, kInteger, unsigned, unsigned),
                              ONE(MPI_LONG, kInteger, long, long),
                              ONE(MPI_UNSIGNED_LONG, kInteger, ulong, unsigned long),
                              ONE(MPI_LONG_LONG, kInteger, longlong, long long),
                              ONE(MPI_UNSIGNED_LONG_LONG, kInteger, ulonglong, unsigned long long),
                              ONE(MPI_INT8_T, kInteger, schar, int8_t),
                              ONE(MPI_INT16_T, kInteger, short, int16_t),
                              ONE(MPI_INT32_T, kInteger, int, int32_t),
                              ONE(MPI_INT64_T, kInteger, longlong, int64_t),
                              ONE(MPI_UINT8_T, kInteger, uchar, uint8_t),
                              ONE(MPI_UINT16_T, kInteger, ushort, uint16_t),
                              ONE(MPI_UINT32_T, kInteger, unsigned, uint32_t),
                              ONE(MPI_UINT64_T, kInteger, ulonglong, uint64_t),
                              ONE(MPI_AINT, kMulti, aint, MPI_Aint),
                              ONE(MPI_OFFSET, kMulti, offset, MPI_Offset),
                              ONE(MPI_COUNT, kMulti, count, MPI_Count),
                              ONE(MPI_FLOAT, kFloating, float, float),
                              ONE(MPI_DOUBLE, kFloating, double, double),
                              ONE(MPI_LONG_DOUBLE, kFloating, longdouble, long double),
                              ONE(MPI_C_BOOL, kLogical, bool, bool),
                              ONE(MPI_C_FLOAT_COMPLEX, kComplex, fcomplex, float _Complex),
                              ONE(MPI_C_DOUBLE_COMPLEX, kComplex, dcomplex, double _Complex),
                              ONE(MPI_C_LONG_DOUBLE_COMPLEX, kComplex, ldcomplex, long double _Complex),
                              ONE(MPI_BYTE, kByte, uchar, unsigned char),
                              PAIR(MPI_FLOAT_INT, float_int),
                              PAIR(MPI_DOUBLE_INT, double_int),
                              PAIR(MPI_LONG_INT, long_int),
                              PAIR(MPI_2INT, two_int),
                              PAIR(MPI_SHORT_INT, short_int),
                              PAIR(MPI_LONG_DOUBLE_INT, long_double_int)};
enum { kTypes = sizeof types_ / sizeof types_[0] };

typedef enum {
  kMax,
  kMin,
  kSum,
  kProd,
  kLand,
  kLor,
  kLxor,
  kBand,
  kBor,
  kBxor,
  kMaxloc,
  kMinloc,
  kNoOp,
  kReplace
} Op;

static const struct {
  const char* name;
  MPI_Op op;
} ops_[kOps] = {{"max", MPI_MAX},     {"min", MPI_MIN},        {"sum", MPI_SUM},       {"prod", MPI_PROD},
                {"land", MPI_LAND},   {"lor", MPI_LOR},        {"lxor", MPI_LXOR},     {"band", MPI_BAND},
                {"bor", MPI_BOR},     {"bxor", MPI_BXOR},      {"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC},
                {"no_op", MPI_NO_OP}, {"replace", MPI_REPLACE}};

/* Whether the operation is defined for the type (sections 6.9.2, 6.9.4, 12.3.3). */
static bool takes(int op, int type) {
  const Family family = types_[type].family;
  if (op == kMaxloc || op == kMinloc) return family == kPair;
  if (op == kNoOp || op == kReplace) return true;
  if (op <= kMin) return family <= kFloating;
  if (op <= kProd) return family <= kComplex;
  if (op <= kLxor) return family == kInteger || family == kLogical;
  return family <= kMulti || family == kByte;
}

/* Whether MPI_Compare_and_swap supports the type (section 12.3.4). */
static bool swaps(int type) {
  const Family family = types_[type].family;
  return family <= kMulti || family == kLogical || family == kByte;
}

static Value applied(int op, Value in, Value there) {
  const int a = in.value, b = there.value;
  const Value best = a == b ? (Value){a, in.index < there.index ? in.index : there.index}
                     : (op == kMaxloc) == (a > b) ? in
                                                  : there;
  const int results[kOps] = {a > b ? a : b, a < b ? a : b, a + b, a * b, a && b,
                             a || b,        !a != !b,      a & b, a | b, a ^ b};
  if (op == kMaxloc || op == kMinloc) return best;
  if (op == kNoOp) return there;
  if (op == kReplace) return in;
  return (Value){results[op], 0};
}

#endif
