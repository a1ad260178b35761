/* Resources of a dead rank are reclaimed. Rank 2 dies with long messages of rank 0 that it has not received
 * or half received, and with sends in flight. Then ranks 0 and 1 exchange more than the bounce buffers of one
 * rank hold, so that exposed memory must have been returned to its owner. The collective regions of its
 * communicators are free again once the survivors have freed the communicators. */
#include "areas.h"
#include "fault.h"

enum { length = 2 << 20, messages = 4, twins_count = 12 };

/* Calls that fail take no regions, however often they are tried. */
static void make_what_needs_the_dead(void) {
  MPI_Group world;
  MPI_Comm made;
  MPI_Request request;
  int number = 0, sum;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const long long before = regions_taken();
  for (int round = 0; round < 5; ++round) {
    const int codes[] = {
        MPI_Comm_dup(MPI_COMM_WORLD, &made), MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made),
        MPI_Comm_create_group(MPI_COMM_WORLD, world, round, &made),
        MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request)};
    for (int i = 0; i < (int)(sizeof codes / sizeof codes[0]); ++i) {
      CHECK(class_of(codes[i]) == MPIX_ERR_PROC_FAILED, "call %d: %s", i, words_of(codes[i]));
    }
  }
  /* A process that is asked to join need not know of the failure. */
  if (MPI_Comm_create_from_group(world, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS) {
    MPI_Comm_free(&made);
  }
  CHECK(regions_taken() == before, "%lld areas are taken, %lld before", regions_taken(), before);
  MPI_Group_free(&world);
}

static void meet(int other) {
  const int code =
      MPI_Sendrecv(NULL, 0, MPI_INT, other, 6, NULL, 0, MPI_INT, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(code == MPI_SUCCESS, "%s", words_of(code));
}

/* Some regions have been used, so that there is something to clear. */
static void free_what_the_dead_was_in(MPI_Comm* twins, int other) {
  meet(other);
  const long long before = regions_taken();
  meet(other);
  CHECK(before == 1 + twins_count, "%lld areas are taken", before);
  for (int i = 0; i < twins_count; ++i) MPI_Comm_free(&twins[i]);
  meet(other);
  const long long after = regions_taken();
  CHECK(after == 1, "%lld areas are taken and not used", after - 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  static char data[messages][length];
  MPI_Request requests[messages], receives[messages];
  MPI_Status statuses[messages];
  MPI_Comm twins[twins_count];
  for (int i = 0; i < twins_count; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &twins[i]);
    if (i % 2 == 0) MPI_Barrier(twins[i]);
  }
  if (own_rank_ == 2) {
    /* One message is received completely, so that more of them are in flight. */
    MPI_Recv(data[0], length, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < messages; ++i)
      MPI_Isend(data[i], length, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(NULL, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    pause_ms(5);
    die();
  }
  if (own_rank_ == 0) {
    for (int i = 0; i < messages; ++i)
      MPI_Isend(data[i], length, MPI_CHAR, 2, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv(NULL, 0, MPI_CHAR, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int code = MPI_Waitall(messages, requests, statuses);
    CHECK(class_of(code) == MPI_ERR_IN_STATUS, "%s", words_of(code));
    CHECK(class_of(statuses[messages - 1].MPI_ERROR) == MPIX_ERR_PROC_FAILED, "the last one did not fail");
  } else {
    MPI_Recv(NULL, 0, MPI_CHAR, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int failed = 0;
    for (int i = 0; i < messages + 1; ++i) {
      const int code = MPI_Recv(data[0], length, MPI_CHAR, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED, "%s", words_of(code));
      failed += code != MPI_SUCCESS;
    }
    CHECK(failed > 0, "more messages were received than sent");
  }
  /* Acknowledges now, because the job ends after a while if no rank continues. */
  int acknowledged;
  MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged);
  CHECK(acknowledged == 1, "%d deaths are acknowledged", acknowledged);
  const int other = 1 - own_rank_;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < messages; ++i) {
      memset(data[i], own_rank_ + round + i, length);
      MPI_Isend(data[i], length, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[i]);
    }
    static char received[messages][length];
    for (int i = 0; i < messages; ++i) {
      MPI_Irecv(received[i], length, MPI_CHAR, other, 4, MPI_COMM_WORLD, &receives[i]);
    }
    const int code = MPI_Waitall(messages, receives, MPI_STATUSES_IGNORE);
    CHECK(code == MPI_SUCCESS, "%s", words_of(code));
    CHECK(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "sends fail");
    for (int i = 0; i < messages; ++i) {
      const char expected = (char)(other + round + i);
      CHECK(received[i][0] == expected && received[i][length - 1] == expected, "wrong data in round %d",
            round);
    }
  }
  make_what_needs_the_dead();
  free_what_the_dead_was_in(twins, other);
  MPI_Finalize();
  return 0;
}
