// libfabric, loaded at run time: its exported functions, and the choice of a provider and an interface. Used
// once, when the library starts and a rank is on another machine.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace hearth::transport {

/// The functions that libfabric exports; all others are inline functions of its headers.
struct FabricLibrary {
  int (*getinfo)(uint32_t version, const char* node, const char* service, uint64_t flags,
                 const fi_info* hints, fi_info** info) = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;
  int (*fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) = nullptr;
  const char* (*strerror)(int error) = nullptr;
  uint32_t (*version)() = nullptr;
};

/// The requested version of the API: later features are not used.
constexpr uint32_t kFabricVersion = FI_VERSION(1, 11);

/// The first call loads the library.
Status fabric_library(const FabricLibrary*& library);
/// Uses another implementation instead (tests/fuzz/provider.h), which has to outlive all objects opened by
/// it.
void use_fabric_library(const FabricLibrary& library);

struct FreeInfo {
  void operator()(fi_info* info) const;
};
using FabricInfo = std::unique_ptr<fi_info, FreeInfo>;

/// Chooses a provider and an interface for messages to other machines, by the parameters fabric_provider and
/// fabric_interface.
Status choose_fabric(const FabricLibrary& library, FabricInfo& chosen);
/// "tcp;ofi_rxm on eth0".
std::string name_of(const fi_info& info);

}  // namespace hearth::transport
