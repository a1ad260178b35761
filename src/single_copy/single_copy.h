// The contract of a single-copy method: moving bytes straight from one process's memory to another's,
// without a stop in shared memory (hybrid-kernel-user-2008, section 3; openmx-single-copy-2009).
//
// A method is offered for a pair only after it has really moved a known word between these two processes:
// Yama, seccomp filters, user namespaces and process-id namespaces each forbid it for some pairs only, and
// none of them can be read off reliably.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::single_copy {

/// A process as another one must know it to read its memory.
struct Target {
  int pid = 0;
  uint64_t probe_address = 0;  // where the word lies in that process
  uint64_t probe_word = 0;     // what stands there
};

class Method {
 public:
  virtual ~Method() = default;
  virtual const char* name() const = 0;
  /// Whether this process can read from that one, found out by doing it.
  virtual bool probe(const Target& target) = 0;
  /// Copies; false when the system refused or stopped half-way: the caller falls back and copies all of it
  /// again. Pre: probe(target) was true.
  virtual bool read(const Target& target, void* to, uint64_t from, size_t bytes) = 0;
};

/// process_vm_readv (Linux cross memory attach).
Method& cma();

}  // namespace hearth::single_copy
