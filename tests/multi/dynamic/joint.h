/* Traffic over a communicator between jobs: messages of all lengths and collectives, over an
 * intercommunicator and over the result of its MPI_Intercomm_merge. Collective over both groups. */
#ifndef TESTS_MULTI_DYNAMIC_JOINT_H
#define TESTS_MULTI_DYNAMIC_JOINT_H

#include "../coll/check.h"

/* Whether the two groups are of one job. */
static int one_job_;

/* Each process exchanges messages with each of the other group, whose contents name sender and length. */
static inline void check_messages(MPI_Comm inter) {
  static const int lengths[] = {0, 1, 7, 60, 300, 5000, 70000, 1000003};
  int remotes, rank;
  MPI_Comm_remote_size(inter, &remotes);
  MPI_Comm_rank(inter, &rank);
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l) {
    const int length = lengths[l];
    unsigned char* out = malloc((size_t)length + 1);
    unsigned char* in = malloc((size_t)(length + 1) * (size_t)remotes);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)remotes);
    for (int i = 0; i < length; ++i) out[i] = (unsigned char)(i * 7 + rank);
    for (int r = 0; r < remotes; ++r) {
      MPI_Irecv(in + (size_t)r * (size_t)(length + 1), length, MPI_BYTE, r, (int)l, inter, &requests[r]);
      MPI_Isend(out, length, MPI_BYTE, r, (int)l, inter, &requests[remotes + r]);
    }
    MPI_Waitall(2 * remotes, requests, MPI_STATUSES_IGNORE);
    for (int r = 0; r < remotes; ++r) {
      const unsigned char* got = in + (size_t)r * (size_t)(length + 1);
      for (int i = 0; i < length; ++i)
        CHECK(got[i] == (unsigned char)(i * 7 + r), "byte %d of %d from %d is %d", i, length, r, got[i]);
    }
    free(out);
    free(in);
    free(requests);
  }
}

/* `high`: this process's group is the second one of the merged communicator. */
static inline void check_inter_collectives(MPI_Comm inter, int high) {
  int size, remotes, rank;
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remotes);
  MPI_Comm_rank(inter, &rank);
  MPI_Barrier(inter);
  int value = high ? -1 : 4711;
  MPI_Bcast(&value, 1, MPI_INT, high ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  CHECK(value == 4711, "MPI_Bcast brought %d", value);
  int sum = 0;
  int mine = 1 + rank + 100 * high;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remotes * (remotes + 1) / 2 + 100 * !high * remotes, "MPI_Allreduce brought %d", sum);
  int* all = malloc(sizeof(int) * (size_t)remotes);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int r = 0; r < remotes; ++r)
    CHECK(all[r] == 1 + r + 100 * !high, "MPI_Allgather: %d from %d", all[r], r);
  int* out = malloc(sizeof(int) * (size_t)remotes);
  for (int r = 0; r < remotes; ++r) out[r] = 1000 * rank + r;
  MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int r = 0; r < remotes; ++r) CHECK(all[r] == 1000 * r + rank, "MPI_Alltoall: %d from %d", all[r], r);
  free(all);
  free(out);
}

static inline void check_intra_collectives(MPI_Comm comm) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  for (int length = 1; length <= 100000; length *= 10) {
    double* out = malloc(sizeof(double) * (size_t)length);
    double* in = malloc(sizeof(double) * (size_t)length * (size_t)size);
    for (int i = 0; i < length; ++i) out[i] = rank + i;
    MPI_Allreduce(out, in, length, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < length; ++i)
      CHECK(in[i] == size * (size - 1) / 2 + (double)size * i, "MPI_Allreduce of %d: %g at %d", length, in[i],
            i);
    MPI_Allgather(out, length, MPI_DOUBLE, in, length, MPI_DOUBLE, comm);
    for (int r = 0; r < size; ++r)
      CHECK(in[(size_t)r * (size_t)length] == r, "MPI_Allgather of %d: %g from %d", length,
            in[(size_t)r * (size_t)length], r);
    const int root = length % size;
    if (rank != root) memset(out, 0, sizeof(double) * (size_t)length);
    MPI_Bcast(out, length, MPI_DOUBLE, root, comm);
    CHECK(out[length - 1] == root + length - 1, "MPI_Bcast of %d brought %g", length, out[length - 1]);
    free(out);
    free(in);
  }
  int prefix = 0;
  const int one = 1;
  MPI_Scan(&one, &prefix, 1, MPI_INT, MPI_SUM, comm);
  CHECK(prefix == rank + 1, "MPI_Scan brought %d", prefix);
}

/* Communicators made of the merged one. */
static inline void check_derived(MPI_Comm merged, MPI_Comm inter) {
  int size, rank, result;
  MPI_Comm_size(merged, &size);
  MPI_Comm_rank(merged, &rank);
  MPI_Comm copy, part, own, again;
  MPI_Comm_dup(merged, &copy);
  MPI_Comm_compare(merged, copy, &result);
  CHECK(result == MPI_CONGRUENT, "the duplicate compares as %d", result);
  check_intra_collectives(copy);
  MPI_Comm_split(copy, rank % 2, -rank, &part);
  check_intra_collectives(part);
  MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &own);
  check_intra_collectives(own);
  MPI_Comm_dup(inter, &again);
  check_messages(again);
  MPI_Group group, world_group;
  MPI_Comm_group(merged, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world_group);
  MPI_Group common;
  int commons;
  MPI_Group_intersection(group, world_group, &common);
  MPI_Group_size(common, &commons);
  int locals;
  MPI_Comm_size(inter, &locals);
  if (one_job_) locals = size;
  CHECK(commons == locals, "%d processes of the merged communicator are in MPI_COMM_WORLD, not %d", commons,
        locals);
  MPI_Group_free(&common);
  MPI_Group_free(&group);
  MPI_Group_free(&world_group);
  MPI_Comm_free(&again);
  MPI_Comm_free(&own);
  MPI_Comm_free(&part);
  MPI_Comm_free(&copy);
}

static inline void check_joint(MPI_Comm inter, int high) {
  int is_inter;
  MPI_Comm_test_inter(inter, &is_inter);
  CHECK(is_inter, "the connection is no intercommunicator");
  check_messages(inter);
  check_inter_collectives(inter, high);
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, high, &merged);
  int size, remotes, all, rank, merged_rank;
  MPI_Comm_size(inter, &size);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &remotes);
  MPI_Comm_size(merged, &all);
  MPI_Comm_rank(merged, &merged_rank);
  CHECK(all == size + remotes, "%d processes are merged, not %d", all, size + remotes);
  CHECK(merged_rank == rank + (high ? remotes : 0), "the merged rank is %d", merged_rank);
  check_intra_collectives(merged);
  check_derived(merged, inter);
  MPI_Comm_free(&merged);
}

#endif
