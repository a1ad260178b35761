/* For test_spawn.py: parents and children, which print a line "NAME PID LAUNCHER" each. The first argument:
 *
 *   wait           they wait for each other until something ends them
 *   part           they disconnect; the parents end, the children write a file `went-on` a second later
 *   few            MPI_Comm_spawn without descriptors left, then with them
 *   never          MPI_Comm_spawn of a program that does not call MPI_Init; prints the error
 *   late           a child calls MPI_Init 11 s after the other
 *   once           they exchange a message and disconnect; HEARTH_CHAOS is for the parents only,
 * CHAOS_OF_CHILDREN for the children serve, call    two jobs that were started apart connect by the published
 * name of the second argument
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void say(const char* name) {
  printf("%s %d %d\n", name, (int)getpid(), (int)getppid());
  fflush(stdout);
}

static void wait_for_ever(MPI_Comm comm) {
  int never;
  MPI_Recv(&never, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}

static void write_file(const char* name) {
  FILE* file = fopen(name, "w");
  if (file == NULL) exit(3);
  fclose(file);
}

static MPI_Comm spawn(char* program, char* mode, int processes) {
  char* argv[] = {mode, NULL};
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Comm_spawn(program, argv, processes, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  return children;
}

static void spawn_without_descriptors(char* program) {
  struct rlimit limit, none;
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t left = 0; left < 8; ++left) {
    none = limit;
    none.rlim_cur = (rlim_t)dup(0) + left;
    close((int)(none.rlim_cur - left));
    setrlimit(RLIMIT_NOFILE, &none);
    char* argv[] = {"few", NULL};
    const int code =
        MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (code == MPI_SUCCESS) MPI_Comm_disconnect(&children);
  }
  children = spawn(program, "few", 1);
  MPI_Comm_disconnect(&children);
  printf("spawned\n");
}

/* What the children get of the disturbance that the test asks for. */
static void disturb_children(void) {
  const char* chaos = getenv("CHAOS_OF_CHILDREN");
  if (chaos != NULL) {
    setenv("HEARTH_CHAOS", chaos, 1);
  } else {
    unsetenv("HEARTH_CHAOS");
  }
}

static void spawn_in_vain(void) {
  char* argv[] = {"600", NULL};
  MPI_Comm children;
  char text[MPI_MAX_ERROR_STRING];
  int length, error_class, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code =
      MPI_Comm_spawn("sleep", argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text, &length);
  if (error_class != MPI_ERR_SPAWN) exit(4);
  printf("rank %d: %s\n", rank, text);
}

static void connect_apart(int serves, const char* service) {
  char port[MPI_MAX_PORT_NAME];
  int rank, sum = 0;
  const int one = 1;
  MPI_Comm inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (serves) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port);
      MPI_Publish_name(service, MPI_INFO_NULL, port);
      printf("published\n");
      fflush(stdout);
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  } else {
    if (rank == 0) MPI_Lookup_name(service, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  MPI_Comm_disconnect(&inter);
  if (rank == 0) printf("%d processes answered\n", sum);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  char* mode = argc > 1 ? argv[1] : "";
  const char* rank = getenv("HEARTH_RANK");
  if (strcmp(mode, "late") == 0 && getenv("HEARTH_PARENT") != NULL && rank != NULL && atoi(rank) == 1)
    sleep(11);
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1; /* a child that could not be connected */
  MPI_Comm_get_parent(&parent);
  const int is_child = parent != MPI_COMM_NULL;
  if (strcmp(mode, "serve") == 0 || strcmp(mode, "call") == 0) {
    connect_apart(strcmp(mode, "serve") == 0, argv[2]);
  } else if (strcmp(mode, "few") == 0) {
    if (is_child) {
      MPI_Comm_disconnect(&parent);
    } else {
      spawn_without_descriptors(argv[0]);
    }
  } else if (strcmp(mode, "never") == 0) {
    spawn_in_vain();
  } else if (strcmp(mode, "late") == 0 || strcmp(mode, "once") == 0) {
    disturb_children();
    MPI_Comm inter = is_child ? parent : spawn(argv[0], mode, 2);
    if (inter == MPI_COMM_NULL || MPI_Barrier(inter) != MPI_SUCCESS) {
      MPI_Finalize();
      return 1;
    }
    MPI_Comm_disconnect(&inter);
    if (!is_child) printf("the parents and the children have parted\n");
  } else if (is_child) {
    if (strcmp(mode, "part") == 0) {
      MPI_Comm_disconnect(&parent);
      sleep(1);
      write_file("went-on");
    } else {
      say("child");
      wait_for_ever(parent);
    }
  } else {
    MPI_Comm children = spawn(argv[0], mode, 2);
    if (strcmp(mode, "part") == 0) {
      MPI_Comm_disconnect(&children);
    } else {
      say("parent");
      wait_for_ever(children);
    }
  }
  MPI_Finalize();
  return 0;
}
