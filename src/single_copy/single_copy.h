// Interface of a single-copy method, which moves bytes directly from one process's memory to another's,
// without bounce buffers (hybrid-kernel-user-2008, section 3; openmx-single-copy-2009). A method reads a
// buffer that a sender has exposed, or writes to a buffer that a receiver has posted. The engine chooses one
// of them, or both at once (cooperative.h).
//
// A method is used for a pair of processes only after it has moved a known word between them. Yama, seccomp
// filters, user namespaces and PID namespaces each forbid it for some pairs only, and there is no other
// reliable way to detect this. Reads and writes are probed separately, because filters may permit one of them
// only.
//
// Called by the engine under the library's lock. Addresses are those of the process that owns the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::single_copy {

/// The data by which another process can access a process's memory.
struct Target {
  int pid = 0;                 // 0: it has no PID in this process's namespace
  uint64_t probe_address = 0;  // address of the probe word in that process
  uint64_t probe_word = 0;     // value of the probe word
  int64_t xpmem_segment = 0;   // the segment id that the process has published; 0: none
};

class Method {
 public:
  virtual ~Method() = default;
  virtual const char* name() const = 0;
  /// Whether each copy is a system call, which takes a lock of the other process.
  virtual bool takes_lock() const = 0;
  /// Whether this process can read the memory of the target, determined by reading the probe word. Its value
  /// also confirms that the PID belongs to the right process.
  virtual bool probe_read(const Target& target) = 0;
  /// Whether this process can also write there: writes the probe word's own value to it. Pre:
  /// probe_read(target) returned true.
  virtual bool probe_write(const Target& target) = 0;
  /// Copy bytes; false if the system refused or stopped partway: the caller then copies all of them by
  /// another method. Pre: the probe of this target returned true.
  virtual bool read(const Target& target, void* to, uint64_t from, size_t bytes) = 0;
  virtual bool write(const Target& target, uint64_t to, const void* from, size_t bytes) = 0;
};

/// process_vm_readv and process_vm_writev (Linux cross memory attach).
Method& cma();

/// The methods in p2p_single_copy_methods that this machine has, in that order; none if p2p_single_copy is
/// off.
std::vector<Method*> methods();
/// This process's value for Target::xpmem_segment; 0 if XPMEM is not among the methods.
int64_t published_segment();

}  // namespace hearth::single_copy
