// A fake libfabric with one endpoint in this process: the functions that FabricTransport calls, and on the
// other side anything that the network might deliver. No socket is opened.
//
//   transport --recv, trecv--> posted_, awaited_ --deliver()--> over_ --read of the queue--> transport
//             --send, tsend--> leaving_ ----------let_go()----^
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "fuzz.h"
#include "transport/fabric_library.h"

namespace hearth::fuzz {

/// One instance at a time, which outlives the transport.
class Provider {
 public:
  /// `registers`: memory has to be registered before it is sent or received.
  explicit Provider(bool registers) : registers_(registers) {
    demand(current() == nullptr, "one provider at a time");
    current() = this;
    fill_tables();
    for (fid* object : {&fabric_.fid, &domain_.fid, &addresses_.fid, &events_.fid, &endpoint_.fid}) {
      object->ops = &ops_;
    }
    fabric_.ops = &fabric_ops_;
    domain_.ops = &domain_ops_;
    domain_.mr = &memory_ops_;
    addresses_.ops = &address_ops_;
    events_.ops = &event_ops_;
    endpoint_.ops = &endpoint_ops_;
    endpoint_.cm = &name_ops_;
    endpoint_.msg = &message_ops_;
    endpoint_.tagged = &tagged_ops_;
    transport::use_fabric_library(library());
  }
  ~Provider() {
    demand(registrations_.empty(), "what was registered is let go");
    current() = nullptr;
  }
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  /// Delivers a packet. It is lost if no receive is posted.
  void deliver(std::string_view packet) {
    if (posted_.empty()) return;
    const Posted to = posted_.front();
    posted_.pop_front();
    put(to, packet);
  }
  /// Delivers bytes for an awaited buffer; `choice`: which one.
  void deliver_buffer(size_t choice, size_t bytes) {
    if (awaited_.empty()) return;
    put(take_awaited(choice), std::string(bytes, 'b'));
  }
  /// Ends an operation with an error.
  void fail(size_t choice) {
    if (choice % 3 == 0 && !leaving_.empty()) {
      fail_with(leaving_.front(), FI_EIO);
      leaving_.pop_front();
    } else if (choice % 3 == 1 && !awaited_.empty()) {
      fail_with(take_awaited(choice / 3).context, FI_EIO);
    } else if (!posted_.empty()) {
      fail_with(posted_.front().context, FI_EIO);
      posted_.pop_front();
    }
  }
  /// While busy, no operation is accepted and no packet leaves.
  void set_busy(bool busy) { busy_ = busy; }
  size_t posted() const { return posted_.size(); }
  /// The current number of registrations of this length or more.
  size_t registrations(size_t bytes_min) const {
    return static_cast<size_t>(
        std::ranges::count_if(registrations_, [&](size_t b) { return b >= bytes_min; }));
  }

 private:
  struct Posted {
    std::byte* buffer;
    size_t bytes;
    void* context;
    uint64_t tag;
  };
  struct Registration : fid_mr {
    size_t bytes;
  };

  static Provider*& current() {
    static Provider* one = nullptr;
    return one;
  }

  void put(const Posted& to, std::string_view bytes) {
    std::memcpy(to.buffer, bytes.data(), std::min(bytes.size(), to.bytes));
    if (bytes.size() > to.bytes) return fail_with(to.context, FI_ETRUNC);
    over_.push_back({.op_context = to.context, .flags = FI_RECV, .len = bytes.size()});
  }
  Posted take_awaited(size_t choice) {
    const auto place = awaited_.begin() + static_cast<std::ptrdiff_t>(choice % awaited_.size());
    const Posted taken = *place;
    awaited_.erase(place);
    return taken;
  }
  void fail_with(void* context, int error) {
    fi_cq_err_entry entry = {};
    entry.op_context = context;
    entry.err = error;
    errors_.push_back(entry);
  }

  ssize_t take_send(fi_addr_t to, void* context) {
    demand(to != FI_ADDR_UNSPEC, "who is sent to has an address");
    if (busy_) return -FI_EAGAIN;
    if (context != nullptr) leaving_.push_back(context);
    return 0;
  }
  ssize_t read(fi_cq_msg_entry* entries, size_t count) {
    for (; !busy_ && !leaving_.empty(); leaving_.pop_front()) {
      over_.push_back({.op_context = leaving_.front(), .flags = FI_SEND, .len = 0});
    }
    if (!errors_.empty()) return -FI_EAVAIL;
    size_t taken = 0;
    for (; taken < count && !over_.empty(); over_.pop_front()) entries[taken++] = over_.front();
    return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAGAIN;
  }

  // The functions that the transport calls.

  static fi_info* make_info(const fi_info*) {
    auto* info = new fi_info();
    info->tx_attr = new fi_tx_attr();
    info->rx_attr = new fi_rx_attr();
    info->ep_attr = new fi_ep_attr();
    info->domain_attr = new fi_domain_attr();
    info->fabric_attr = new fi_fabric_attr();
    static char name[] = "fuzz";
    info->domain_attr->name = info->fabric_attr->name = info->fabric_attr->prov_name = name;
    info->domain_attr->mr_mode = current()->registers_ ? FI_MR_LOCAL | FI_MR_ENDPOINT : 0;
    info->tx_attr->inject_size = 128;
    info->ep_attr->max_msg_size = 1 << 20;
    return info;
  }
  static int get_info(uint32_t, const char*, const char*, uint64_t, const fi_info* hints, fi_info** info) {
    *info = make_info(hints);
    return 0;
  }
  static void free_info(fi_info* info) {
    delete info->tx_attr;
    delete info->rx_attr;
    delete info->ep_attr;
    delete info->domain_attr;
    delete info->fabric_attr;
    delete info;
  }
  static const transport::FabricLibrary& library() {
    static constexpr transport::FabricLibrary table = {
        .getinfo = get_info,
        .freeinfo = free_info,
        .dupinfo = make_info,
        .fabric = [](fi_fabric_attr*, fid_fabric** fabric,
                     void*) { return give(current()->fabric_, fabric); },
        .strerror = [](int) { return "of a fuzz target"; },
        .version = [] { return transport::kFabricVersion; },
    };
    return table;
  }
  template <class Object>
  static int give(Object& object, Object** to) {
    *to = &object;
    return 0;
  }

