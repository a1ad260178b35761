// Memory from the operating system. Nothing here is called on the data path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::os {

/// Bytes of a page.
size_t page_bytes();

/// Reserves address space without memory behind it; nullptr when the system refuses.
/// Pre: bytes is a multiple of the page. Post: touching it faults until commit().
void* reserve(size_t bytes);
/// Puts zeroed memory behind a part of a reservation; false when there is none.
bool commit(void* address, size_t bytes);
/// Gives a reservation or mapping back.
void release(void* address, size_t bytes);

/// An anonymous shared file that no path names, sealed against shrinking; -1 with errno on failure.
/// The descriptor is close-on-exec.
int create_shared_memory(const char* label, size_t bytes);
/// Maps a shared file readable and writable; nullptr with errno on failure.
void* map_shared(int descriptor, size_t bytes);
/// Takes room for a range of a shared file now, so that touching it cannot raise SIGBUS.
bool reserve_room(int descriptor, size_t offset, size_t bytes);
/// Bytes of the file behind a descriptor; 0 with errno on failure.
size_t file_bytes(int descriptor);

/// Copies from another process; the number of bytes copied, or -1 with errno.
intptr_t read_process(int pid, void* to, const void* from, size_t bytes);
/// Copies to another process; the number of bytes copied, or -1 with errno.
intptr_t write_process(int pid, void* to, const void* from, size_t bytes);

}  // namespace hearth::os
