// The objects of libfabric that the fabric transport uses: one provider, one domain, one endpoint with its
// address vector and its completion queue. Owned by the transport, under the library's lock.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "transport/fabric_library.h"

namespace hearth::transport {

/// Closes an object of libfabric.
struct CloseFid {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using Fid = std::unique_ptr<Object, CloseFid>;

class FabricEndpoint {
 public:
  /// Loads libfabric, chooses a provider by the parameters fabric_*, and opens all objects, for a job of that
  /// many processes. An error names the step that the provider refused.
  Status open(size_t processes);
  /// Closes the endpoint, so that no transfer is active when its buffers are released. Registrations of
  /// memory have to be closed after it, and before this object is destroyed.
  void close() { endpoint_.reset(); }

  /// "tcp;ofi_rxm on eth0".
  const std::string& way() const { return way_; }
  const fi_info& info() const { return *info_; }
  const char* error_text(int error) const { return library_->strerror(error); }
  /// libfabric's address of this endpoint.
  std::span<const std::byte> address() const { return address_; }
  /// The number by which libfabric addresses another process; FI_ADDR_UNSPEC if it does not accept the
  /// address.
  fi_addr_t insert(std::span<const std::byte> address);
  /// Registers memory if the provider demands it; false if the system refuses. Otherwise `registration` stays
  /// empty or owns the registration.
  bool register_memory(const void* memory, size_t bytes, Fid<fid_mr>& registration);

  fid_ep* endpoint() const { return endpoint_.get(); }
  fid_cq* events() const { return events_.get(); }

 private:
  const FabricLibrary* library_ = nullptr;
  FabricInfo info_;
  std::string way_;
  std::vector<std::byte> address_;
  // Destroyed in reverse order.
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> addresses_;
  Fid<fid_cq> events_;
  Fid<fid_ep> endpoint_;
};

}  // namespace hearth::transport
