// The server of another launcher, which may send anything: it sends the input, then closes the connection.
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "base/os_socket.h"
#include "fuzz.h"
#include "launch/bootstrap_node.h"
#include "launch/bootstrap_pmi.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  constexpr size_t kSaidMax = 32768;  // fits the socket's buffer
  static const bool is_set = ::setenv("PMI_RANK", "1", 1) == 0 && ::setenv("PMI_SIZE", "3", 1) == 0;
  fuzz::demand(is_set, "variables can be set");
  int ends[2];
  fuzz::demand(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  const os::Descriptor server(ends[0]);
  fuzz::demand(os::send_all(ends[0], data, std::min(bytes, kSaidMax)), "the server can say it");
  ::shutdown(ends[0], SHUT_WR);
  std::unique_ptr<launch::ForeignLauncher> launcher;
  if (!launch::PmiLauncher::from_descriptor(ends[1], launcher).ok()) return 0;
  fuzz::demand(launcher->rank() >= 0 && launcher->rank() < launcher->size(), "a rank is one of the job's");
  const std::vector<std::byte> own(40);
  std::vector<std::byte> found;
  launch::NodeAddress published;
  if (launcher->put("node", own).ok() && launcher->fence().ok() && launcher->get(0, "node", found).ok()) {
    static_cast<void>(launch::parse_address(found, published));
  }
  launcher->finalize();
  return 0;
}
