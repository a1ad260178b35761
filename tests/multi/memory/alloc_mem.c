/* MPI_Alloc_mem and MPI_Free_mem (MPI 5.0 section 9.2): sizes, alignment by the info key, messages from and
 * to such memory, and the errors. */
#include <stdint.h>

#include "../coll/check.h"
#include "../promised.h"

enum { blocks = 40 };

static unsigned char expected(int owner, size_t place) {
  return (unsigned char)(owner * 37 + place * 11 + (place >> 8));
}

static void fill(unsigned char* memory, size_t bytes, int owner) {
  for (size_t i = 0; i < bytes; ++i) memory[i] = expected(owner, i);
}

static void check_filled(const unsigned char* memory, size_t bytes, int owner) {
  for (size_t i = 0; i < bytes; ++i)
    CHECK(memory[i] == expected(owner, i), "byte %zu of %zu is %d, not %d", i, bytes, memory[i],
          expected(owner, i));
}

static size_t bytes_of(int number) {
  static const size_t kinds[] = {0, 1, 63, 64, 100, 4096, 5000, 65536, 100001, 1 << 20, 3 << 20};
  return kinds[number % (int)(sizeof kinds / sizeof *kinds)];
}

static void many_blocks(void) {
  unsigned char* memory[blocks] = {NULL};
  for (int round = 0; round < 4; ++round) {
    for (int i = round % 2; i < blocks; i += 1 + round % 2) {
      if (memory[i] != NULL) continue;
      MPI_Alloc_mem((MPI_Aint)bytes_of(i), MPI_INFO_NULL, &memory[i]);
      CHECK(memory[i] != NULL, "no memory of %zu bytes", bytes_of(i));
      fill(memory[i], bytes_of(i), i);
    }
    for (int i = round; i < blocks; i += 3) {
      if (memory[i] == NULL) continue;
      check_filled(memory[i], bytes_of(i), i);
      MPI_Free_mem(memory[i]);
      memory[i] = NULL;
    }
  }
  for (int i = 0; i < blocks; ++i) {
    if (memory[i] == NULL) continue;
    check_filled(memory[i], bytes_of(i), i);
    MPI_Free_mem(memory[i]);
  }
}

static void exchange(void) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (size_t bytes = 1; bytes <= 4 << 20; bytes *= 8) {
    unsigned char *out, *in;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &out);
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &in);
    for (int round = 0; round < 3; ++round) {
      fill(out, bytes, rank_ + round);
      memset(in, 0, bytes);
      MPI_Sendrecv(out, (int)bytes, MPI_BYTE, next, 1, in, (int)bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      check_filled(in, bytes, previous + round);
    }
    MPI_Free_mem(out);
    MPI_Free_mem(in);
  }
}

static void alignments(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "an unknown key", "something");
  for (size_t alignment = 1; alignment <= 16 << 20; alignment *= 4) {
    char text[32];
    void* memory[3] = {NULL};
    snprintf(text, sizeof text, "%zu", alignment);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
    for (int i = 0; i < 3; ++i) {
      MPI_Alloc_mem(1000 + i, info, &memory[i]);
      CHECK(memory[i] != NULL && (uintptr_t)memory[i] % alignment == 0, "%p is not aligned to %zu", memory[i],
            alignment);
      memset(memory[i], i, (size_t)(1000 + i));
    }
    for (int i = 0; i < 3; ++i) MPI_Free_mem(memory[i]);
  }
  if (promised()) {
    static const char* const wrong[] = {"0", "3", "-8", "x", "64x", "99999999999999999999"};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); ++i) {
      void* memory;
      int error_class;
      MPI_Info_set(info, "mpi_minimum_memory_alignment", wrong[i]);
      MPI_Error_class(MPI_Alloc_mem(64, info, &memory), &error_class);
      CHECK(error_class == MPI_ERR_INFO_VALUE, "alignment \"%s\" gave the class %d", wrong[i], error_class);
    }
  }
  MPI_Info_free(&info);
}

static void wrong_uses(void) {
  int on_stack = 0, error_class;
  char* memory;
  MPI_Error_class(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory), &error_class);
  CHECK(error_class == MPI_ERR_NO_MEM, "an exabyte gave the class %d", error_class);
  if (!promised()) return;
  MPI_Error_class(MPI_Free_mem(&on_stack), &error_class);
  CHECK(error_class == MPI_ERR_BASE, "a foreign address gave the class %d", error_class);
  MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
  MPI_Error_class(MPI_Free_mem(memory + 64), &error_class);
  CHECK(error_class == MPI_ERR_BASE, "an address inside gave the class %d", error_class);
  MPI_Free_mem(memory);
  MPI_Error_class(MPI_Free_mem(memory), &error_class);
  CHECK(error_class == MPI_ERR_BASE, "freeing twice gave the class %d", error_class);
}

/* One rank lacks memory; the other ranks get an error instead of waiting. */
static void window_without_memory(void) {
  void* base;
  MPI_Win win;
  int error_class;
  if (!promised()) return;
  const MPI_Aint bytes = rank_ == 0 ? (MPI_Aint)1 << 60 : 64;
  MPI_Error_class(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), &error_class);
  CHECK(error_class == MPI_ERR_NO_MEM, "a window of an exabyte: class %d", error_class);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  many_blocks();
  alignments();
  wrong_uses();
  window_without_memory();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  exchange();
  MPI_Finalize();
  return 0;
}
