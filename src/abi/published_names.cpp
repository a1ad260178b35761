#include "abi/published_names.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "abi/ports.h"
#include "base/os_file.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

std::map<std::string, std::string>& own_names() {
  static auto& all = *new std::map<std::string, std::string>;
  return all;
}

// XDG_RUNTIME_DIR belongs to the user alone; /tmp does not, so what is there has to be checked.
Status find_folder(std::string& folder) {
  const char* runtime_folder = std::getenv("XDG_RUNTIME_DIR");
  if (runtime_folder != nullptr && *runtime_folder == '/') {
    folder = std::string(runtime_folder) + "/hearth";
    if (os::make_private_folder(folder.c_str()) == 0) return {};
  }
  folder = "/tmp/hearth-" + std::to_string(os::own_user());
  const int error = os::make_private_folder(folder.c_str());
  if (error == 0) return {};
  return fail(MPI_ERR_SERVICE,
              "names cannot be published: '%s' is not a private folder of this user: %s. "
              "Remedy: set XDG_RUNTIME_DIR to such a folder, or pass the name of the port on in another way",
              folder.c_str(), std::strerror(error));
}

// Any text may be a service name, so the file has it in hexadecimal digits.
Status find_file(const std::string& service, std::string& path) {
  constexpr size_t kLettersMax = 120;  // file names end at 255 characters
  if (service.size() > kLettersMax) {
    return fail(MPI_ERR_SERVICE, "the service name has %zu characters: it may have %zu", service.size(),
                kLettersMax);
  }
  HEARTH_TRY(find_folder(path));
  path += "/";
  for (const char letter : service) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    path += digits;
  }
  return {};
}

/// The port in a file; "" if there is no file, or its port no longer exists: then the file is removed.
std::string port_in(const std::string& path) {
  std::string port = os::read_text(path.c_str());
  if (port.empty() || answers(port)) return port;
  static_cast<void>(os::remove_file(path.c_str()));
  return "";
}

Status write_file(const std::string& path, const std::string& port) {
  const std::string draft = path + "." + std::to_string(os::process_id());
  os::Descriptor file = os::open_file(draft.c_str(), {.write = true, .create = true, .permissions = 0600});
  const bool written = file.open() && os::write_some(file.number(), port.data(), port.size()) ==
                                          static_cast<intptr_t>(port.size());
  // A short write leaves errno as it was.
  const int reason = errno != 0 ? errno : EIO;
  const int error = written ? os::rename_file(draft.c_str(), path.c_str()) : reason;
  if (error == 0) return {};
  static_cast<void>(os::remove_file(draft.c_str()));
  return fail(MPI_ERR_SERVICE, "cannot write '%s': %s", path.c_str(), std::strerror(error));
}

}  // namespace

Status publish_name(const std::string& service, const std::string& port, bool unique) {
  if (!answers(port)) {
    return fail(MPI_ERR_PORT, "'%.100s' is not the name of an open port. Remedy: MPI_Open_port",
                port.c_str());
  }
  std::string path;
  HEARTH_TRY(find_file(service, path));
  const std::string before = port_in(path);
  const auto own = own_names().find(service);
  const bool replaces = !unique && own != own_names().end() && own->second == before;
  if (!before.empty() && !replaces) {
    return fail(MPI_ERR_SERVICE,
                "the name '%.100s' is published already. Remedy: MPI_Unpublish_name, or another name",
                service.c_str());
  }
  HEARTH_TRY(write_file(path, port));
  own_names()[service] = port;
  return {};
}

Status unpublish_name(const std::string& service, const std::string& port) {
  std::string path;
  HEARTH_TRY(find_file(service, path));
  const std::string found = os::read_text(path.c_str());
  if (found.empty() || (!port.empty() && found != port)) {
    return fail(MPI_ERR_SERVICE, "the name '%.100s' is not published%s", service.c_str(),
                found.empty() ? "" : " with this port");
  }
  static_cast<void>(os::remove_file(path.c_str()));
  own_names().erase(service);
  return {};
}

Status lookup_name(const std::string& service, std::string& port) {
  std::string path;
  HEARTH_TRY(find_file(service, path));
  port = port_in(path);
  if (!port.empty()) return {};
  return fail(
      MPI_ERR_NAME,
      "no port is published under the name '%.100s'. Likely cause: the server has not started yet, or runs "
      "as another user or on another machine",
      service.c_str());
}

void unpublish_all_names() {
  const std::map<std::string, std::string> names = own_names();
  for (const auto& [service, port] : names) static_cast<void>(unpublish_name(service, port));
}

}  // namespace hearth::abi
