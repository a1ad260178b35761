#include "transport/fabric_library.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/os_library.h"
#include "base/param.h"
#include "mpi.h"
#include "transport/fabric.h"

namespace hearth::transport {
namespace {

const FabricLibrary* the_library = nullptr;

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(os::function_in(library, name));
  return function != nullptr;
}

// False for providers that reach no other machine, or are meant for tests of libfabric only.
bool is_for_others(std::string_view provider) {
  for (const std::string_view part : {"shm", "sockets", "udp", "sm2", "lnx"}) {
    if (provider == part || provider.starts_with(std::string(part) + ";")) return false;
  }
  return true;
}

bool is_loopback(const fi_info& info) {
  if (info.domain_attr->name != nullptr && std::strcmp(info.domain_attr->name, "lo") == 0) return true;
  const std::string_view fabric = info.fabric_attr->name != nullptr ? info.fabric_attr->name : "";
  return fabric.starts_with("127.") || fabric.starts_with("::1/");
}

// Whether the address is valid on its own link only.
bool is_link_local(const fi_info& info) {
  const std::string_view fabric = info.fabric_attr->name != nullptr ? info.fabric_attr->name : "";
  return fabric.starts_with("fe80:") || fabric.starts_with("169.254.");
}

FabricInfo make_hints(const FabricLibrary& library) {
  FabricInfo hints(library.dupinfo(nullptr));
  if (hints == nullptr) return hints;
  hints->caps = FI_MSG | FI_TAGGED;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  // Manual progress: the provider starts no threads, and progresses when it is polled.
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  return hints;
}

// Whether the interface has the requested name. For a requested address, libfabric returns only its
// interface.
bool is_named(const fi_info& info, const std::string& name) {
  return info.domain_attr->name != nullptr && name == info.domain_attr->name;
}

// libfabric 1.17 has two TCP providers: the older one, which needs a layer that emulates datagrams by
// connections (ofi_rxm), and `net`, which became `tcp` in 1.18 and needs no layer. With `net` a long message
// takes three quarters of the time (docs/notebook/network.md). Its versions before 1.17 have not been tested.
bool is_newer_tcp(const fi_info& one, const fi_info& than, uint32_t version) {
  return FI_VERSION_GE(version, FI_VERSION(1, 17)) && std::strcmp(one.fabric_attr->prov_name, "net") == 0 &&
         std::strcmp(than.fabric_attr->prov_name, "tcp;ofi_rxm") == 0;
}

bool is_better(const fi_info& one, const fi_info& than, uint32_t version) {
  if (is_newer_tcp(one, than, version)) return true;
  // libfabric's order decides first; within a provider, addresses that are not link-local.
  if (std::strcmp(one.fabric_attr->prov_name, than.fabric_attr->prov_name) != 0) return false;
  return is_link_local(than) && !is_link_local(one);
}

const fi_info* choose(const fi_info* list, const std::string& interface, bool by_address, bool provider_named,
                      uint32_t version) {
  const fi_info* chosen = nullptr;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    if (!provider_named && !is_for_others(info->fabric_attr->prov_name)) continue;
    if (interface.empty() ? is_loopback(*info) : !by_address && !is_named(*info, interface)) continue;
    if (chosen == nullptr || is_better(*info, *chosen, version)) chosen = info;
  }
  return chosen;
}

