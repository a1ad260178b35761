/* All ranks exchange messages of random lengths and tags. Each rank draws the same plan from the seed,
 * executes it in order with blocking and nonblocking calls mixed, and checks every byte. Arguments: the seed,
 * the number of rounds; with a third one, `alloc_mem`, the buffers come from MPI_Alloc_mem. */
#include "../coll/check.h"

enum { messages_in_round = 100, guard_bytes = 16 };

struct Message {
  int source, destination, tag, length;
  int send_blocks, receive_blocks, any_tag, room;
};

static unsigned long long state;
static int from_mpi;

static unsigned char* take_buffer(size_t bytes) {
  unsigned char* buffer = NULL;
  if (!from_mpi) return malloc(bytes);
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &buffer);
  return buffer;
}

static void give_buffer(unsigned char* buffer) {
  if (!from_mpi) {
    free(buffer);
  } else if (buffer != NULL) {
    MPI_Free_mem(buffer);
  }
}

static unsigned long long draw_from(unsigned long long* from) {
  *from ^= *from << 13;
  *from ^= *from >> 7;
  *from ^= *from << 17;
  return *from;
}

static int draw(int below) {
  return (int)((draw_from(&state) >> 20) % (unsigned long long)below);
}

static int draw_length(void) {
  static const int limits[] = {0, 1, 48, 49, 1024, 2048, 2049, 3072, 16384, 16385, 32768};
  const int kind = draw(100);
  if (kind < 45) return draw(65);
  if (kind < 70) return limits[draw((int)(sizeof limits / sizeof limits[0]))];
  if (kind < 94) return draw(20000);
  return draw(300 * 1024 + 1);
}

static void draw_plan(struct Message* plan, int distinct_tags) {
  for (int i = 0; i < messages_in_round; ++i) {
    struct Message* m = &plan[i];
    m->source = draw(size_);
    m->destination = draw(size_);
    m->tag = distinct_tags ? i : draw(4);
    m->length = draw_length();
    m->send_blocks = draw(2) && m->source != m->destination && !distinct_tags;
    m->receive_blocks = draw(2) && m->source != m->destination;
    m->any_tag = draw(3) == 0 && !distinct_tags;
    m->room = m->length + (draw(2) ? draw(100) : 0);
  }
}

static unsigned long long seed_of(int round, int i) {
  return ((unsigned long long)round * messages_in_round + (unsigned long long)i + 1) * 0x9e3779b97f4a7c15ull;
}

static void fill(unsigned char* data, int length, unsigned long long seed) {
  int i = 0;
  for (; i + 8 <= length; i += 8) {
    const unsigned long long word = draw_from(&seed);
    memcpy(data + i, &word, 8);
  }
  for (; i < length; ++i) data[i] = (unsigned char)(draw_from(&seed) >> 8);
}

static void check_data(const unsigned char* data, const struct Message* m, int round, int i) {
  static unsigned char wanted[300 * 1024 + 1];
  fill(wanted, m->length, seed_of(round, i));
  for (int at = 0; at < m->length; ++at)
    CHECK(data[at] == wanted[at], "round %d message %d from %d tag %d length %d: byte %d is %d, not %d",
          round, i, m->source, m->tag, m->length, at, data[at], wanted[at]);
  for (int at = m->length; at < m->room + guard_bytes; ++at)
    CHECK(data[at] == 0xa5, "round %d message %d length %d: byte %d behind the message was written", round, i,
          m->length, at);
}

static void check_status(const MPI_Status* status, const struct Message* m, int round, int i) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  CHECK(status->MPI_SOURCE == m->source && status->MPI_TAG == m->tag && count == m->length,
        "round %d message %d: status says source %d tag %d length %d, not %d %d %d", round, i,
        status->MPI_SOURCE, status->MPI_TAG, count, m->source, m->tag, m->length);
}

/* The order in which this rank executes the plan: as planned, or (with distinct tags) with its receives
 * shuffled after its sends, so that most messages are unexpected. */
static void draw_order(int* order, int shuffled) {
  unsigned long long own = state + (unsigned long long)rank_ * 77 + 1;
  for (int i = 0; i < messages_in_round; ++i) order[i] = i;
  for (int i = messages_in_round - 1; shuffled && i > 0; --i) {
    const int other = (int)((draw_from(&own) >> 20) % (unsigned long long)(i + 1));
    const int kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

static void run_round(int round) {
  struct Message plan[messages_in_round];
  int order[messages_in_round], receive_of[2 * messages_in_round];
  unsigned char *sent[messages_in_round] = {NULL}, *received[messages_in_round] = {NULL};
  MPI_Request requests[2 * messages_in_round];
  MPI_Status statuses[2 * messages_in_round];
  int started = 0;
  const int shuffled = round % 3 == 2;

  draw_plan(plan, shuffled);
  draw_order(order, shuffled);
  for (int step = 0; step < 2 * messages_in_round; ++step) {
    /* As planned: one pass does both sides. Shuffled: first all sends, then all receives. */
    const int pass = shuffled ? step / messages_in_round : step % 2;
    const int i = order[shuffled ? step % messages_in_round : step / 2];
    const struct Message* m = &plan[i];
    if (pass == 0 && m->source == rank_) {
      sent[i] = take_buffer((size_t)m->length + 1);
      fill(sent[i], m->length, seed_of(round, i));
      if (m->send_blocks) {
        MPI_Send(sent[i], m->length, MPI_BYTE, m->destination, m->tag, MPI_COMM_WORLD);
      } else {
        receive_of[started] = -1;
        MPI_Isend(sent[i], m->length, MPI_BYTE, m->destination, m->tag, MPI_COMM_WORLD, &requests[started++]);
      }
    }
    if (pass == 1 && m->destination == rank_) {
      const int tag = m->any_tag ? MPI_ANY_TAG : m->tag;
      MPI_Status status;
      received[i] = take_buffer((size_t)m->room + guard_bytes);
      memset(received[i], 0xa5, (size_t)m->room + guard_bytes);
      if (m->receive_blocks) {
        MPI_Recv(received[i], m->room, MPI_BYTE, m->source, tag, MPI_COMM_WORLD, &status);
        check_status(&status, m, round, i);
        check_data(received[i], m, round, i);
      } else {
        receive_of[started] = i;
        MPI_Irecv(received[i], m->room, MPI_BYTE, m->source, tag, MPI_COMM_WORLD, &requests[started++]);
      }
    }
  }
  MPI_Waitall(started, requests, statuses);
  for (int at = 0; at < started; ++at) {
    const int i = receive_of[at];
    if (i < 0) continue;
    check_status(&statuses[at], &plan[i], round, i);
    check_data(received[i], &plan[i], round, i);
  }
  for (int i = 0; i < messages_in_round; ++i) {
    give_buffer(sent[i]);
    give_buffer(received[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x2545f4914f6cdd1dull + 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 30;
  from_mpi = argc > 3 && strcmp(argv[3], "alloc_mem") == 0;
  for (int round = 0; round < rounds; ++round) run_round(round);
  MPI_Finalize();
  return 0;
}
