/* MPI calls in signal handlers: a call that interrupts another MPI call is refused, and the interrupted call
 * continues undisturbed. A call that interrupts none, and calls from callbacks that the library invokes
 * (reductions, attributes, errors, generalized requests), are ordinary calls. With an argument the process
 * has several threads. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "../coll/check.h"

enum { rounds = 300, length = 3000 };
static volatile sig_atomic_t calls, refused, right, wrong;

/* Calls MPI in the handler: the only valid results are success and this error class. */
static void on_alarm(int number) {
  (void)number;
  int rank = -1, flag = 0, error_class = 0, length_of_text = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  const int code = calls % 2 == 0 ? MPI_Comm_rank(MPI_COMM_WORLD, &rank)
                                  : MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  ++calls;
  if (code == MPI_SUCCESS) {
    ++right;
    return;
  }
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text, &length_of_text);
  if (error_class == MPI_ERR_OTHER && strstr(text, "signal handler") != NULL) {
    ++refused;
  } else {
    ++wrong;
  }
}

static void set_alarms(int microseconds) {
  const struct itimerval times = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &times, NULL);
}

/* Rank 0 waits in a receive for a while and is interrupted repeatedly. */
static void interrupt_a_wait(void) {
  int got = 0;
  if (size_ == 1) return;
  calls = refused = right = 0;
  if (rank_ == 0) {
    set_alarms(500);
    MPI_Recv(&got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    set_alarms(0);
    CHECK(got == 55, "the message that the signals interrupted is %d", got);
    CHECK(refused > 0, "of %d calls in handlers none was refused", (int)calls);
  } else if (rank_ == 1) {
    const struct timespec pause = {0, 50 * 1000 * 1000};
    got = 55;
    nanosleep(&pause, NULL);
    MPI_Send(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
}

static void interrupt_messages(void) {
  static int out[length], in[length], sum[length];
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  set_alarms(70 + 10 * rank_);
  for (int round = 0; round < rounds; ++round) {
    const int count = round % 3 == 0 ? 1 : round % 3 == 1 ? 100 : length;
    MPI_Request requests[2];
    for (int i = 0; i < count; ++i) out[i] = rank_ * 1000 + round + i;
    MPI_Irecv(in, count, MPI_INT, previous, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, count, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(out, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      CHECK(in[i] == previous * 1000 + round + i, "round %d: number %d is %d", round, i, in[i]);
      CHECK(sum[i] == size_ * (round + i) + 1000 * (size_ * (size_ - 1) / 2), "round %d: sum %d is %d", round,
            i, sum[i]);
    }
  }
  set_alarms(0);
  CHECK(wrong == 0, "%d calls in handlers had another outcome", (int)wrong);
}

/* A handler that interrupts no MPI call may call MPI in Hearth. */
static void interrupt_nothing(void) {
  calls = refused = right = 0;
  for (int i = 0; i < 4; ++i) raise(SIGALRM);
  CHECK(right == 4, "%d of 4 calls outside of MPI went well", (int)right);
}

static int called;

static void call_local(void) {
  int rank = -1;
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == rank_, "a call in a callback failed");
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS,
        "no info in a callback");
  ++called;
}

static void call_mpi(void) {
  int out = 3, in = 0;
  CHECK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) ==
                MPI_SUCCESS &&
            in == 3,
        "a message in a callback failed");
  call_local();
}

/* Reductions must not communicate (MPI 5.0 section 6.9.5). */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  call_local();
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int copy(MPI_Comm comm, int key, void* extra, void* value, void* to, int* flag) {
  (void)comm, (void)key, (void)extra;
  call_mpi();
  *(void**)to = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int erase(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  call_mpi();
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int text_length;
  (void)comm;
  MPI_Error_string(*code, text, &text_length);
  call_mpi();
}

static int query(void* extra, MPI_Status* status) {
  (void)extra;
  call_mpi();
  MPI_Status_set_elements(status, MPI_INT, 1);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int set_free(void* extra) {
  (void)extra;
  call_mpi();
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  call_mpi();
  return MPI_SUCCESS;
}

static void call_from_callbacks(void) {
  MPI_Op op;
  MPI_Comm copied;
  MPI_Errhandler handler;
  MPI_Request request;
  int key, one = 1, all = 0;
  called = 0;
  MPI_Op_create(add, 0, &op);
  MPI_Allreduce(&one, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(all == size_, "the sum of a function is %d", all);
  MPI_Op_free(&op);
  int expected = called;
  CHECK(called > 0 || size_ == 1, "the operation was not called");

  MPI_Comm_create_keyval(copy, erase, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &copied);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(copied, handler);
  CHECK(MPI_Send(&one, 1, MPI_INT, size_ + 5, 0, copied) != MPI_SUCCESS, "a wrong rank is no error");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&copied);
  MPI_Comm_free_keyval(&key);
  CHECK(called == expected + 4, "%d functions were called", called - expected);
  expected = called;

  MPI_Grequest_start(query, set_free, cancel, NULL, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(called == expected + 3, "%d functions of a request were called", called - expected);
}

/* The signals of the process go to the main thread. */
static void* run_beside(void* argument) {
  const int tag = *(int*)argument;
  int out = rank_, in = -1;
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (int i = 0; i < rounds; ++i) {
    MPI_Sendrecv(&out, 1, MPI_INT, next, tag, &in, 1, MPI_INT, previous, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(in == previous, "beside: %d", in);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1;
  int level;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  sigaction(SIGALRM, &action, NULL);
  pthread_t thread;
  int tag = 21;
  if (threads) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&thread, NULL, run_beside, &tag);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
  }
  interrupt_nothing();
  call_from_callbacks();
  interrupt_a_wait();
  interrupt_messages();
  call_from_callbacks();
  if (threads) pthread_join(thread, NULL);
  MPI_Finalize();
  return 0;
}