  static int close(fid* object) {
    if (object->fclass != FI_CLASS_MR) return 0;
    auto* registration = reinterpret_cast<Registration*>(object);
    auto& all = current()->registrations_;
    all.erase(std::ranges::find(all, registration->bytes));
    delete registration;
    return 0;
  }
  static int get_name(fid*, void* name, size_t* bytes) {
    constexpr char kName[] = "here";
    const bool fits = *bytes >= sizeof kName;
    if (fits) std::memcpy(name, kName, sizeof kName);
    *bytes = sizeof kName;
    return fits ? 0 : -FI_ETOOSMALL;
  }
  static int insert(fid_av*, const void*, size_t, fi_addr_t* number, uint64_t, void*) {
    *number = 0;
    return 1;
  }
  static int enroll(fid*, const void*, size_t bytes, uint64_t, uint64_t, uint64_t, uint64_t, fid_mr** mr,
                    void*) {
    auto* made = new Registration();
    made->fid.fclass = FI_CLASS_MR;
    made->mem_desc = made;
    made->fid.ops = &current()->ops_;
    made->bytes = bytes;
    current()->registrations_.push_back(bytes);
    *mr = made;
    return 0;
  }
  static ssize_t cancel(fid*, void* context) {
    auto& awaited = current()->awaited_;
    if (std::erase_if(awaited, [context](const Posted& one) { return one.context == context; }) > 0) {
      current()->fail_with(context, FI_ECANCELED);
    }
    return 0;
  }
  static ssize_t post(fid_ep*, void* buffer, size_t bytes, void* registration, fi_addr_t, void* context) {
    demand(!current()->registers_ || registration != nullptr, "what receives is registered");
    if (current()->busy_) return -FI_EAGAIN;
    current()->posted_.push_back({static_cast<std::byte*>(buffer), bytes, context, 0});
    return 0;
  }
  static ssize_t await(fid_ep*, void* buffer, size_t bytes, void*, fi_addr_t, uint64_t tag, uint64_t,
                       void* context) {
    if (current()->busy_) return -FI_EAGAIN;
    current()->awaited_.push_back({static_cast<std::byte*>(buffer), bytes, context, tag});
    return 0;
  }
  static ssize_t read_error(fid_cq*, fi_cq_err_entry* entry, uint64_t) {
    if (current()->errors_.empty()) return -FI_EAGAIN;
    *entry = current()->errors_.front();
    current()->errors_.pop_front();
    return 1;
  }

  void fill_tables() {
    ops_.close = close;
    ops_.bind = [](fid*, fid*, uint64_t) { return 0; };
    ops_.control = [](fid*, int, void*) { return 0; };
    fabric_ops_.domain = [](fid_fabric*, fi_info*, fid_domain** domain, void*) {
      return give(current()->domain_, domain);
    };
    domain_ops_.av_open = [](fid_domain*, fi_av_attr*, fid_av** av, void*) {
      return give(current()->addresses_, av);
    };
    domain_ops_.cq_open = [](fid_domain*, fi_cq_attr*, fid_cq** cq, void*) {
      return give(current()->events_, cq);
    };
    domain_ops_.endpoint = [](fid_domain*, fi_info*, fid_ep** ep, void*) {
      return give(current()->endpoint_, ep);
    };
    memory_ops_.reg = enroll;
    address_ops_.insert = insert;
    event_ops_.read = [](fid_cq*, void* entries, size_t count) {
      return current()->read(static_cast<fi_cq_msg_entry*>(entries), count);
    };
    event_ops_.readerr = read_error;
    endpoint_ops_.cancel = cancel;
    name_ops_.getname = get_name;
    message_ops_.recv = post;
    message_ops_.send = [](fid_ep*, const void*, size_t, void*, fi_addr_t to, void* context) {
      return current()->take_send(to, context);
    };
    message_ops_.inject = [](fid_ep*, const void*, size_t, fi_addr_t to) {
      return current()->take_send(to, nullptr);
    };
    tagged_ops_.recv = await;
    tagged_ops_.send = [](fid_ep*, const void*, size_t, void*, fi_addr_t to, uint64_t, void* context) {
      return current()->take_send(to, context);
    };
  }

  const bool registers_;
  bool busy_ = false;
  std::vector<size_t> registrations_;  // bytes of each
  fi_ops ops_ = {};
  fi_ops_fabric fabric_ops_ = {};
  fi_ops_domain domain_ops_ = {};
  fi_ops_mr memory_ops_ = {};
  fi_ops_av address_ops_ = {};
  fi_ops_cq event_ops_ = {};
  fi_ops_ep endpoint_ops_ = {};
  fi_ops_cm name_ops_ = {};
  fi_ops_msg message_ops_ = {};
  fi_ops_tagged tagged_ops_ = {};
  fid_fabric fabric_ = {};
  fid_domain domain_ = {};
  fid_av addresses_ = {};
  fid_cq events_ = {};
  fid_ep endpoint_ = {};
  std::deque<Posted> posted_;
  std::vector<Posted> awaited_;
  std::deque<void*> leaving_;
  std::deque<fi_cq_msg_entry> over_;
  std::deque<fi_cq_err_entry> errors_;
};

}  // namespace hearth::fuzz
