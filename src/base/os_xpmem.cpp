#include "base/os_xpmem.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "base/chaos.h"
#include "base/os_io.h"

namespace hearth::os {
namespace {

constexpr unsigned long kMake = _IO('x', 1);
constexpr unsigned long kGet = _IO('x', 3);
constexpr unsigned long kAttach = _IO('x', 5);
constexpr unsigned long kDetach = _IO('x', 6);

constexpr int kReadWrite = 2;
constexpr int kPermitMode = 1;
constexpr uint64_t kOwnerOnly = 0600;

// Arguments and results of the commands.
struct MakeCommand {
  uint64_t address = 0;
  size_t bytes = SIZE_MAX;  // the whole address space
  int permit_type = kPermitMode;
  uint64_t permit_value = kOwnerOnly;
  int64_t segment = -1;
};
struct GetCommand {
  int64_t segment;
  int flags = kReadWrite;
  int permit_type = kPermitMode;
  uint64_t permit_value = 0;
  int64_t access = -1;
};
struct AttachCommand {
  int64_t access;
  int64_t offset;
  size_t bytes;
  uint64_t address = 0;
  int descriptor;
  int flags = 0;
};
struct DetachCommand {
  uint64_t address;
};

class RealXpmem final : public XpmemDevice {
 public:
  explicit RealXpmem(Descriptor file) : file_(std::move(file)) {}

  int64_t publish() override {
    MakeCommand command;
    return tell(kMake, command) ? command.segment : 0;
  }
  int64_t open(int64_t segment) override {
    GetCommand command = {.segment = segment};
    return tell(kGet, command) ? command.access : 0;
  }
  std::byte* attach(int64_t access, uint64_t address, size_t bytes) override {
    AttachCommand command = {.access = access,
                             .offset = static_cast<int64_t>(address),
                             .bytes = bytes,
                             .descriptor = file_.number()};
    return tell(kAttach, command) ? reinterpret_cast<std::byte*>(command.address) : nullptr;
  }
  void detach(std::byte* address) override {
    DetachCommand command = {reinterpret_cast<uint64_t>(address)};
    tell(kDetach, command);
  }

 private:
  template <class Command>
  bool tell(unsigned long number, Command& command) {
    return !chaos::refuses(chaos::Call::device) && ::ioctl(file_.number(), number, &command) == 0;
  }

  const Descriptor file_;
};

}  // namespace

std::unique_ptr<XpmemDevice> open_xpmem(const char* path) {
  Descriptor file = open_to_read_and_write(path);
  if (!file.open()) return nullptr;
  return std::make_unique<RealXpmem>(std::move(file));
}

}  // namespace hearth::os
