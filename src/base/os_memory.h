// Memory from the operating system. Nothing here is called on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::os {

/// Bytes of a page.
size_t page_bytes();
/// For tests: page_bytes() returns this multiple of the real page size from now on; 0: the real one.
void simulate_page_bytes(size_t bytes);
/// Bytes of memory that the machine has.
uint64_t machine_memory_bytes();
/// The most memory that this process has had at a time; 0 when nobody tells.
uint64_t own_memory_bytes_max();
/// The least bytes that can be had now without ending somebody's process; UINT64_MAX when nobody tells.
uint64_t available_memory_bytes();
/// Limits of this process, UINT64_MAX where there is none: its address space, and the length of a file.
uint64_t address_space_limit_bytes();
uint64_t file_limit_bytes();

/// Reserves address space without memory behind it; nullptr when the system refuses.
/// Pre: bytes is a multiple of the page. Post: touching it faults until commit().
void* reserve(size_t bytes);
/// Puts zeroed memory behind a part of a reservation; false when there is none.
bool commit(void* address, size_t bytes);
/// Gives a reservation or mapping back.
void release(void* address, size_t bytes);

/// A shared file that no path names. The system's own memory where it gives that (sealed against shrinking),
/// else a file in a folder, which nobody else can open: touch none of it but behind reserve_room(), or a full
/// file system is SIGBUS. -1 with errno on failure, EFBIG where ulimit -f is too low. The descriptor is
/// close-on-exec.
int create_shared_memory(const char* label, size_t bytes);
/// The same of the system's own memory alone: sparse, and any of it may be touched.
int create_sparse_memory(const char* label, size_t bytes);
/// What create_shared_memory() does where the system refuses its own memory: the file in one of these
/// folders, of those with room for all of it the first, else of any. -1 with errno of the last.
int create_file_in(std::span<const char* const> folders, size_t bytes);
/// Maps a shared file readable and writable; nullptr with errno on failure.
void* map_shared(int descriptor, size_t bytes);
/// Maps a part of a sparse shared file; nothing of it counts as memory, or goes into core files, before it is
/// touched and asked for. Pre: the offset is a multiple of the page. nullptr with errno on failure.
void* map_sparse(int descriptor, uint64_t offset, size_t bytes);
/// The same, from the file's place on, over what is mapped at `address`; false with errno on failure.
bool map_sparse_over(void* address, int descriptor, uint64_t offset, size_t bytes);
/// Lets a part of a sparse mapping go into core files.
void put_in_core_files(void* address, size_t bytes);
/// Reserves addresses for a range of a sparse shared file. Access faults before make_accessible(), so that
/// mlockall() populates nothing; a child made by fork, _Fork() or clone() has nothing mapped there. No page
/// goes into core files. nullptr with errno on failure.
void* reserve_shared(int descriptor, uint64_t offset, size_t bytes);
/// Lets whole pages of a reservation be read and written.
bool make_accessible(void* address, size_t bytes);
/// The contrary: access faults, and mlockall() populates nothing there. The contents stay.
bool make_inaccessible(void* address, size_t bytes);
/// Replaces a shared mapping of a file by a private one with the same contents. Other threads may use the
/// pages meanwhile: a store reaches either the file, before, or the private mapping. Pages that are never
/// stored to show the file.
bool map_private_over(void* address, int descriptor, uint64_t offset, size_t bytes);
/// Copies pages of a private mapping of a file, so that they no longer depend on it. Other threads may use
/// the pages meanwhile. False when there is no memory.
bool detach_pages(std::byte* address, size_t bytes);
/// Puts fresh private memory in the place of another mapping.
bool map_zeros_over(void* address, size_t bytes);
/// Reserves addresses where nothing is mapped: access faults, and no other mapping gets them.
bool reserve_at(void* address, size_t bytes);
/// Puts nothing in the place of a mapping: access faults, and no other mapping gets the addresses.
bool make_unreachable(void* address, size_t bytes);
/// Returns the memory of a range of a shared-memory file, which then reads as zeros.
bool punch_hole(int descriptor, uint64_t offset, size_t bytes);
/// Puts memory behind pages of a mapping that have none yet, as a store to each would; false where the system
/// does not know how, or refuses. Pre: whole pages.
bool populate_pages(void* address, size_t bytes);
/// Puts a huge page behind a range that is as long and aligned like one, whatever the system's settings for
/// huge pages of shared memory are; false where the system cannot. Its first byte becomes 0. Pre: the range
/// is empty.
bool populate_huge_page(std::byte* address);
/// Whether there is memory behind a page.
bool is_page_present(const void* address);
/// Asks for huge pages, where the system gives them to such memory.
void prefer_huge_pages(void* address, size_t bytes);
/// Whether it gives them to private memory that did not ask, and not to shared memory.
bool only_private_memory_gets_huge_pages();
/// Gives the pages of a range back to the system, which then reads as zeros; of a shared mapping for all who
/// map it. False when the system refuses.
bool drop_shared_pages(void* address, size_t bytes);
bool drop_private_pages(void* address, size_t bytes);
/// The next stretch of a sparse file that has pages, at or behind `from`: begins at `first`, ends before
/// `last`.
bool next_data(int descriptor, uint64_t from, uint64_t& first, uint64_t& last);
/// Sparse memory of this process alone; nullptr with errno on failure.
void* map_private(size_t bytes);
/// Takes room for a range of a shared file now, so that touching it cannot raise SIGBUS.
bool reserve_room(int descriptor, size_t offset, size_t bytes);
/// Asks that pages of this range come from a memory node, as long as it has some: from others otherwise. Of a
/// shared file this holds for all who map it. -1: from wherever the system takes them. With `move` those that
/// are there already go there too. False with errno where the system refuses. Pre: whole pages.
bool prefer_node(void* address, size_t bytes, int node, bool move = false);
/// Whether this process was started with a policy for its memory of its own (numactl and its kind).
bool has_memory_policy();
/// The memory node of a page that has been touched; -1 where the system does not tell.
int node_of_page(const void* address);
/// Bytes of the file behind a descriptor; 0 with errno on failure.
size_t file_bytes(int descriptor);

/// Copies from another process; the number of bytes copied, or -1 with errno.
intptr_t read_process(int pid, void* to, const void* from, size_t bytes);
/// Copies to another process; the number of bytes copied, or -1 with errno.
intptr_t write_process(int pid, void* to, const void* from, size_t bytes);

}  // namespace hearth::os
