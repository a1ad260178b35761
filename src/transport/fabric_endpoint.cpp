#include "transport/fabric_endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <type_traits>

#include "mpi.h"

namespace hearth::transport {

Status FabricEndpoint::open(size_t processes) {
  HEARTH_TRY(fabric_library(library_));
  HEARTH_TRY(choose_fabric(*library_, info_));
  way_ = name_of(*info_);
  const char* doing = "";
  int error = 0;
  const auto make = [&](const char* what, auto& owner, auto open) {
    if (error != 0) return;
    doing = what;
    typename std::remove_reference_t<decltype(owner)>::pointer object = nullptr;
    error = open(&object);
    if (error == 0) owner.reset(object);
  };
  const auto step = [&](const char* what, auto function) {
    if (error != 0) return;
    doing = what;
    error = function();
  };
  make("fi_fabric", fabric_,
       [this](fid_fabric** object) { return library_->fabric(info_->fabric_attr, object, nullptr); });
  make("fi_domain", domain_,
       [this](fid_domain** object) { return fi_domain(fabric_.get(), info_.get(), object, nullptr); });
  fi_av_attr addresses = {};
  addresses.type = info_->domain_attr->av_type;
  addresses.count = processes;
  make("fi_av_open", addresses_,
       [&](fid_av** object) { return fi_av_open(domain_.get(), &addresses, object, nullptr); });
  fi_cq_attr events = {};
  events.format = FI_CQ_FORMAT_MSG;
  make("fi_cq_open", events_,
       [&](fid_cq** object) { return fi_cq_open(domain_.get(), &events, object, nullptr); });
  make("fi_endpoint", endpoint_,
       [this](fid_ep** object) { return fi_endpoint(domain_.get(), info_.get(), object, nullptr); });
  step("fi_ep_bind", [this] { return fi_ep_bind(endpoint_.get(), &addresses_->fid, 0); });
  step("fi_ep_bind", [this] { return fi_ep_bind(endpoint_.get(), &events_->fid, FI_TRANSMIT | FI_RECV); });
  step("fi_enable", [this] { return fi_enable(endpoint_.get()); });
  size_t bytes = 0;
  step("fi_getname", [&] {
    const int asked = fi_getname(&endpoint_->fid, nullptr, &bytes);
    if (asked != -FI_ETOOSMALL && asked != 0) return asked;
    address_.resize(bytes);
    return fi_getname(&endpoint_->fid, address_.data(), &bytes);
  });
  if (error == 0) return {};
  return fail(MPI_ERR_OTHER,
              "%s: %s refused: %s. Remedy: another provider (HEARTH_FABRIC_PROVIDER) or interface "
              "(HEARTH_FABRIC_INTERFACE)",
              way_.c_str(), doing, error_text(-error));
}

fi_addr_t FabricEndpoint::insert(std::span<const std::byte> address) {
  fi_addr_t number = FI_ADDR_UNSPEC;
  const bool inserted = fi_av_insert(addresses_.get(), address.data(), 1, &number, 0, nullptr) == 1;
  return inserted ? number : FI_ADDR_UNSPEC;
}

bool FabricEndpoint::register_memory(const void* memory, size_t bytes, Fid<fid_mr>& registration) {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return true;
  fid_mr* made = nullptr;
  if (fi_mr_reg(domain_.get(), memory, bytes, FI_SEND | FI_RECV, 0, 0, 0, &made, nullptr) != 0) return false;
  registration.reset(made);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return true;
  return fi_mr_bind(made, &endpoint_->fid, 0) == 0 && fi_mr_enable(made) == 0;
}

}  // namespace hearth::transport
