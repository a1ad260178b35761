// Work queues of Intel's Data Streaming Accelerator, by the kernel's idxd driver: one device file for each
// queue that the administrator has reserved for user programs. copy_engine.cpp opens one at the first use of
// the engine, so never in a process without long copies.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/copy_dsa.h"

namespace hearth::os {

/// Where the driver lists its queues and their properties.
struct DsaFolders {
  std::string devices = "/dev/dsa";
  std::string properties = "/sys/bus/dsa/devices";
};

/// The names of all queues ("wq0.1"), sorted; empty if there is no such device.
std::vector<std::string> dsa_queue_names(const DsaFolders& folders);

struct OpenDsaQueue {
  std::unique_ptr<copy::dsa::Queue> queue;  // null: missing, no permission, or unsupported by the processor
  size_t transfer_bytes_max = 0;
};
OpenDsaQueue open_dsa_queue(const DsaFolders& folders, const std::string& name);

}  // namespace hearth::os
