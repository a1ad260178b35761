#include "base/os_dsa.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/os_io.h"
#include "base/os_memory.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace hearth::os {
namespace {

using copy::dsa::Queue;

constexpr size_t kTransferBytesDefault = size_t{2} << 20;  // the driver's default
constexpr size_t kTransferBytesMax = size_t{1} << 31;

// The two instructions as bytes, because compilers accept them only when compiling for processors that have
// them.
#if defined(__x86_64__)
// MOVDIR64B submits to a dedicated queue, which never reports that it is full.
void store_64(void* portal, const copy::dsa::Descriptor& descriptor) {
  asm volatile(".byte 0x66, 0x0f, 0x38, 0xf8, 0x02" : : "a"(portal), "d"(&descriptor) : "memory");
}
// ENQCMD submits to a shared queue, which may report that it is full.
bool enqueue_64(void* portal, const copy::dsa::Descriptor& descriptor) {
  bool full;
  asm volatile(".byte 0xf2, 0x0f, 0x38, 0xf8, 0x02"
               : "=@ccz"(full)
               : "a"(portal), "d"(&descriptor)
               : "memory");
  return !full;
}
bool processor_can(bool shared) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kMovdir64b = 1u << 28;
  constexpr unsigned kEnqcmd = 1u << 29;
  return (ecx & (shared ? kEnqcmd : kMovdir64b)) != 0;
}
// Drains the store buffer, so that the device sees earlier stores.
void fence_stores() {
  _mm_sfence();
}
#else
void store_64(void* /*portal*/, const copy::dsa::Descriptor& /*descriptor*/) {}
bool enqueue_64(void* /*portal*/, const copy::dsa::Descriptor& /*descriptor*/) {
  return false;
}
bool processor_can(bool /*shared*/) {
  return false;
}
void fence_stores() {}
#endif

/// Submits descriptors through a mapped page of the device. Only the mapping keeps the device file open, and
/// children of fork do not inherit it. Unmapping it closes the queue; the driver then waits for descriptors
/// in progress.
class PortalQueue : public Queue {
 public:
  PortalQueue(void* portal, bool shared) : portal_(portal), shared_(shared) {}
  ~PortalQueue() override { release_portal(); }

  Answer submit(const copy::dsa::Descriptor& descriptor) override {
    if (portal_ == nullptr) return Answer::broken;
    fence_stores();
    if (shared_) return enqueue_64(portal_, descriptor) ? Answer::accepted : Answer::busy;
    store_64(portal_, descriptor);
    return Answer::accepted;
  }
  void close() override { release_portal(); }

 private:
  void release_portal() {
    if (portal_ != nullptr) ::munmap(portal_, page_bytes());
    portal_ = nullptr;
  }

  void* portal_;
  bool shared_;
};

/// Submits descriptors through write(): the kernel does not map the page of devices that a user program could
/// exploit through it (INTEL-SA-01084).
class WrittenQueue : public Queue {
 public:
  explicit WrittenQueue(os::Descriptor file) : file_(std::move(file)) {}

  Answer submit(const copy::dsa::Descriptor& descriptor) override {
    if (!file_.open()) return Answer::broken;
    fence_stores();
    if (write_some(file_.number(), &descriptor, sizeof descriptor) ==
        static_cast<intptr_t>(sizeof descriptor))
      return Answer::accepted;
    return errno == EAGAIN || errno == EINTR || errno == EBUSY ? Answer::busy : Answer::broken;
  }
  void close() override { file_.reset(); }

 private:
  os::Descriptor file_;
};

}  // namespace

std::vector<std::string> dsa_queue_names(const DsaFolders& folders) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(folders.devices.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.compare(0, 2, "wq") == 0) names.push_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

OpenDsaQueue open_dsa_queue(const DsaFolders& folders, const std::string& name) {
  const std::string properties = folders.properties + "/" + name + "/";
  const auto property = [&](const char* which) { return read_text((properties + which).c_str()); };
  const std::string mode = property("mode");
  const bool shared = mode.compare(0, 6, "shared") == 0;
  if (!shared && mode.compare(0, 9, "dedicated") != 0) return {};

  Descriptor file = open_to_read_and_write((folders.devices + "/" + name).c_str());
  if (!file.open()) return {};
  const size_t reported = std::strtoull(property("max_transfer_size").c_str(), nullptr, 10);
  OpenDsaQueue opened;
  opened.transfer_bytes_max = std::min(reported > 0 ? reported : kTransferBytesDefault, kTransferBytesMax);
  void* portal = ::mmap(nullptr, page_bytes(), PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.number(), 0);
  if (portal == MAP_FAILED) {
    opened.queue = std::make_unique<WrittenQueue>(std::move(file));
  } else {
    opened.queue = std::make_unique<PortalQueue>(portal, shared);
    if (!processor_can(shared)) opened.queue.reset();
  }
  return opened;
}

}  // namespace hearth::os
