// Requests, objects and messages that are never completed, freed or received; and ready sends.
#include "cases.h"

static int a[64], b[64];

// Requests.
CASE(isend_never_completed) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) MPI_Isend(a, 1, MPI_INT, 1, 0, W, &request);
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
}
CASE(irecv_never_completed) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
  if (rank == 1) MPI_Irecv(b, 1, MPI_INT, 0, 0, W, &request);
  MPI_Barrier(W);
}
CASE(request_used_again) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) MPI_Isend(a + i, 1, MPI_INT, 1, 0, W, &request);
    if (rank == 1) MPI_Irecv(b + i, 1, MPI_INT, 0, 0, W, &request);
  }
  MPI_Wait(&request, IGNORE);
}
CASE(ibarrier_never_completed) {
  UNUSED;
  MPI_Request request;
  MPI_Ibarrier(W, &request);
}
CASE(persistent_never_freed) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  if (rank == 0) MPI_Send_init(a, 1, MPI_INT, 1, 0, W, &request);
  if (rank == 1) MPI_Recv_init(b, 1, MPI_INT, 0, 0, W, &request);
  MPI_Start(&request);
  MPI_Wait(&request, IGNORE);
}
CASE(persistent_freed_active) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(a, 1, MPI_INT, 1, 0, W, &request);
    MPI_Start(&request);
    MPI_Request_free(&request);
  }
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
}
CASE(irecv_freed) {
  UNUSED;
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(b, 1, MPI_INT, 0, 0, W, &request);
    MPI_Request_free(&request);
  }
  MPI_Barrier(W);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
  MPI_Barrier(W);
}
CASE(rsend_too_early) {
  UNUSED;
  if (rank == 0) MPI_Rsend(a, 1, MPI_INT, 1, 0, W);
  MPI_Barrier(W);
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
}
CASE(irsend_too_early) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Irsend(a, 1, MPI_INT, 1, 0, W, &request);
  MPI_Barrier(W);
  if (rank == 1) MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, &request);
  MPI_Wait(&request, IGNORE);
}

// Objects.
CASE(dup_never_freed) {
  UNUSED;
  MPI_Comm other;
  MPI_Comm_dup(W, &other);
}
CASE(split_never_freed) {
  UNUSED;
  MPI_Comm part;
  MPI_Comm_split(W, rank, 0, &part);
}
CASE(cart_never_freed) {
  UNUSED;
  MPI_Comm grid;
  int dims[1] = {size}, around[1] = {1};
  MPI_Cart_create(W, 1, dims, around, 0, &grid);
}
CASE(type_never_freed) {
  UNUSED;
  MPI_Datatype type;
  MPI_Type_contiguous(4, MPI_INT, &type);
  MPI_Type_commit(&type);
}
CASE(contents_never_freed) {
  UNUSED;
  MPI_Datatype inner, outer, copy;
  int count;
  MPI_Aint none;
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_contiguous(3, inner, &outer);
  MPI_Type_get_contents(outer, 1, 0, 1, &count, &none, &copy);
  MPI_Type_free(&inner);
  MPI_Type_free(&outer);
}
CASE(group_never_freed) {
  UNUSED;
  MPI_Group group;
  MPI_Comm_group(W, &group);
}
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}
CASE(op_never_freed) {
  UNUSED;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
}
CASE(info_never_freed) {
  UNUSED;
  MPI_Info info;
  MPI_Info_create(&info);
}
static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}
CASE(errhandler_never_freed) {
  UNUSED;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler);
}
CASE(mprobe_never_received) {
  UNUSED;
  MPI_Message message;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
  if (rank == 1) MPI_Mprobe(0, 0, W, &message, IGNORE);
}

// Messages.
CASE(send_never_received) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
}
CASE(many_never_received) {
  UNUSED;
  if (rank == 0) {
    for (int i = 0; i < 20; ++i) MPI_Send(a, 1, MPI_INT, 1, i % 2, W);
  } else if (rank == 1) {
    for (int i = 0; i < 10; ++i) MPI_Recv(b, 1, MPI_INT, 0, 1, W, IGNORE);
  }
}
CASE(lost_with_its_communicator) {
  UNUSED;
  MPI_Comm other;
  MPI_Comm_dup(W, &other);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, other);
  MPI_Comm_free(&other);
}
CASE(bsend_never_received) {
  UNUSED;
  static char room[1000];
  MPI_Buffer_attach(room, sizeof room);
  if (rank == 0) MPI_Bsend(a, 1, MPI_INT, 1, 0, W);
  MPI_Barrier(W);
  void* back;
  int bytes;
  if (rank != 0) MPI_Buffer_detach(&back, &bytes);
}
CASE(cancelled_receive) {
  UNUSED;
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(b, 1, MPI_INT, 0, 0, W, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, IGNORE);
  }
  MPI_Barrier(W);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, W);
}

