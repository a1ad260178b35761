// The work queues of Intel's Data Streaming Accelerator, by the kernel's idxd driver: a device file per queue
// that an administrator has set aside for user programs. Opened by copy_engine.cpp at the first use of the
// engine, never before and never by a process that does not copy much.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/copy_dsa.h"

namespace hearth::os {

/// Where the driver shows its queues and their properties.
struct DsaFolders {
  std::string devices = "/dev/dsa";
  std::string properties = "/sys/bus/dsa/devices";
};

/// The names of all queues ("wq0.1"), sorted; none where there is no such device.
std::vector<std::string> dsa_queue_names(const DsaFolders& folders);

struct OpenDsaQueue {
  std::unique_ptr<copy::dsa::Queue> queue;  // null: not there, not for this user, or not for this processor
  size_t transfer_bytes_max = 0;
};
OpenDsaQueue open_dsa_queue(const DsaFolders& folders, const std::string& name);

}  // namespace hearth::os
