/* Half round trip of messages of a derived datatype: a vector of blocks with gaps of the same size, or an
 * array of structures. As in pingpong.c, each rank checks the received data, rewrites its data and sends them
 * back; both measure the time of that work, which is subtracted. The gaps are neither written nor checked. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { word_bytes = sizeof(uint32_t), parts_max = 3 };

/* One element: blocks of whole words, and the distance to the next element. */
struct pattern {
  int parts;
  size_t offset[parts_max], bytes[parts_max];
  size_t extent;
  size_t data_bytes;
};

/* struct { double place[3]; int kind; float weight; } with gaps like a program's padding. */
static const struct pattern structure = {3, {0, 24, 36}, {24, 4, 4}, 48, 32};

static struct pattern pattern_of(const struct run* run) {
  const struct pattern vector = {
      1, {0}, {run->what->block_bytes}, 2 * run->what->block_bytes, run->what->block_bytes};
  return run->what->block_bytes == 0 ? structure : vector;
}

static size_t elements(const struct run* run, const struct pattern* pattern) {
  return run->bytes / pattern->data_bytes;
}

static void fill_pattern(unsigned char* to, const struct pattern* pattern, size_t count, uint32_t word) {
  size_t element, at;
  int part;
  for (element = 0; element < count; ++element, to += pattern->extent) {
    for (part = 0; part < pattern->parts; ++part) {
      for (at = 0; at < pattern->bytes[part]; at += word_bytes) {
        memcpy(to + pattern->offset[part] + at, &word, word_bytes);
        word += 0x9e3779b9u;
      }
    }
  }
  __asm__ volatile("" : : "r"(to) : "memory");
}

static void check_pattern(const unsigned char* from, const struct pattern* pattern, size_t count,
                          uint32_t word) {
  const unsigned char* const begin = from;
  uint32_t different = 0;
  size_t element, at;
  int part;
  __asm__ volatile("" : : "r"(from) : "memory");
  for (element = 0; element < count; ++element, from += pattern->extent) {
    for (part = 0; part < pattern->parts; ++part) {
      for (at = 0; at < pattern->bytes[part]; at += word_bytes) {
        uint32_t found;
        memcpy(&found, from + pattern->offset[part] + at, word_bytes);
        different |= found ^ word;
        word += 0x9e3779b9u;
      }
    }
  }
  if (different != 0) {
    fprintf(stderr, "bench_driver: wrong data in a message of %zu elements at %p\n", count,
            (const void*)begin);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

/* The datatype of a whole message. */
static MPI_Datatype make_type(const struct pattern* pattern, size_t count) {
  MPI_Datatype type, element;
  if (pattern->parts == 1) {
    MPI_Type_vector((int)count, (int)pattern->bytes[0], (int)pattern->extent, MPI_BYTE, &type);
  } else {
    const int lengths[parts_max] = {3, 1, 1};
    const MPI_Aint places[parts_max] = {(MPI_Aint)pattern->offset[0], (MPI_Aint)pattern->offset[1],
                                        (MPI_Aint)pattern->offset[2]};
    const MPI_Datatype members[parts_max] = {MPI_DOUBLE, MPI_INT, MPI_FLOAT};
    MPI_Datatype members_only;
    MPI_Type_create_struct(parts_max, lengths, places, members, &members_only);
    MPI_Type_create_resized(members_only, 0, (MPI_Aint)pattern->extent, &element);
    MPI_Type_contiguous((int)count, element, &type);
    MPI_Type_free(&members_only);
    MPI_Type_free(&element);
  }
  MPI_Type_commit(&type);
  return type;
}

/* Made once for each run, as in a program. */
static MPI_Datatype type_of(const struct run* run, const struct pattern* pattern) {
  static const struct bench_case* made_for;
  static size_t made_bytes;
  static MPI_Datatype made;
  if (made_for != run->what || made_bytes != run->bytes) {
    if (made_for != NULL) MPI_Type_free(&made);
    made = make_type(pattern, elements(run, pattern));
    made_for = run->what;
    made_bytes = run->bytes;
  }
  return made;
}

double pingpong_derived(const struct run* run, int leads, int partner, int iterations) {
  const struct pattern pattern = pattern_of(run);
  const size_t count = elements(run, &pattern);
  const MPI_Datatype type = type_of(run, &pattern);
  unsigned char* out = send_slot(2 * run->bytes, 0);
  unsigned char* in = receive_slot(2 * run->bytes, 0);
  double sum = 0, other = 0;
  int i;
  for (i = 0; i <= iterations; ++i) {
    const uint32_t seed = 2 * (uint32_t)i;
    double begin;
    if (leads) {
      fill_pattern(out, &pattern, count, seed);
      begin = now_ns();
      MPI_Send(out, 1, type, partner, tag_data, MPI_COMM_WORLD);
      MPI_Recv(in, 1, type, partner, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (i > 0) sum += now_ns() - begin;
      check_pattern(in, &pattern, count, seed + 1);
    } else {
      MPI_Recv(in, 1, type, partner, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      begin = now_ns();
      check_pattern(in, &pattern, count, seed);
      fill_pattern(out, &pattern, count, seed + 1);
      if (i > 0) sum += now_ns() - begin;
      MPI_Send(out, 1, type, partner, tag_data, MPI_COMM_WORLD);
    }
  }
  if (!leads) {
    MPI_Send(&sum, 1, MPI_DOUBLE, partner, tag_report, MPI_COMM_WORLD);
    return 0;
  }
  MPI_Recv(&other, 1, MPI_DOUBLE, partner, tag_report, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return (sum - other) / (2.0 * iterations) - clock_cost_ns();
}
