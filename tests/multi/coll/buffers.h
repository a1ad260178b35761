/* Buffers of any datatype in which every byte encodes its source, its destination and its position. Memory
 * between the data of elements is filled, too, and must stay unchanged. */
#ifndef TESTS_MULTI_COLL_BUFFERS_H
#define TESTS_MULTI_COLL_BUFFERS_H

#include "check.h"

/* A datatype and the position of its data: up to two blocks per unit, units one after another. */
typedef struct {
  const char* name;
  MPI_Datatype type;
  int extent, units, unit_extent;
  int block_offset[2], block_bytes[2];
} Kind;

enum { kFiller = 0xee };

static unsigned char byte_for(int from, int to, long index) {
  unsigned long hash =
      (unsigned long)from * 2654435761u + (unsigned long)to * 40503u + (unsigned long)index * 97u;
  return (unsigned char)(hash >> 7 ^ hash);
}

/* Runs the body with the address of each data byte of `count` elements and its packed index. */
#define FOR_EACH_BYTE(kind, buffer, count, address, index)                                        \
  long index = 0;                                                                                 \
  for (long element_ = 0; element_ < (count); ++element_)                                         \
    for (int unit_ = 0; unit_ < (kind)->units; ++unit_)                                           \
      for (int block_ = 0; block_ < 2; ++block_)                                                  \
        for (unsigned char *address = (unsigned char*)(buffer) + element_ * (kind)->extent +      \
                                      unit_ * (kind)->unit_extent + (kind)->block_offset[block_], \
                           *end_ = address + (kind)->block_bytes[block_];                         \
             address < end_; ++address, ++index)

static void* allocate(const Kind* kind, long count) {
  const size_t bytes = (size_t)(count * kind->extent) + 64;
  void* buffer = malloc(bytes);
  CHECK(buffer != NULL, "no memory");
  memset(buffer, kFiller, bytes);
  return buffer;
}

static void fill(const Kind* kind, void* buffer, long count, int from, int to) {
  FOR_EACH_BYTE(kind, buffer, count, address, index)* address = byte_for(from, to, index);
}

/* Resets data to filler while it checks them, so that check_filler() finds stray writes. */
static void check_data(const Kind* kind, void* buffer, long count, int from, int to, const char* what) {
  FOR_EACH_BYTE(kind, buffer, count, address, index) {
    CHECK(*address == byte_for(from, to, index), "%s, %s, %ld elements: byte %ld from rank %d is wrong", what,
          kind->name, count, index, from);
    *address = kFiller;
  }
}

static void check_filler(const Kind* kind, const void* buffer, long count, const char* what) {
  const unsigned char* bytes = buffer;
  for (long i = 0; i < count * kind->extent + 64; ++i)
    CHECK(bytes[i] == kFiller, "%s, %s, %ld elements: byte %ld between or behind the data was written", what,
          kind->name, count, i);
}

/* Resets the whole buffer to filler for the next test. */
static void clear(const Kind* kind, void* buffer, long count) {
  memset(buffer, kFiller, (size_t)(count * kind->extent) + 64);
}

enum { kKinds = 6 };

static void make_kinds(Kind kinds[kKinds]) {
  MPI_Datatype three_ints, gapped, gapped_three;
  MPI_Type_contiguous(3, MPI_INT, &three_ints);
  MPI_Type_commit(&three_ints);
  MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &gapped);
  MPI_Type_commit(&gapped);
  MPI_Type_contiguous(3, gapped, &gapped_three);
  MPI_Type_commit(&gapped_three);
  const Kind all[kKinds] = {
      {"MPI_CHAR", MPI_CHAR, 1, 1, 1, {0, 0}, {1, 0}},
      {"MPI_INT", MPI_INT, 4, 1, 4, {0, 0}, {4, 0}},
      {"three ints", three_ints, 12, 1, 12, {0, 0}, {12, 0}},
      {"MPI_SHORT_INT", MPI_SHORT_INT, 8, 1, 8, {0, 4}, {2, 4}},
      {"double every 24 bytes", gapped, 24, 1, 24, {0, 0}, {8, 0}},
      {"three doubles every 24 bytes", gapped_three, 72, 3, 24, {0, 0}, {8, 0}},
  };
  memcpy(kinds, all, sizeof all);
}

static void free_kinds(Kind kinds[kKinds]) {
  MPI_Type_free(&kinds[2].type);
  MPI_Type_free(&kinds[4].type);
  MPI_Type_free(&kinds[5].type);
}

#endif
