/* Every kind of call that waits ends with an error when the process that it waits for dies. In each round the
 * last rank of the communicator dies while all other ranks are inside a call, or just before; the survivors
 * continue with a shrunk communicator. */
#include "fault.h"

enum { long_count = 1 << 20 };
static int* data;
static int* more;
static MPI_Comm comm;
static int rank, size, victim;
/* Operands of allreduce(). */
static int one = 1, sum;

static int receive(void) {
  return MPI_Recv(data, 1, MPI_INT, victim, 1, comm, MPI_STATUS_IGNORE);
}
static int send_long(void) {
  return MPI_Send(data, long_count, MPI_INT, victim, 1, comm);
}
static int send_synchronous(void) {
  return MPI_Ssend(data, 1, MPI_INT, victim, 1, comm);
}
static int exchange(void) {
  return MPI_Sendrecv(data, long_count, MPI_INT, victim, 1, more, long_count, MPI_INT, victim, 1, comm,
                      MPI_STATUS_IGNORE);
}
static int probe(void) {
  MPI_Status status;
  return MPI_Probe(victim, 1, comm, &status);
}
static int probe_matched(void) {
  MPI_Status status;
  MPI_Message message;
  return MPI_Mprobe(victim, 1, comm, &message, &status);
}
static int probe_often(void) {
  int flag = 0, code = MPI_SUCCESS;
  while (!flag && code == MPI_SUCCESS) code = MPI_Iprobe(victim, 1, comm, &flag, MPI_STATUS_IGNORE);
  return code;
}
static int test_often(void) {
  MPI_Request request;
  int flag = 0, code = MPI_Irecv(data, 1, MPI_INT, victim, 1, comm, &request);
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return code;
}
static int wait_all(void) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  MPI_Irecv(data, 1, MPI_INT, victim, 1, comm, &requests[0]);
  MPI_Irecv(more, 1, MPI_INT, rank, 2, comm, &requests[1]);
  MPI_Isend(&one, 1, MPI_INT, rank, 2, comm, &requests[2]);
  const int code = MPI_Waitall(3, requests, statuses);
  CHECK(class_of(code) == MPI_ERR_IN_STATUS, "MPI_Waitall says %s", words_of(code));
  CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS,
        "a request failed that had nothing to do with it");
  return statuses[0].MPI_ERROR;
}
static int wait_any(void) {
  MPI_Request requests[2];
  int index, code;
  MPI_Irecv(data, 1, MPI_INT, victim, 1, comm, &requests[0]);
  MPI_Irecv(more, 1, MPI_INT, victim, 2, comm, &requests[1]);
  code = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED && requests[index] == MPI_REQUEST_NULL, "%s", words_of(code));
  return MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}
static int persistent(void) {
  MPI_Request request;
  MPI_Recv_init(data, 1, MPI_INT, victim, 1, comm, &request);
  MPI_Start(&request);
  const int first = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(class_of(first) == MPIX_ERR_PROC_FAILED, "%s", words_of(first));
  MPI_Start(&request);
  const int second = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return second;
}
/* A receive whose partitions were never announced, and a send: each cycle ends with an error. */
static int partitioned(void) {
  enum { partitions = 4 };
  MPI_Request request;
  int code = MPI_Precv_init(data, partitions, 1, MPI_INT, victim, 3, comm, MPI_INFO_NULL, &request);
  if (code != MPI_SUCCESS) return code;
  for (int cycle = 0; cycle < 2; ++cycle) {
    MPI_Start(&request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "cycle %d: %s", cycle, words_of(code));
  }
  MPI_Request_free(&request);
  /* A send to a failed process is refused at once. */
  code = MPI_Psend_init(more, partitions, long_count / partitions, MPI_INT, victim, 4, comm, MPI_INFO_NULL,
                        &request);
  if (code == MPI_SUCCESS) MPI_Request_free(&request);
  return code;
}
static int partitioned_send(void) {
  enum { partitions = 4 };
  MPI_Request request;
  int code = MPI_Psend_init(more, partitions, long_count / partitions, MPI_INT, victim, 4, comm,
                            MPI_INFO_NULL, &request);
  if (code != MPI_SUCCESS) return code;
  MPI_Start(&request);
  MPI_Pready_range(0, partitions - 1, request);
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return code;
}
static int from_any(void) {
  return MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
}
/* The request stays usable: after the failure has been acknowledged, another process serves it. */
static int from_any_later(void) {
  MPI_Request request;
  int code, acknowledged;
  MPI_Irecv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL, "%s", words_of(code));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL, "%s", words_of(code));
  MPIX_Comm_ack_failed(comm, size, &acknowledged);
  CHECK(acknowledged == 1, "%d deaths are acknowledged", acknowledged);
  int all_have = 1;
  CHECK(MPIX_Comm_agree(comm, &all_have) == MPI_SUCCESS, "not all have acknowledged it");
  code = MPI_Send(&rank, 1, MPI_INT, (rank + 1) % (size - 1), 1, comm);
  CHECK(code == MPI_SUCCESS, "%s", words_of(code));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(code == MPI_SUCCESS && *data == (rank + size - 2) % (size - 1), "%s", words_of(code));
  return receive();
}
static int barrier(void) {
  return MPI_Barrier(comm);
}
static int bcast(void) {
  return MPI_Bcast(data, 1, MPI_INT, victim, comm);
}
static int bcast_long(void) {
  return MPI_Bcast(data, long_count, MPI_INT, victim, comm);
}
static int allreduce(void) {
  return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}
