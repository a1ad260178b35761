/* Functions of glibc versions after 2.28 that GCC's static C++ library calls if it was built on a newer
   system, for programs and libraries that also run with glibc 2.28 (cmake/oldest_glibc.cmake). Hidden, and
   linked only where a call needs them; nothing of Hearth calls them. */
#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32: nonzero lets reference counts skip atomic instructions. 0 is right in any process. */
HIDDEN char __libc_single_threaded = 0;

#if __GLIBC_PREREQ(2, 35)
/* glibc 2.35, called by the unwinder for every frame: the mapped file that contains an address. */
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int search_object(struct dl_phdr_info* info, size_t bytes, void* data) {
  (void)bytes;
  struct Search* search = data;
  uintptr_t start = UINTPTR_MAX, end = 0;
  const ElfW(Phdr)* frames = NULL;
  int contains = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) frames = segment;
    if (segment->p_type != PT_LOAD) continue;
    if (from < start) start = from;
    if (from + segment->p_memsz > end) end = from + segment->p_memsz;
    if (search->address >= from && search->address - from < segment->p_memsz) contains = 1;
  }
  if (!contains || frames == NULL) return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)start;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_link_map = NULL;
  search->found->dlfo_eh_frame = (void*)(info->dlpi_addr + frames->p_vaddr);
  return 1;
}

HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(search_object, &search) == 1 ? 0 : -1;
}
#endif