// Correct programs.
CASE(ok_requests) {
  UNUSED;
  MPI_Request requests[6];
  int index, flag = 0, count = 0, indices[6];
  MPI_Status statuses[6];
  if (rank > 1) return;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3; ++i) MPI_Irecv(b + i, 1, MPI_INT, 1 - rank, i, W, &requests[i]);
    for (int i = 0; i < 3; ++i) MPI_Isend(a + i, 1, MPI_INT, 1 - rank, i, W, &requests[3 + i]);
    if (round == 0) MPI_Waitall(6, requests, statuses);
    if (round == 1)
      for (int i = 0; i < 6; ++i) MPI_Waitany(6, requests, &index, IGNORE);
    if (round == 2)
      for (int done = 0; done < 6; done += count) MPI_Waitsome(6, requests, &count, indices, statuses);
    if (round == 3)
      for (flag = 0; !flag;) MPI_Testall(6, requests, &flag, MPI_STATUSES_IGNORE);
  }
}
CASE(ok_tests) {
  UNUSED;
  MPI_Request request;
  int flag = 0, index;
  if (rank > 1) return;
  MPI_Irecv(b, 1, MPI_INT, 1 - rank, 0, W, &request);
  MPI_Send(a, 1, MPI_INT, 1 - rank, 0, W);
  while (!flag) MPI_Test(&request, &flag, IGNORE);
  MPI_Irecv(b, 1, MPI_INT, 1 - rank, 0, W, &request);
  MPI_Send(a, 1, MPI_INT, 1 - rank, 0, W);
  for (flag = 0; !flag;) MPI_Testany(1, &request, &index, &flag, IGNORE);
}
CASE(ok_freed_send) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(a, 1, MPI_INT, 1, 0, W, &request);
    MPI_Request_free(&request);
  }
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
}
CASE(ok_rsend) {
  UNUSED;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) MPI_Irecv(b, 1, MPI_INT, 0, 0, W, &request);
  MPI_Barrier(W);
  if (rank == 0) MPI_Rsend(a, 1, MPI_INT, 1, 0, W);
  MPI_Wait(&request, IGNORE);
}
CASE(ok_objects) {
  UNUSED;
  MPI_Comm other, again;
  MPI_Group group, part;
  MPI_Datatype type, copy;
  MPI_Info info, twin;
  MPI_Op op;
  MPI_Errhandler handler, same;
  MPI_Comm_dup(W, &other);
  MPI_Comm_split(other, 0, rank, &again);
  MPI_Comm_group(W, &group);
  MPI_Group_incl(group, 1, &(int){0}, &part);
  MPI_Type_contiguous(4, MPI_INT, &type);
  MPI_Type_dup(type, &copy);
  MPI_Info_create(&info);
  MPI_Info_dup(info, &twin);
  MPI_Op_create(add, 1, &op);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(other, handler);
  MPI_Comm_get_errhandler(other, &same);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&same);
  MPI_Op_free(&op);
  MPI_Info_free(&twin);
  MPI_Info_free(&info);
  MPI_Type_free(&copy);
  MPI_Type_free(&type);
  MPI_Group_free(&part);
  MPI_Group_free(&group);
  MPI_Comm_free(&other);
  MPI_Comm_disconnect(&again);
}
static int free_type(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)state;
  return MPI_Type_free((MPI_Datatype*)value);
}
CASE(ok_freed_by_a_callback) {
  UNUSED;
  static MPI_Datatype of_copy, of_self;
  MPI_Comm other;
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_type, &keyval, NULL);
  MPI_Type_contiguous(4, MPI_INT, &of_copy);
  MPI_Type_contiguous(5, MPI_INT, &of_self);
  MPI_Comm_dup(W, &other);
  MPI_Comm_set_attr(other, keyval, &of_copy);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &of_self);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&other);
}
CASE(ok_probes) {
  UNUSED;
  MPI_Message message;
  MPI_Request request;
  int flag = 0;
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) MPI_Send(a, 1, MPI_INT, 1, i, W);
  } else if (rank == 1) {
    MPI_Probe(0, 0, W, IGNORE);
    MPI_Recv(b, 1, MPI_INT, 0, 0, W, IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, 1, W, &message, IGNORE);
    MPI_Mrecv(b, 1, MPI_INT, &message, IGNORE);
    while (!flag) MPI_Improbe(0, 2, W, &flag, &message, IGNORE);
    MPI_Imrecv(b, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, IGNORE);
  }
}
CASE(ok_idup) {
  UNUSED;
  MPI_Comm other;
  MPI_Request request;
  MPI_Comm_idup(W, &other, &request);
  MPI_Wait(&request, IGNORE);
  MPI_Bcast(a, 2, MPI_INT, 0, other);
  MPI_Comm_free(&other);
}
CASE(ok_partitioned) {
  UNUSED;
  MPI_Request request;
  if (rank > 1) return;
  if (rank == 0) MPI_Psend_init(a, 2, 4, MPI_INT, 1, 0, W, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Precv_init(b, 2, 4, MPI_INT, 0, 0, W, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  for (int i = 0; i < 2 && rank == 0; ++i) {
    a[4 * i] = i;
    MPI_Pready(i, request);
  }
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}

PROGRAM(ROW(isend_never_completed), ROW(irecv_never_completed), ROW(request_used_again),
        ROW(ibarrier_never_completed), ROW(persistent_never_freed), ROW(persistent_freed_active),
        ROW(irecv_freed), ROW(rsend_too_early), ROW(irsend_too_early), ROW(dup_never_freed),
        ROW(split_never_freed), ROW(cart_never_freed), ROW(type_never_freed), ROW(contents_never_freed),
        ROW(group_never_freed), ROW(op_never_freed), ROW(info_never_freed), ROW(errhandler_never_freed),
        ROW(mprobe_never_received), ROW(send_never_received), ROW(many_never_received),
        ROW(lost_with_its_communicator), ROW(bsend_never_received), ROW(cancelled_receive), ROW(ok_requests),
        ROW(ok_tests), ROW(ok_freed_send), ROW(ok_rsend), ROW(ok_objects), ROW(ok_freed_by_a_callback),
        ROW(ok_probes), ROW(ok_idup), ROW(ok_partitioned))