static int allreduce_long(void) {
  return MPI_Allreduce(data, more, long_count, MPI_INT, MPI_SUM, comm);
}
static int alltoall_long(void) {
  return MPI_Alltoall(data, long_count / size, MPI_INT, more, long_count / size, MPI_INT, comm);
}
static int nonblocking(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  /* A rank that comes late knows of the failure already. */
  const int first = MPI_Ibarrier(comm, &requests[0]);
  if (first != MPI_SUCCESS) return first;
  const int second = MPI_Iallreduce(data, more, long_count, MPI_INT, MPI_SUM, comm, &requests[1]);
  if (second != MPI_SUCCESS) {
    MPI_Wait(&requests[0], statuses);
    return second;
  }
  const int code = MPI_Waitall(2, requests, statuses);
  CHECK(class_of(code) == MPI_ERR_IN_STATUS, "MPI_Waitall says %s", words_of(code));
  CHECK(class_of(statuses[0].MPI_ERROR) == MPIX_ERR_PROC_FAILED, "%s", words_of(statuses[0].MPI_ERROR));
  return statuses[1].MPI_ERROR;
}
/* A call that does not need the victim may create a communicator, which is then as broken as the old one. */
static int try_out(int code, MPI_Comm* made) {
  if (code != MPI_SUCCESS) return code;
  const int tried = MPI_Barrier(*made);
  MPI_Comm_free(made);
  return tried;
}
static int duplicate(void) {
  MPI_Comm made;
  return try_out(MPI_Comm_dup(comm, &made), &made);
}
static int split(void) {
  MPI_Comm made;
  return MPI_Comm_split(comm, 0, 0, &made);
}
static int create_group(void) {
  MPI_Comm made;
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  const int code = MPI_Comm_create_group(comm, group, 1, &made);
  MPI_Group_free(&group);
  return try_out(code, &made);
}

static const struct {
  const char* name;
  int (*call)(void);
} calls[] = {{"receive", receive},
             {"send_long", send_long},
             {"send_synchronous", send_synchronous},
             {"exchange", exchange},
             {"probe", probe},
             {"probe_matched", probe_matched},
             {"probe_often", probe_often},
             {"test_often", test_often},
             {"wait_all", wait_all},
             {"wait_any", wait_any},
             {"persistent", persistent},
             {"partitioned", partitioned},
             {"partitioned_send", partitioned_send},
             {"from_any", from_any},
             {"from_any_later", from_any_later},
             {"barrier", barrier},
             {"bcast", bcast},
             {"bcast_long", bcast_long},
             {"allreduce", allreduce},
             {"allreduce_long", allreduce_long},
             {"alltoall_long", alltoall_long},
             {"nonblocking", nonblocking},
             {"duplicate", duplicate},
             {"split", split},
             {"create_group", create_group}};
enum { call_count = sizeof calls / sizeof calls[0] };

/* argv: the first call, the number of calls, the delay in milliseconds after which the victim dies. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  data = calloc(long_count, sizeof *data);
  more = calloc(long_count, sizeof *more);
  const int first = argc > 1 ? atoi(argv[1]) : 0;
  const int wanted = argc > 2 ? atoi(argv[2]) : call_count;
  const int delay_ms = argc > 3 ? atoi(argv[3]) : 5;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = first; i < call_count && i < first + wanted; ++i) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    victim = size - 1;
    if (size < 2) break;
    /* A rank that leaves the barrier late may notice the failure there. */
    const int before = MPI_Barrier(comm);
    CHECK(before == MPI_SUCCESS || class_of(before) == MPIX_ERR_PROC_FAILED, "before %s: %s", calls[i].name,
          words_of(before));
    if (rank == victim) {
      pause_ms(delay_ms);
      die();
    }
    const int code = calls[i].call();
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED, "%s: %s", calls[i].name, words_of(code));
    CHECK(strstr(words_of(code), "SIGKILL") != NULL, "%s does not say how: %s", calls[i].name,
          words_of(code));
    /* Later calls fail in the same way. */
    const int again = MPI_Barrier(comm);
    CHECK(class_of(again) == MPIX_ERR_PROC_FAILED, "barrier after %s: %s", calls[i].name, words_of(again));
    MPI_Comm next;
    const int shrunk = MPIX_Comm_shrink(comm, &next);
    CHECK(shrunk == MPI_SUCCESS, "shrink after %s: %s", calls[i].name, words_of(shrunk));
    MPI_Comm_free(&comm);
    comm = next;
  }
  MPI_Comm_free(&comm);
  free(data);
  free(more);
  MPI_Finalize();
  return 0;
}
