// The contract of a single-copy method: moving bytes straight from one process's memory to another's,
// without a stop in shared memory (hybrid-kernel-user-2008, section 3; openmx-single-copy-2009). A method can
// read what a sender has lent, and write into what a receiver has posted; which of the two, or both at once
// (cooperative.h), is the engine's choice.
//
// A method is used for a pair only after it has really moved a known word between these two processes:
// Yama, seccomp filters, user namespaces and process-id namespaces each forbid it for some pairs only, and
// none of them can be read off reliably. Reading and writing are asked separately: filters tell them apart.
//
// Called by the engine under the library's lock. Memory is that of two programs, at their own addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::single_copy {

/// A process as another one must know it to reach its memory.
struct Target {
  int pid = 0;                 // 0: it has no number that this process could use
  uint64_t probe_address = 0;  // where the word lies in that process
  uint64_t probe_word = 0;     // what stands there
  int64_t xpmem_segment = 0;   // as the process has published it; 0: it has not
};

class Method {
 public:
  virtual ~Method() = default;
  virtual const char* name() const = 0;
  /// Whether each copy is a call of the system, which takes a lock of the other process.
  virtual bool takes_lock() const = 0;
  /// Whether this process can read from that one, found out by doing it. Only then is it known to be the
  /// right process.
  virtual bool probe_read(const Target& target) = 0;
  /// Whether it can write there as well: the word is written over itself. Pre: probe_read(target) was true.
  virtual bool probe_write(const Target& target) = 0;
  /// Copies; false when the system refused or stopped half-way: the caller falls back and copies all of it
  /// again. Pre: the probe of this target was true.
  virtual bool read(const Target& target, void* to, uint64_t from, size_t bytes) = 0;
  virtual bool write(const Target& target, uint64_t to, const void* from, size_t bytes) = 0;
};

/// process_vm_readv and process_vm_writev (Linux cross memory attach).
Method& cma();

/// The methods that p2p_single_copy_methods names and that this machine has, in that order; none where
/// p2p_single_copy forbids them.
std::vector<Method*> methods();
/// What peers need to know for Target::xpmem_segment; 0 where XPMEM is not among the methods.
int64_t published_segment();

}  // namespace hearth::single_copy
