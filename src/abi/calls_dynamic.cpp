// MPI 5.0 chapter 11.7 to 11.10: starting processes, and connections between jobs. docs/design/spawn.md.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "abi/comm_making.h"
#include "abi/connecting.h"
#include "abi/handle.h"
#include "abi/ports.h"
#include "abi/published_names.h"
#include "abi/runtime.h"
#include "abi/spawning.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/info.h"

namespace hearth::mpi {
namespace {

using abi::Caller;
using objects::Comm;
using objects::Info;

/// Seconds after which MPI_Comm_connect gives up; 0: none.
uint64_t timeout_of(const Info* info) {
  const std::string* text = value_of(info, "timeout");
  const double seconds = text == nullptr ? 0 : std::strtod(text->c_str(), nullptr);
  return seconds > 0 ? static_cast<uint64_t>(seconds * 1e9) : 0;
}

Status check_name(const char* name, const char* what, int error_class) {
  if (name != nullptr && *name != 0) return {};
  return fail(error_class, "%s is empty", what);
}

void put_port(const std::string& name, char* port_name) {
  std::snprintf(port_name, MPI_MAX_PORT_NAME, "%s", name.c_str());
}

}  // namespace

// Ports.

Status open_port(Info*, char* port_name) {
  std::string name;
  HEARTH_TRY(abi::open_port(name));
  put_port(name, port_name);
  return {};
}

Status close_port(const char* port_name) {
  return abi::close_port(port_name);
}

Status comm_accept(const char* port_name, MPI_Info, int root, Comm& comm, Comm*& newcomm) {
  HEARTH_TRY(abi::check_connectable(comm));
  const std::string name = comm.rank == root && port_name != nullptr ? port_name : "";
  return abi::accept_group(
      comm, root,
      [&](Caller& caller) -> Status {
        const auto no_port = [&name] {
          return fail(MPI_ERR_PORT, "this process has no open port '%.100s'. Remedy: MPI_Open_port",
                      name.c_str());
        };
        if (abi::find_port(name) == nullptr) return no_port();
        // Another thread may close the port.
        const bool came = abi::wait_for_sockets(
            comm,
            [&name](std::vector<int>& waited) {
              if (abi::Port* port = abi::find_port(name); port != nullptr) port->append_descriptors(waited);
            },
            [&] {
              abi::Port* port = abi::find_port(name);
              return port == nullptr || port->next_caller(caller);
            });
        if (caller.socket.open()) return {};
        return came ? no_port() : p2p::engine().failures().death_among(comm.group->peers);
      },
      newcomm);
}

Status comm_connect(const char* port_name, MPI_Info info, int root, Comm& comm, Comm*& newcomm) {
  HEARTH_TRY(abi::check_connectable(comm));
  return abi::connect_group(
      comm, root,
      [&](Caller& caller) -> Status {
        HEARTH_TRY(check_name(port_name, "port_name", MPI_ERR_PORT));
        caller.timeout_ns = timeout_of(abi::find<Info>(info));
        return abi::call_port(port_name, abi::runtime().bridges.names_of(comm.group->peers),
                              abi::own_ring_lines(), caller.socket);
      },
      newcomm);
}

// The two processes exchange random numbers and port names over their socket; the smaller number accepts.
Status comm_join(int fd, Comm*& intercomm) {
  intercomm = nullptr;
  if (!os::is_socket(fd)) return fail(MPI_ERR_ARG, "fd=%d is not a connected socket", fd);
  struct Words {
    uint64_t magic;
    uint64_t chance;
    char port[MPI_MAX_PORT_NAME];
  };
  static_assert(sizeof(Words) == 16 + MPI_MAX_PORT_NAME);
  Comm& self = abi::predefined_comm(MPI_COMM_SELF);
  std::string port;
  HEARTH_TRY(abi::open_port(port));
  struct Closing {
    const std::string& port;
    ~Closing() { static_cast<void>(abi::close_port(port)); }
  } closing{port};
  Words mine = {shm::kMagic, 0, {}};
  if (!os::fill_with_chance(&mine.chance, sizeof mine.chance)) {
    return fail(MPI_ERR_OTHER, "the system refuses random numbers (getrandom): %s", std::strerror(errno));
  }
  put_port(port, mine.port);
  Words theirs = {};
  if (!os::send_all(fd, &mine, sizeof mine) || !abi::receive_all(self, fd, &theirs, sizeof theirs) ||
      theirs.magic != shm::kMagic) {
    return fail(
        MPI_ERR_OTHER,
        "the process at the other end of fd=%d does not take part in MPI_Comm_join. Likely cause: it has "
        "closed the socket, there were unread data in it, or it uses another MPI library",
        fd);
  }
  theirs.port[MPI_MAX_PORT_NAME - 1] = 0;
  if (mine.chance < theirs.chance) return comm_accept(port.c_str(), MPI_INFO_NULL, 0, self, intercomm);
  return comm_connect(theirs.port, MPI_INFO_NULL, 0, self, intercomm);
}

// Names.

Status publish_name(const char* service_name, Info* info, const char* port_name) {
  HEARTH_TRY(check_name(service_name, "service_name", MPI_ERR_SERVICE));
  HEARTH_TRY(check_name(port_name, "port_name", MPI_ERR_PORT));
  return abi::publish_name(service_name, port_name, abi::is_true(info, "ompi_unique"));
}

Status unpublish_name(const char* service_name, Info*, const char* port_name) {
  HEARTH_TRY(check_name(service_name, "service_name", MPI_ERR_SERVICE));
  return abi::unpublish_name(service_name, port_name == nullptr ? "" : port_name);
}

Status lookup_name(const char* service_name, Info*, char* port_name) {
  HEARTH_TRY(check_name(service_name, "service_name", MPI_ERR_NAME));
  std::string port;
  HEARTH_TRY(abi::lookup_name(service_name, port));
  put_port(port, port_name);
  return {};
}

// Starting processes. Arguments other than root and comm are significant at the root only.

Status comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root, Comm& comm,
                  Comm*& intercomm, int array_of_errcodes[]) {
  std::vector<abi::SpawnRequest> requests;
  if (comm.rank == root) requests.push_back({command, argv, maxprocs, abi::find<Info>(info)});
  return abi::spawn(comm, root, requests, intercomm, array_of_errcodes);
}

Status comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                           const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                           Comm& comm, Comm*& intercomm, int array_of_errcodes[]) {
  std::vector<abi::SpawnRequest> requests;
  if (comm.rank == root) {
    if (count > 0 && (array_of_commands == nullptr || array_of_maxprocs == nullptr)) count = 0;
    for (int i = 0; i < count; ++i) {
      Info* info = array_of_info == nullptr ? nullptr : abi::find<Info>(array_of_info[i]);
      char** argv = array_of_argv == nullptr ? nullptr : array_of_argv[i];
      requests.push_back({array_of_commands[i], argv, array_of_maxprocs[i], info});
    }
  }
  return abi::spawn(comm, root, requests, intercomm, array_of_errcodes);
}

}  // namespace hearth::mpi
