/* Whether memory lies in the arena, according to the kernel. */
#ifndef TESTS_MULTI_HEAP_WINDOW_H
#define TESTS_MULTI_HEAP_WINDOW_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline int in_window(const void* memory) {
  char line[512];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long first, last;
    if (sscanf(line, "%lx-%lx", &first, &last) != 2) continue;
    if ((uintptr_t)memory >= first && (uintptr_t)memory < last) found = strstr(line, "hearth arena") != NULL;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

#endif
