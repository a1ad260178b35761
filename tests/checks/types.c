// Messages that are received with another type than they were sent with.
#include "cases.h"

static int a[64], b[64];
static double d[8];

static void transfer(int rank, int sent, MPI_Datatype sent_type, int wanted, MPI_Datatype wanted_type) {
  if (rank == 0) MPI_Send(a, sent, sent_type, 1, 3, W);
  if (rank == 1) MPI_Recv(b, wanted, wanted_type, 0, 3, W, IGNORE);
}
static MPI_Datatype made(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
static MPI_Datatype pair_of(MPI_Datatype first, MPI_Datatype second) {
  MPI_Datatype type, types[2] = {first, second};
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {0, 8};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  return made(type);
}

CASE(int_float) {
  UNUSED, transfer(rank, 4, MPI_INT, 4, MPI_FLOAT);
}
CASE(int_double) {
  UNUSED, transfer(rank, 4, MPI_INT, 2, MPI_DOUBLE);
}
CASE(int_byte) {
  UNUSED, transfer(rank, 4, MPI_INT, 16, MPI_BYTE);
}
CASE(char_byte) {
  UNUSED, transfer(rank, 16, MPI_CHAR, 16, MPI_BYTE);
}
CASE(int_unsigned) {
  UNUSED, transfer(rank, 4, MPI_INT, 4, MPI_UNSIGNED);
}
CASE(shorter_and_other) {
  UNUSED, transfer(rank, 2, MPI_FLOAT, 4, MPI_INT);
}
CASE(struct_order) {
  UNUSED;
  MPI_Datatype one = pair_of(MPI_INT, MPI_FLOAT), two = pair_of(MPI_FLOAT, MPI_INT);
  transfer(rank, 1, one, 1, two);
  MPI_Type_free(&one);
  MPI_Type_free(&two);
}
CASE(part_of_struct) {
  UNUSED;
  MPI_Datatype one = pair_of(MPI_INT, MPI_FLOAT);
  transfer(rank, 3, MPI_INT, 2, one);
  MPI_Type_free(&one);
}
CASE(vector_of_other) {
  UNUSED;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, MPI_FLOAT, &column);
  column = made(column);
  transfer(rank, 4, MPI_INT, 1, column);
  MPI_Type_free(&column);
}
CASE(any_source) {
  UNUSED;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, W);
  if (rank == 1) MPI_Recv(b, 1, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, IGNORE);
}
CASE(second_of_two) {
  UNUSED;
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Send(a, 1, MPI_INT, 1, 3, W);
    MPI_Send(a, 1, MPI_INT, 1, 3, W);
  } else if (rank == 1) {
    MPI_Irecv(b, 1, MPI_INT, 0, 3, W, &requests[0]);
    MPI_Irecv(b + 8, 1, MPI_FLOAT, 0, 3, W, &requests[1]);
    MPI_Wait(&requests[1], IGNORE);
    MPI_Wait(&requests[0], IGNORE);
  }
}
CASE(persistent) {
  UNUSED;
  MPI_Request request;
  if (rank == 0) MPI_Send_init(a, 1, MPI_INT, 1, 3, W, &request);
  if (rank == 1) MPI_Recv_init(b, 1, MPI_FLOAT, 0, 3, W, &request);
  if (rank > 1) return;
  MPI_Start(&request);
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}
CASE(sendrecv) {
  UNUSED;
  MPI_Sendrecv(a, 1, MPI_INT, 1 - rank, 3, b, 1, MPI_FLOAT, 1 - rank, 3, W, IGNORE);
}
CASE(mprobe) {
  UNUSED;
  MPI_Message message;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, W);
  if (rank == 1) {
    MPI_Mprobe(0, 3, W, &message, IGNORE);
    MPI_Mrecv(b, 1, MPI_FLOAT, &message, IGNORE);
  }
}
CASE(long_message) {
  UNUSED;
  const int count = 1 << 18;
  int* data = calloc((size_t)count, sizeof(int));
  if (rank == 0) MPI_Send(data, count, MPI_INT, 1, 3, W);
  if (rank == 1) MPI_Recv(data, count, MPI_FLOAT, 0, 3, W, IGNORE);
  free(data);
}
CASE(too_long) {
  UNUSED, transfer(rank, 4, MPI_INT, 2, MPI_INT);
}
CASE(of_a_part) {
  MPI_Comm part;
  MPI_Comm_split(W, 0, size - rank, &part);
  if (rank == size - 1) MPI_Send(a, 1, MPI_INT, 1, 3, part);
  if (rank == size - 2) MPI_Recv(b, 1, MPI_FLOAT, 0, 3, part, IGNORE);
  MPI_Comm_free(&part);
}

