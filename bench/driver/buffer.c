/* Send and receive areas: one of each per rank, allocated once, so that a library's caches of known buffers
 * are as effective as in a program. Slots are distinct buffers: 64 messages in flight use 64 buffers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct area {
  void* allocation;
  unsigned char* base; /* start of a page, plus the requested offset */
  int from_mpi;
};

static struct area send_area, receive_area;

static void area_make(struct area* area, int from_mpi, size_t bytes, size_t offset) {
  const size_t wanted = bytes + offset + page_bytes;
  uintptr_t start;
  area->from_mpi = from_mpi;
  area->allocation = NULL;
  if (from_mpi) {
    MPI_Alloc_mem((MPI_Aint)wanted, MPI_INFO_NULL, &area->allocation);
  } else {
    area->allocation = malloc(wanted);
  }
  if (area->allocation == NULL) {
    fprintf(stderr, "bench_driver: no memory for %zu bytes\n", wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  start = (uintptr_t)area->allocation;
  area->base = (unsigned char*)((start + page_bytes - 1) / page_bytes * page_bytes) + offset;
  memset(area->base, 1, bytes);
}

static void area_free(struct area* area) {
  if (area->from_mpi) {
    MPI_Free_mem(area->allocation);
  } else {
    free(area->allocation);
  }
}

void buffers_make(int from_mpi, size_t bytes, size_t send_offset, size_t receive_offset) {
  area_make(&send_area, from_mpi, bytes, send_offset);
  area_make(&receive_area, from_mpi, bytes, receive_offset);
}

void buffers_free(void) {
  area_free(&send_area);
  area_free(&receive_area);
}

static size_t stride(size_t bytes) {
  return (bytes / line_bytes + 1) * line_bytes;
}

size_t buffers_needed(size_t bytes, int slots) {
  return stride(bytes) * (size_t)slots;
}

unsigned char* send_slot(size_t bytes, int slot) {
  return send_area.base + stride(bytes) * (size_t)slot;
}

unsigned char* receive_slot(size_t bytes, int slot) {
  return receive_area.base + stride(bytes) * (size_t)slot;
}

/* Word i of a message is seed + i: cheap to compute, and different for each message and each position. */
static uint64_t spread(uint64_t seed) {
  return (seed + 1) * 0x9e3779b97f4a7c15u;
}

void fill(unsigned char* to, size_t bytes, uint64_t seed) {
  uint64_t word = spread(seed);
  size_t i;
  for (i = 0; i + sizeof word <= bytes; i += sizeof word) {
    memcpy(to + i, &word, sizeof word);
    ++word;
  }
  memcpy(to + i, &word, bytes - i);
  /* The library may read the bytes in ways that the compiler does not see. */
  __asm__ volatile("" : : "r"(to) : "memory");
}

void check(const unsigned char* from, size_t bytes, uint64_t seed) {
  uint64_t word = spread(seed), found, different = 0;
  size_t i;
  __asm__ volatile("" : : "r"(from) : "memory");
  for (i = 0; i + sizeof word <= bytes; i += sizeof word) {
    memcpy(&found, from + i, sizeof found);
    different |= found ^ word;
    ++word;
  }
  found = word;
  memcpy(&found, from + i, bytes - i);
  different |= found ^ word;
  if (different != 0) {
    fprintf(stderr, "bench_driver: wrong data in message %llu of %zu bytes at %p\n", (unsigned long long)seed,
            bytes, (const void*)from);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}
