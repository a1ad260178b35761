/* The library that heap.c opens at run time. */
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) unsigned char* make_block(size_t bytes) {
  unsigned char* block = malloc(bytes);
  if (block != NULL) memset(block, 1, bytes);
  return block;
}

__attribute__((visibility("default"))) void end_block(void* block) {
  free(block);
}