CASE(ok_same) {
  UNUSED, transfer(rank, 4, MPI_INT, 4, MPI_INT);
}
CASE(ok_shorter) {
  UNUSED, transfer(rank, 3, MPI_INT, 9, MPI_INT);
}
CASE(ok_packed) {
  UNUSED;
  int at = 0;
  MPI_Pack(a, 4, MPI_INT, b, (int)sizeof b, &at, W);
  if (rank == 0) MPI_Send(b, at, MPI_PACKED, 1, 3, W);
  if (rank == 1) MPI_Recv(a, 4, MPI_INT, 0, 3, W, IGNORE);
  transfer(rank, 4, MPI_INT, 64, MPI_PACKED);
}
CASE(ok_bytes) {
  UNUSED, transfer(rank, 5, MPI_BYTE, 16, MPI_BYTE);
}
CASE(ok_derived) {
  UNUSED;
  MPI_Datatype types[6];
  int places[4] = {0, 3, 7, 9}, lengths[4] = {1, 1, 1, 1}, sizes[2] = {4, 4}, parts[2] = {2, 2},
      starts[2] = {1, 1};
  MPI_Type_vector(4, 1, 2, MPI_INT, &types[0]);
  MPI_Type_contiguous(4, MPI_INT, &types[1]);
  MPI_Type_indexed(4, lengths, places, MPI_INT, &types[2]);
  MPI_Type_create_indexed_block(4, 1, places, MPI_INT, &types[3]);
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &types[4]);
  MPI_Type_create_resized(types[0], 0, 64, &types[5]);
  for (int i = 0; i < 6; ++i) MPI_Type_commit(&types[i]);
  for (int i = 0; i < 6; ++i) {
    transfer(rank, 1, types[i], 4, MPI_INT);
    transfer(rank, 4, MPI_INT, 1, types[i]);
    transfer(rank, 1, types[i], 1, types[(i + 1) % 6]);
    transfer(rank, 3, MPI_INT, 1, types[i]);
  }
  for (int i = 0; i < 6; ++i) MPI_Type_free(&types[i]);
}
CASE(ok_struct) {
  UNUSED;
  MPI_Datatype one = pair_of(MPI_DOUBLE, MPI_INT);
  transfer(rank, 2, one, 2, MPI_DOUBLE_INT);
  transfer(rank, 1, MPI_DOUBLE, 2, one);
  MPI_Type_free(&one);
}
CASE(ok_wildcards_and_order) {
  UNUSED;
  MPI_Request requests[3];
  if (rank == 0) {
    MPI_Send(a, 1, MPI_INT, 1, 3, W);
    MPI_Send(d, 1, MPI_DOUBLE, 1, 4, W);
    MPI_Send(a, 2, MPI_FLOAT, 1, 3, W);
  } else if (rank == 1) {
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 3, W, &requests[0]);
    MPI_Irecv(d, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, W, &requests[1]);
    MPI_Irecv(b + 8, 2, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &requests[2]);
    MPI_Wait(&requests[2], IGNORE);
    MPI_Wait(&requests[1], IGNORE);
    MPI_Wait(&requests[0], IGNORE);
  }
}
CASE(ok_cancelled) {
  UNUSED;
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(b, 1, MPI_FLOAT, 0, 3, W, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, IGNORE);
  }
  MPI_Barrier(W);
  transfer(rank, 1, MPI_INT, 1, MPI_INT);
}
CASE(ok_many) {
  UNUSED;
  int many[100];
  MPI_Request requests[100];
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 100; ++i) {
      MPI_Datatype type = i % 3 == 0 ? MPI_INT : i % 3 == 1 ? MPI_FLOAT : MPI_UNSIGNED;
      if (rank == 0) MPI_Isend(a, 1, type, 1, i % 3, W, &requests[i]);
      if (rank == 1) MPI_Irecv(many + i, 1, type, 0, i % 3, W, &requests[i]);
    }
    if (rank > 1) break;
    MPI_Waitall(100, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(a, 1, MPI_INT, 1 - rank, 7, b, 1, MPI_INT, 1 - rank, 7, W, IGNORE);
  }
}

PROGRAM(ROW(int_float), ROW(int_double), ROW(int_byte), ROW(char_byte), ROW(int_unsigned),
        ROW(shorter_and_other), ROW(struct_order), ROW(part_of_struct), ROW(vector_of_other), ROW(any_source),
        ROW(second_of_two), ROW(persistent), ROW(sendrecv), ROW(mprobe), ROW(long_message), ROW(too_long),
        ROW(of_a_part), ROW(ok_same), ROW(ok_shorter), ROW(ok_packed), ROW(ok_bytes), ROW(ok_derived),
        ROW(ok_struct), ROW(ok_wildcards_and_order), ROW(ok_cancelled), ROW(ok_many))
