// Memory from the operating system. Not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::os {

size_t page_bytes();
/// For tests: page_bytes() returns this value from now on, a multiple of the real page size; 0: the real
/// size.
void simulate_page_bytes(size_t bytes);
/// Physical memory of the machine.
uint64_t machine_memory_bytes();
/// The peak resident memory of this process; 0 if unknown.
uint64_t own_memory_bytes_max();
/// The kernel's estimate of the memory that can be allocated now without an out-of-memory kill; UINT64_MAX if
/// unknown.
uint64_t available_memory_bytes();
/// Limits of this process on its address space and on the length of a file; UINT64_MAX if there is none.
uint64_t address_space_limit_bytes();
uint64_t file_limit_bytes();

/// Whether the system refuses memory beyond a fixed limit (vm.overcommit_memory=2). Then a page of a sparse
/// file may be missing when it is touched, which is SIGBUS.
bool memory_is_strict();

/// Reserves address space without memory; nullptr on failure. Pre: bytes is a multiple of the page. Post: an
/// access faults until commit().
void* reserve(size_t bytes);
/// Makes a part of a reservation accessible, as zeros; false on failure.
bool commit(void* address, size_t bytes);
/// Unmaps a reservation or mapping.
void release(void* address, size_t bytes);

/// Creates a shared file without a path: a memfd, sealed against shrinking, or, if the system refuses memfds,
/// an unnamed file in a folder, which no other process can open. Access a range only after reserve_room(),
/// otherwise a full file system raises SIGBUS. -1 with errno on failure, EFBIG if ulimit -f is too low. The
/// descriptor is close-on-exec.
int create_shared_memory(const char* label, size_t bytes);
/// The same, but only as a memfd: sparse, and any part of it may be accessed.
int create_sparse_memory(const char* label, size_t bytes);
/// The fallback of create_shared_memory(): a file in the first of these folders that has room for all of it,
/// otherwise in the first that accepts it. -1 with the errno of the last attempt.
int create_file_in(std::span<const char* const> folders, size_t bytes);
/// Maps a shared file readable and writable; nullptr with errno on failure.
void* map_shared(int descriptor, size_t bytes);
/// Maps a part of a sparse shared file. It takes memory only where it is accessed, and goes into core files
/// only after put_in_core_files(). Pre: the offset is a multiple of the page. nullptr with errno on failure.
void* map_sparse(int descriptor, uint64_t offset, size_t bytes);
/// The same, in place of an existing mapping at `address`; false with errno on failure.
bool map_sparse_over(void* address, int descriptor, uint64_t offset, size_t bytes);
/// Includes a part of a sparse mapping in core files.
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
/// Allocates the missing pages of a mapping, as a store to each would; false if the system cannot or refuses.
/// Pre: whole pages.
bool populate_pages(void* address, size_t bytes);
/// Allocates a huge page for a range of its size and alignment, regardless of the system's settings for huge
/// pages of shared memory; false if the system cannot. Sets its first byte to 0. Pre: the range has no pages.
bool populate_huge_page(std::byte* address);
/// Whether the page is in memory.
bool is_page_present(const void* address);
/// Requests huge pages; takes effect where the system permits them for this kind of memory.
void prefer_huge_pages(void* address, size_t bytes);
/// Whether the system gives huge pages to private memory without a request, and none to shared memory.
bool only_private_memory_gets_huge_pages();
/// Return the pages of a range to the system; it reads as zeros afterwards, a shared mapping in all processes
/// that map it. False if the system refuses.
bool drop_shared_pages(void* address, size_t bytes);
bool drop_private_pages(void* address, size_t bytes);
/// The next range of a sparse file that has pages, at or after `from`: begins at `first`, ends before `last`.
bool next_data(int descriptor, uint64_t from, uint64_t& first, uint64_t& last);
/// Maps sparse private memory; nullptr with errno on failure.
void* map_private(size_t bytes);
/// Allocates room for a range of a shared file, so that an access cannot raise SIGBUS.
bool reserve_room(int descriptor, size_t offset, size_t bytes);
/// Requests that pages of this range are allocated on a memory node while it has free ones, otherwise on
/// others; of a shared file this holds for all processes that map it. -1: the system's default. With `move`
/// existing pages are migrated. False with errno if the system refuses. Pre: whole pages.
bool prefer_node(void* address, size_t bytes, int node, bool move = false);
/// Whether this process was started with a memory policy (by numactl, for example).
bool has_memory_policy();
/// The memory node of an allocated page; -1 if unknown.
int node_of_page(const void* address);
/// Length of the file; 0 with errno on failure.
size_t file_bytes(int descriptor);

/// Copies from another process (CMA); the number of bytes copied, or -1 with errno.
intptr_t read_process(int pid, void* to, const void* from, size_t bytes);
/// Copies to another process (CMA); the number of bytes copied, or -1 with errno.
intptr_t write_process(int pid, void* to, const void* from, size_t bytes);

}  // namespace hearth::os
