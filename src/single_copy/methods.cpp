// The single-copy methods of this process. Opens XPMEM's device at first use, and only if XPMEM is among the
// requested methods.
#include <algorithm>
#include <memory>
#include <string>

#include "base/param.h"
#include "single_copy/xpmem.h"

namespace hearth::single_copy {
namespace {

/// Lives until the process ends, because peers may be attached to the memory that it has published.
struct OwnXpmem {
  std::unique_ptr<os::XpmemDevice> device;
  std::unique_ptr<Xpmem> method;
  int64_t segment = 0;

  OwnXpmem() : device(os::open_xpmem()) {
    if (device == nullptr) return;
    segment = device->publish();
    method = std::make_unique<Xpmem>(*device);
  }
};

OwnXpmem& own_xpmem() {
  static auto& xpmem = *new OwnXpmem;
  return xpmem;
}

}  // namespace

std::vector<Method*> methods() {
  std::vector<Method*> found;
  if (!param::get_flag(param::Id::p2p_single_copy)) return found;
  const std::string names = param::get_text(param::Id::p2p_single_copy_methods);
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    if (name == cma().name()) found.push_back(&cma());
    if (name == Xpmem::kName && own_xpmem().method != nullptr) found.push_back(own_xpmem().method.get());
    begin = end + 1;
  }
  return found;
}

int64_t published_segment() {
  for (const Method* method : methods()) {
    if (method == own_xpmem().method.get()) return own_xpmem().segment;
  }
  return 0;
}

}  // namespace hearth::single_copy
