/* MPI_Alloc_mem with the info keys that choose a memory node: blocks can be allocated, used and allocated
   again on any machine; invalid values are refused. tests/lab checks where the memory lies. */
#include "../coll/check.h"

static int allocate(size_t bytes, const char* key, const char* value, char** memory) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  const int code = MPI_Alloc_mem((MPI_Aint)bytes, info, memory);
  MPI_Info_free(&info);
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/* Sends a message from one block into another, so that both are written and read, by peers too. */
static void use(char* out, char* in, size_t bytes) {
  const int next = (rank_ + 1) % size_;
  const int before = (rank_ + size_ - 1) % size_;
  memset(out, 'a' + rank_, bytes);
  memset(in, 0, bytes);
  MPI_Sendrecv(out, (int)bytes, MPI_CHAR, next, 0, in, (int)bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (size_t i = 0; i < bytes; ++i) CHECK(in[i] == 'a' + before, "byte %zu is %d", i, in[i]);
}

int main(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

  static const char* const good[][2] = {{"hearth_memory_kind", "local"},  {"hearth_memory_kind", "lowlat"},
                                        {"hearth_memory_kind", "highbw"}, {"hearth_memory_kind", "large"},
                                        {"hearth_memory_bind", "local"},  {"hearth_memory_bind", "0"}};
  static const size_t sizes[] = {1, 100, 4096, 70000, 3 << 20};
  for (int turn = 0; turn < 2; ++turn) {
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
      for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; ++j) {
        char *out, *in;
        const int one = allocate(sizes[j], good[i][0], good[i][1], &out);
        const int two = MPI_Alloc_mem((MPI_Aint)sizes[j], MPI_INFO_NULL, &in);
        CHECK(one == MPI_SUCCESS && two == MPI_SUCCESS, "%s=%s, %zu bytes: class %d", good[i][0], good[i][1],
              sizes[j], one);
        use(out, in, sizes[j]);
        use(in, out, sizes[j]);
        MPI_Free_mem(out);
        MPI_Free_mem(in);
      }
    }
  }

  static const char* const wrong[][2] = {{"hearth_memory_kind", "fast"}, {"hearth_memory_bind", "somewhere"}};
  char* memory = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    const int error_class = allocate(100, wrong[i][0], wrong[i][1], &memory);
    CHECK(error_class == MPI_ERR_INFO_VALUE, "%s=%s gave the class %d", wrong[i][0], wrong[i][1],
          error_class);
  }
  /* If a sandbox forbids binding, the number of a missing node goes unnoticed. */
  const int error_class = allocate(100, "hearth_memory_bind", "1000", &memory);
  CHECK(error_class == MPI_ERR_INFO_VALUE || error_class == MPI_SUCCESS, "node 1000 gave the class %d",
        error_class);
  if (error_class == MPI_SUCCESS) MPI_Free_mem(memory);
  MPI_Finalize();
  return 0;
}
