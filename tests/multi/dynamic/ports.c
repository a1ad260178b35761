/* Ports, published names and MPI_Comm_join: between the two halves of one job, whose processes are connected
 * already, and between jobs that were started separately. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "joint.h"

static int is_server(void) {
  return rank_ < size_ / 2;
}

static void test_halves(const char* service) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, is_server(), rank_, &half);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank_ == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    const int code = MPI_Publish_name(service, MPI_INFO_NULL, port);
    CHECK(code == MPI_SUCCESS, "MPI_Publish_name: class %d", class_of(code));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_server()) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
  } else {
    int rank;
    MPI_Comm_rank(half, &rank);
    if (rank == 0) {
      const int code = MPI_Lookup_name(service, MPI_INFO_NULL, port);
      CHECK(code == MPI_SUCCESS, "MPI_Lookup_name: class %d", class_of(code));
    }
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
  }
  check_joint(inter, !is_server());
  MPI_Comm_disconnect(&inter);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS, "MPI_Unpublish_name fails");
    MPI_Close_port(port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int code = MPI_Lookup_name(service, MPI_INFO_NULL, port);
  CHECK(class_of(code) == MPI_ERR_NAME, "a name that is not published: class %d", class_of(code));
  MPI_Comm_free(&half);
}

static void test_errors(void) {
  MPI_Comm inter;
  char port[MPI_MAX_PORT_NAME], closed[MPI_MAX_PORT_NAME];
  int code = MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  CHECK(class_of(code) == MPI_ERR_PORT, "connecting to no port: class %d", class_of(code));
  MPI_Open_port(MPI_INFO_NULL, closed);
  MPI_Close_port(closed);
  code = MPI_Comm_connect(closed, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  CHECK(class_of(code) == MPI_ERR_PORT, "connecting to a closed port: class %d", class_of(code));
  code = MPI_Comm_accept(closed, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  CHECK(class_of(code) == MPI_ERR_PORT, "accepting at a closed port: class %d", class_of(code));
  code = MPI_Close_port(closed);
  CHECK(class_of(code) == MPI_ERR_PORT, "closing a port twice: class %d", class_of(code));
  code = MPI_Publish_name("hearth test: no port", MPI_INFO_NULL, closed);
  CHECK(class_of(code) == MPI_ERR_PORT, "publishing a closed port: class %d", class_of(code));
  code = MPI_Unpublish_name("hearth test: never published", MPI_INFO_NULL, closed);
  CHECK(class_of(code) == MPI_ERR_SERVICE, "unpublishing what is not published: class %d", class_of(code));
  /* A caller that has the socket but not the secret is refused. */
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "timeout", "1");
  MPI_Open_port(MPI_INFO_NULL, port);
  strcpy(closed, port);
  char* secret = strchr(strchr(closed, ':') + 1, ':') + 1;
  *secret = *secret == '0' ? '1' : '0';
  code = MPI_Comm_connect(closed, info, 0, MPI_COMM_SELF, &inter);
  CHECK(class_of(code) == MPI_ERR_PORT, "connecting with a wrong secret: class %d", class_of(code));
  MPI_Info_free(&info);
  MPI_Close_port(port);
}

/* Two processes with a TCP connection between them. */
static void test_join(void) {
  if (rank_ > 1) return;
  int port = 0;
  int socket_of_pair = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (rank_ == 0) {
    CHECK(bind(socket_of_pair, (struct sockaddr*)&address, length) == 0, "bind fails");
    listen(socket_of_pair, 1);
    getsockname(socket_of_pair, (struct sockaddr*)&address, &length);
    port = address.sin_port;
    MPI_Send(&port, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    const int listener = socket_of_pair;
    socket_of_pair = accept(listener, NULL, NULL);
    close(listener);
  } else {
    MPI_Recv(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    address.sin_port = (in_port_t)port;
    CHECK(connect(socket_of_pair, (struct sockaddr*)&address, length) == 0, "connect fails");
  }
  MPI_Comm inter;
  const int code = MPI_Comm_join(socket_of_pair, &inter);
  CHECK(code == MPI_SUCCESS, "MPI_Comm_join: class %d", class_of(code));
  check_messages(inter);
  /* The socket is empty afterwards. */
  char byte;
  CHECK(recv(socket_of_pair, &byte, 1, MSG_DONTWAIT) <= 0, "MPI_Comm_join leaves data in the socket");
  MPI_Comm_disconnect(&inter);
  close(socket_of_pair);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  char service[64];
  snprintf(service, sizeof service, "hearth test %d %d", size_, rank_ == 0 ? (int)getpid() : 0);
  MPI_Bcast(service, sizeof service, MPI_CHAR, 0, MPI_COMM_WORLD);
  one_job_ = 1;
  test_halves(service);
  test_errors();
  test_join();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
