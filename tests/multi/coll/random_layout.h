/* Derived datatypes built from a predefined one, and memory for their data. All bytes that are not data are
 * filler and must stay unchanged. */
#ifndef TESTS_MULTI_COLL_RANDOM_LAYOUT_H
#define TESTS_MULTI_COLL_RANDOM_LAYOUT_H

#include <float.h>

#include "random_values.h"

enum { kPartsMax = 12, kMargin = 256, kFiller = 0xee };

static char context_[512]; /* the call being checked, for messages */

/* An element: `parts` values of the predefined type, each at its own offset. */
typedef struct {
  MPI_Datatype handle;
  const Type* basic;
  int parts;
  long at[kPartsMax]; /* bytes; may be negative */
  long extent;
  int derived;
} Layout;

static Layout plain_layout(const Type* basic) {
  const Layout layout = {basic->type, basic, 1, {0}, basic->extent, 0};
  return layout;
}

/* A layout whose number of parts divides `unit`. */
static Layout draw_layout(Stream* stream, const Type* basic, int unit) {
  Layout layout = plain_layout(basic);
  MPI_Datatype inner;
  MPI_Aint places[kPartsMax];
  const int shape = (int)draw(stream, 6);
  const long each = basic->extent;
  if (shape == 0) return layout;
  layout.derived = 1;
  do layout.parts = (int)draw(stream, unit) + 1;
  while (unit % layout.parts != 0);
  const int n = layout.parts;
  switch (shape) {
    case 1: /* contiguous */
      MPI_Type_contiguous(n, basic->type, &layout.handle);
      layout.extent = n * each;
      for (int i = 0; i < n; ++i) layout.at[i] = i * each;
      break;
    case 2: /* every third */
      MPI_Type_vector(n, 1, 3, basic->type, &layout.handle);
      layout.extent = (3 * n - 2) * each;
      for (int i = 0; i < n; ++i) layout.at[i] = 3 * i * each;
      break;
    default: { /* in any order, with gaps, some of it at negative offsets */
      const long turn = draw(stream, n), gap = shape == 3 ? 0 : draw(stream, 4);
      const long before = shape == 5 ? draw(stream, 3) : 0, step = shape == 4 ? 2 : 1;
      for (int i = 0; i < n; ++i) {
        layout.at[i] = (step * ((i + turn) % n) + (step == 2 ? i % 2 : 0) - before) * each;
        places[i] = layout.at[i];
      }
      layout.extent = (step * n + gap) * each;
      MPI_Type_create_hindexed_block(n, 1, places, basic->type, &inner);
      MPI_Type_create_resized(inner, (MPI_Aint)(-before * each), (MPI_Aint)layout.extent, &layout.handle);
      MPI_Type_free(&inner);
    }
  }
  MPI_Type_commit(&layout.handle);
  return layout;
}

static void free_layout(Layout* layout) {
  if (layout->derived) MPI_Type_free(&layout->handle);
}

/* One side of a call: one block for each of some ranks. Even and odd blocks may have different layouts. */
typedef struct {
  Layout layouts[2];
  int blocks;
  long* lengths; /* in values of the predefined type, by block */
  int* counts;   /* in elements of the layout */
  int* places;   /* in extents or in bytes */
  int in_bytes;
  unsigned char* memory;
  unsigned char* base; /* the address passed to MPI */
  size_t bytes;
  int is_mpi_memory;
} Side;

static const Layout* layout_of(const Side* side, int block) {
  return &side->layouts[side->in_bytes ? block % 2 : 0];
}

static unsigned char* block_of(const Side* side, int block) {
  const long place = side->places[block];
  return side->base + (side->in_bytes ? place : place * side->layouts[0].extent);
}

static unsigned char* part_of(const Side* side, int block, long index) {
  const Layout* layout = layout_of(side, block);
  return block_of(side, block) + index / layout->parts * layout->extent + layout->at[index % layout->parts];
}

static void clear_side(Side* side) {
  if (side->memory != NULL) memset(side->memory, kFiller, side->bytes);
}