std::string names_of(const fi_info* list) {
  std::string text;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    const std::string name = name_of(*info);
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

// Sets the buffer size of ofi_rxm to the length of the packets. Its default is 16 KiB, and it reads an
// environment variable when libfabric is first queried. The variable is removed afterwards, so child
// processes do not inherit it.
class RoomInLayers {
 public:
  RoomInLayers() : own_(std::getenv(kName) == nullptr) {
    const std::string bytes = std::to_string(kNetworkPacketBytesUsual + kNetworkHeaderBytes);
    if (own_) ::setenv(kName, bytes.c_str(), 0);
  }
  ~RoomInLayers() {
    if (own_) ::unsetenv(kName);
  }
  RoomInLayers(const RoomInLayers&) = delete;
  RoomInLayers& operator=(const RoomInLayers&) = delete;

 private:
  static constexpr const char* kName = "FI_OFI_RXM_BUFFER_SIZE";
  const bool own_;
};

struct Offers {
  FabricInfo all;
  const fi_info* best = nullptr;  // the best of these; nullptr if none is suitable
  int error = 0;                  // libfabric's error if there are none
};

Status ask(const FabricLibrary& library, Offers& offers) {
  const std::string& provider = param::get_text(param::Id::fabric_provider);
  const std::string& interface = param::get_text(param::Id::fabric_interface);
  const RoomInLayers room;
  FabricInfo hints = make_hints(library);
  if (hints == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for libfabric");
  if (!provider.empty()) {
    std::free(hints->fabric_attr->prov_name);
    hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  }
  // A dot or a colon suggests an address. If it is an interface's name after all, the query by name finds it.
  const bool by_address = interface.find_first_of(".:") != std::string::npos;
  fi_info* list = nullptr;
  int error = -FI_ENODATA;
  if (by_address) {
    error = library.getinfo(kFabricVersion, interface.c_str(), nullptr, FI_SOURCE | FI_NUMERICHOST,
                            hints.get(), &list);
  }
  const bool found_by_address = by_address && error == 0;
  if (!found_by_address) error = library.getinfo(kFabricVersion, nullptr, nullptr, 0, hints.get(), &list);
  offers.all.reset(error == 0 ? list : nullptr);
  offers.error = error;
  offers.best = choose(offers.all.get(), interface, found_by_address, !provider.empty(), library.version());
  return {};
}

Status refuse(const FabricLibrary& library, const Offers& offers) {
  const std::string& provider = param::get_text(param::Id::fabric_provider);
  const std::string& interface = param::get_text(param::Id::fabric_interface);
  return fail(MPI_ERR_OTHER,
              "libfabric has no way to other machines%s%s%s%s (it offers: %s%s%s). Remedy: "
              "HEARTH_FABRIC_PROVIDER, HEARTH_FABRIC_INTERFACE, or a network interface",
              provider.empty() ? "" : " by provider ", provider.c_str(),
              interface.empty() ? "" : " on interface ", interface.c_str(),
              names_of(offers.all.get()).c_str(), offers.error == 0 ? "" : "; ",
              offers.error == 0 ? "" : library.strerror(-offers.error));
}

Status open_fabric_library() {
  static FabricLibrary opened;
  const std::string& named = param::get_text(param::Id::fabric_library);
  std::string problem;
  void* file = os::open_library(named.empty() ? "libfabric.so.1" : named, problem);
  if (file == nullptr) {
    return fail(
        MPI_ERR_OTHER,
        "ranks of this job are on several machines, and libfabric, which carries messages between them, "
        "cannot be opened: %s. Remedy: install it (Debian: libfabric1), or name its file in "
        "HEARTH_FABRIC_LIBRARY",
        problem.c_str());
  }
  const bool whole = find(file, "fi_getinfo", opened.getinfo) && find(file, "fi_freeinfo", opened.freeinfo) &&
                     find(file, "fi_dupinfo", opened.dupinfo) && find(file, "fi_fabric", opened.fabric) &&
                     find(file, "fi_strerror", opened.strerror) && find(file, "fi_version", opened.version);
  if (!whole || FI_VERSION_LT(opened.version(), kFabricVersion)) {
    return fail(MPI_ERR_OTHER, "%s is no libfabric of version 1.11 or later. Remedy: HEARTH_FABRIC_LIBRARY",
                named.empty() ? "libfabric.so.1" : named.c_str());
  }
  the_library = &opened;
  return {};
}

}  // namespace

void FreeInfo::operator()(fi_info* info) const {
  the_library->freeinfo(info);
}

void use_fabric_library(const FabricLibrary& library) {
  the_library = &library;
}

Status fabric_library(const FabricLibrary*& library) {
  if (the_library == nullptr) HEARTH_TRY(open_fabric_library());
  library = the_library;
  return {};
}

Status choose_fabric(const FabricLibrary& library, FabricInfo& chosen) {
  Offers offers;
  HEARTH_TRY(ask(library, offers));
  if (offers.best == nullptr) return refuse(library, offers);
  chosen.reset(library.dupinfo(offers.best));
  return chosen != nullptr ? Status() : fail(MPI_ERR_NO_MEM, "no memory for libfabric");
}

Status probe_fabric(NetworkOffer& offer) {
  const FabricLibrary* library;
  HEARTH_TRY(fabric_library(library));
  const uint32_t version = library->version();
  offer.library = "libfabric " + std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
  Offers offers;
  HEARTH_TRY(ask(*library, offers));
  for (const fi_info* info = offers.all.get(); info != nullptr; info = info->next) {
    std::string name = name_of(*info);
    if (std::find(offer.offers.begin(), offer.offers.end(), name) == offer.offers.end())
      offer.offers.push_back(std::move(name));
  }
  if (offers.best == nullptr) {
    static_cast<void>(refuse(*library, offers));
    offer.why_none = last_failure_text();
    return {};
  }
  offer.chosen = name_of(*offers.best);
  offer.registers = (offers.best->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  const auto* address = static_cast<const std::byte*>(offers.best->src_addr);
  if (address != nullptr) offer.address.assign(address, address + offers.best->src_addrlen);
  return {};
}

std::string name_of(const fi_info& info) {
  std::string text = info.fabric_attr->prov_name;
  if (info.domain_attr->name != nullptr) text += std::string(" on ") + info.domain_attr->name;
  return text;
}

}  // namespace hearth::transport
