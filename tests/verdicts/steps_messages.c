/* Point-to-point messages in all their forms. */
#include <stdlib.h>

#include "steps.h"

enum { kTag = 3, kLong = 300000 };

static char out_[kLong], in_[kLong];

static int length(void) {
  const int lengths[] = {0, 8, 100, 5000, 40000, kLong};
  return lengths[draw(6)];
}
static int after(int rank) {
  return (rank + 1) % size_;
}
static int before(int rank) {
  return (rank + size_ - 1) % size_;
}

void step_ring(const Late* late) {
  const int bytes = length();
  be_late(late);
  MPI_Sendrecv(out_, bytes, MPI_BYTE, after(rank_), kTag, in_, bytes, MPI_BYTE, before(rank_), kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Messages from the late rank around the circle, and optionally back. */
void step_chain(const Late* late) {
  const int bytes = length(), first = late->rank, last = before(first);
  const int back = draw(2);
  be_late(late);
  if (rank_ != first) MPI_Recv(in_, bytes, MPI_BYTE, before(rank_), kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank_ != last) MPI_Send(out_, bytes, MPI_BYTE, after(rank_), kTag, MPI_COMM_WORLD);
  if (!back) return;
  if (rank_ != last) MPI_Recv(in_, bytes, MPI_BYTE, after(rank_), kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank_ != first) MPI_Send(out_, bytes, MPI_BYTE, before(rank_), kTag, MPI_COMM_WORLD);
}

void step_any_source(const Late* late) {
  const int bytes = length(), root = draw(size_), any_tag = draw(2), answers = draw(2);
  MPI_Status status;
  MPI_Comm comm; /* separate, so that a wildcard cannot match messages of the next step */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  be_late(late);
  if (rank_ == root) {
    for (int i = 1; i < size_; ++i) {
      MPI_Recv(in_, bytes, MPI_BYTE, MPI_ANY_SOURCE, any_tag ? MPI_ANY_TAG : kTag, comm, &status);
      if (answers) MPI_Send(out_, 4, MPI_BYTE, status.MPI_SOURCE, kTag + 1, comm);
    }
  } else {
    MPI_Send(out_, bytes, MPI_BYTE, root, kTag, comm);
    if (answers) MPI_Recv(in_, 4, MPI_BYTE, root, kTag + 1, comm, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
}

/* Long, synchronous or buffered sends to a rank that may be late. */
void step_long_sends(const Late* late) {
  const int form = draw(3), to = late->rank, bytes = form == 0 ? kLong : 1 + length() / 2;
  be_late(late);
  if (rank_ == to) {
    for (int from = 0; from < size_; ++from) {
      if (from == to) continue;
      MPI_Recv(in_, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else if (form == 0) {
    MPI_Send(out_, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  } else if (form == 1) {
    MPI_Ssend(out_, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  } else {
    int attached = bytes + MPI_BSEND_OVERHEAD;
    void* buffer = malloc((size_t)attached);
    MPI_Buffer_attach(buffer, attached);
    MPI_Bsend(out_, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
    MPI_Buffer_detach(&buffer, &attached);
    free(buffer);
  }
}

void step_persistent(const Late* late) {
  const int bytes = length(), form = draw(3);
  MPI_Request requests[2];
  MPI_Send_init(out_, bytes, MPI_BYTE, after(rank_), kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in_, bytes, MPI_BYTE, before(rank_), kTag, MPI_COMM_WORLD, &requests[1]);
  for (int turn = 0; turn < 2; ++turn) {
    int left = 2;
    MPI_Startall(2, requests);
    if (turn == 1) be_late(late);
    while (left > 0) {
      int done = 1, indices[2];
      if (form == 0) {
        MPI_Waitany(2, requests, indices, MPI_STATUS_IGNORE);
      } else if (form == 1) {
        MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
      } else {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        done = 2;
      }
      left -= done;
    }
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* The late rank is late between two of its partitions. */
void step_partitioned(const Late* late) {
  const int sent = 1 + draw(4), received = 1 + draw(4), polls = draw(2);
  const int each = 12 * (1 + draw(2000));
  MPI_Request requests[2];
  int flag = 0;
  MPI_Psend_init(out_, sent, each / sent, MPI_BYTE, after(rank_), kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in_, received, each / sent * sent, MPI_BYTE, before(rank_), kTag, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  for (int partition = 0; partition < sent; ++partition) {
    if (partition == sent / 2) be_late(late);
    MPI_Pready(partition, requests[0]);
  }
  for (int partition = 0; polls && partition < received; ++partition) {
    MPI_Parrived(requests[1], partition, &flag);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

void step_probes(const Late* late) {
  const int form = draw(4), bytes = length();
  const int from = before(rank_);
  MPI_Request request;
  MPI_Message message;
  int flag = 0;
  be_late(late);
  MPI_Isend(out_, bytes, MPI_BYTE, after(rank_), kTag, MPI_COMM_WORLD, &request);
  if (form == 0) MPI_Probe(from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  while (form == 1 && !flag) MPI_Iprobe(from, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  if (form == 2) {
    MPI_Mprobe(from, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in_, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in_, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  while (form == 3 && !flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  if (form != 3) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Receives from all other ranks in order of arrival, and answers each. */
void step_waitany(const Late* late) {
  MPI_Request* requests = malloc((size_t)size_ * sizeof *requests);
  char* room = malloc((size_t)size_ * 64);
  const int root = draw(size_);
  be_late(late);
  if (rank_ != root) {
    MPI_Send(out_, 64, MPI_BYTE, root, kTag, MPI_COMM_WORLD);
    MPI_Recv(in_, 8, MPI_BYTE, root, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int from = 0; from < size_; ++from) {
      requests[from] = MPI_REQUEST_NULL;
      if (from == root) continue;
      MPI_Irecv(room + 64 * from, 64, MPI_BYTE, from, kTag, MPI_COMM_WORLD, &requests[from]);
    }
    for (int i = 1; i < size_; ++i) {
      int which;
      MPI_Waitany(size_, requests, &which, MPI_STATUS_IGNORE);
      MPI_Send(out_, 8, MPI_BYTE, which, kTag, MPI_COMM_WORLD);
    }
  }
  free(requests);
  free(room);
}