static int mpi_memory_percent(void) {
  const char* given = getenv("COLL_MPI_MEMORY");
  return given != NULL ? atoi(given) : 30;
}

/* Places the blocks: contiguous, or if `scattered` in any order with gaps. Takes ownership of `lengths` (from
 * malloc). */
static void lay_out(Side* side, Stream* stream, int blocks, long* lengths, int scattered) {
  const int turn = scattered ? (int)draw(stream, blocks) : 0;
  long end = 0;
  side->blocks = blocks;
  side->lengths = lengths;
  side->counts = malloc(sizeof(int) * (size_t)(blocks + 1));
  side->places = malloc(sizeof(int) * (size_t)(blocks + 1));
  for (int i = 0; i < blocks; ++i) {
    const int block = (i + turn) % blocks;
    const Layout* layout = layout_of(side, block);
    if (scattered) end += draw(stream, 3) * (side->in_bytes ? 16 : 1);
    if (side->in_bytes) end += 2 * 32; /* data may begin before an element, unlike in its neighbours */
    CHECK(lengths[block] % layout->parts == 0, "the test itself: a block of %ld", lengths[block]);
    side->counts[block] = (int)(lengths[block] / layout->parts);
    side->places[block] = (int)end;
    end += side->counts[block] * (side->in_bytes ? (layout->extent + 15) / 16 * 16 : 1);
  }
  side->bytes = (size_t)(end * (side->in_bytes ? 1 : side->layouts[0].extent)) + 2 * kMargin;
  side->is_mpi_memory = chance(stream, mpi_memory_percent());
  if (side->is_mpi_memory) {
    MPI_Alloc_mem((MPI_Aint)side->bytes, MPI_INFO_NULL, &side->memory);
  } else {
    side->memory = malloc(side->bytes);
  }
  CHECK(side->memory != NULL, "no memory");
  side->base = side->memory + kMargin / 2 + 16 * draw(stream, 4);
  clear_side(side);
}

static void free_side(Side* side) {
  if (side->memory == NULL) return;
  if (side->is_mpi_memory) {
    MPI_Free_mem(side->memory);
  } else {
    free(side->memory);
  }
  free(side->lengths);
  free(side->counts);
  free(side->places);
}

static void check_filler(const Side* side) {
  for (size_t i = 0; side->memory != NULL && i < side->bytes; ++i)
    CHECK(side->memory[i] == kFiller, "%s: byte %ld of the buffer was written, which is no data", context_,
          (long)(side->memory + i - side->base));
}

/* Bytes of an element: data, padding within a number (it may be transferred or not), or outside of the
 * type. */
typedef enum { kData, kUnused, kForeign } Use;

static Use use_of(const Type* type, int byte) {
  const int is_second = byte >= type->second_at && byte < type->second_at + type->second_bytes;
  const int of_number = is_second ? byte - type->second_at : byte;
  const Machine machine = is_second ? type->second : type->machine;
  if (!is_second && byte >= type->bytes) return kForeign;
  return machine == kExtended && LDBL_MANT_DIG == 64 && of_number >= 10 ? kUnused : kData;
}

/* Writes or checks the data of a block that goes from one rank to another: random bytes. */
static void visit_bytes(Side* side, int block, uint64_t seed, int from, int to, int checks) {
  const Type* basic = side->layouts[0].basic;
  for (long i = 0; i < side->lengths[block]; ++i) {
    unsigned char* part = part_of(side, block, i);
    uint64_t word = 0;
    for (int byte = 0; byte < basic->extent; ++byte) {
      if (byte % 8 == 0) word = hash_of(seed, from * 1000 + to, i, byte);
      if (use_of(basic, byte) == kUnused) part[byte] = kFiller;
      if (use_of(basic, byte) != kData) continue;
      const unsigned char wanted = (unsigned char)(word >> byte % 8 * 8);
      if (!checks) {
        part[byte] = wanted;
        continue;
      }
      CHECK(part[byte] == wanted, "%s: block %d, from rank %d: element %ld of %ld, byte %d is %d, not %d",
            context_, block, from, i, side->lengths[block], byte, part[byte], wanted);
      part[byte] = kFiller;
    }
  }
}

#endif
