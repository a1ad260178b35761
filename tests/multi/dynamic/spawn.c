/* MPI_Comm_spawn: the spawned processes, their messages with the parents, errors, and resources that remain.
 * The program spawns itself with other arguments. */
#include <dirent.h>
#include <unistd.h>

#include "joint.h"

static char self_[4096];

static int descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

/* The children's side. */
static int child(int argc, char** argv) {
  MPI_Comm parent, none;
  MPI_Comm_get_parent(&parent);
  CHECK(parent != MPI_COMM_NULL, "a started process has no parent");
  CHECK(argc == 4 && strcmp(argv[2], "two words") == 0 && strcmp(argv[3], ":") == 0,
        "the arguments are wrong");
  check_joint(parent, 1);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&none);
  CHECK(none == MPI_COMM_NULL, "there is a parent after MPI_Comm_disconnect");
  MPI_Finalize();
  return 0;
}

/* Of MPI_Comm_spawn_multiple: each process reports which program it is. */
static int numbered(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  int* number;
  int found;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  CHECK(found, "there is no MPI_APPNUM");
  MPI_Gather(number, 1, MPI_INT, NULL, 0, MPI_INT, 0, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

/* Starts a generation below, until none is left; they disconnect in the order of their births or of their
 * ends. */
static int nested(int depth);

static void spawn_nested(int depth) {
  char number[16];
  snprintf(number, sizeof number, "%d", depth);
  char* argv[] = {"nested", number, NULL};
  MPI_Comm inter;
  MPI_Comm_spawn(self_, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  check_messages(inter);
  if (depth % 2 == 0) MPI_Comm_disconnect(&inter);
}

static int nested(int depth) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (depth > 0) spawn_nested(depth - 1);
  check_messages(parent);
  if (depth % 2 == 0) MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static void test_children(MPI_Comm comm) {
  char* argv[] = {"child", "two words", ":", NULL};
  for (int count = 1; count <= 3; ++count) {
    int codes[3] = {-1, -1, -1};
    MPI_Comm inter = MPI_COMM_NULL;
    int remotes;
    const int code = MPI_Comm_spawn(self_, argv, count, MPI_INFO_NULL, 0, comm, &inter, codes);
    CHECK(code == MPI_SUCCESS, "MPI_Comm_spawn returned class %d", class_of(code));
    for (int i = 0; i < count; ++i) CHECK(codes[i] == MPI_SUCCESS, "code %d is %d", i, codes[i]);
    MPI_Comm_remote_size(inter, &remotes);
    CHECK(remotes == count, "%d processes were started, not %d", remotes, count);
    check_joint(inter, 0);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL, "MPI_Comm_disconnect leaves the handle");
  }
}

/* Arguments other than root and comm are significant at the root alone. */
static void test_root(void) {
  const int root = size_ - 1;
  char* argv[] = {"child", "two words", ":", NULL};
  MPI_Comm inter;
  if (rank_ == root) {
    MPI_Comm_spawn(self_, argv, 1, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  } else {
    MPI_Comm_spawn(NULL, NULL, -1, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  }
  check_joint(inter, 0);
  MPI_Comm_disconnect(&inter);
  char* commands[] = {self_, self_};
  char** argvs[] = {argv, argv};
  const int counts[] = {1, 1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Info_create(&infos[1]);
  MPI_Info_set(infos[1], "wdir", "/");
  if (rank_ == root) {
    MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, root, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE);
  } else if (rank_ % 2 == 0) {
    MPI_Comm_spawn_multiple(-1, NULL, NULL, NULL, NULL, root, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  } else {
    /* Addresses that cannot be read; volatile, because the compiler would warn of them. */
    void* volatile nowhere = (void*)8;
    MPI_Comm_spawn_multiple(1 << 20, nowhere, nowhere, nowhere, nowhere, root, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE);
  }
  MPI_Info_free(&infos[1]);
  check_joint(inter, 0);
  MPI_Comm_disconnect(&inter);
}

static void test_multiple(void) {
  char* commands[] = {self_, self_};
  char* first[] = {"numbered", NULL};
  char** argvs[] = {first, first};
  const int counts[] = {2, 1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  int codes[3] = {-1, -1, -1};
  MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &inter, codes);
  for (int i = 0; i < 3; ++i) CHECK(codes[i] == MPI_SUCCESS, "code %d is %d", i, codes[i]);
  int numbers[3] = {-1, -1, -1};
  const int root = rank_ == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Gather(NULL, 0, MPI_INT, numbers, 1, MPI_INT, root, inter);
  if (rank_ == 0)
    CHECK(numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 1, "MPI_APPNUM is %d %d %d", numbers[0],
          numbers[1], numbers[2]);
  MPI_Comm_disconnect(&inter);
}

static void test_keys(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "soft", "1,7:9:2,2");
  MPI_Info_set(info, "wdir", "/");
  MPI_Info_set(info, "host", "localhost");
  MPI_Info_set(info, "unknown", "ignored");
  char* argv[] = {"child", "two words", ":", NULL};
  MPI_Comm inter;
  int remotes, codes[3];
  MPI_Comm_spawn(self_, argv, 3, info, 0, MPI_COMM_WORLD, &inter, codes);
  MPI_Comm_remote_size(inter, &remotes);
  CHECK(remotes == 2, "%d processes were started by soft=1,7:9:2,2, not 2", remotes);
  CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_ERR_SPAWN,
        "the codes are wrong");
  check_joint(inter, 0);
  MPI_Comm_disconnect(&inter);
  MPI_Info_free(&info);
}

/* Programs that cannot be started or do not use MPI. */
static void test_failures(MPI_Comm comm) {
  struct {
    const char* command;
    const char* word; /* in the message */
  } const tried[] = {
      {"/nowhere/to/be/found", "No such file"},
      {"no-such-program-anywhere", "No such file"},
      {"/etc", "ermission denied"},
      {"/bin/true", "MPI_Init"},
      {"/bin/false", "exit code 1"},
  };
  for (size_t i = 0; i < sizeof tried / sizeof *tried; ++i) {
    MPI_Comm inter = MPI_COMM_NULL;
    int codes[2] = {0, 0};
    const int code =
        MPI_Comm_spawn(tried[i].command, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, comm, &inter, codes);
    CHECK(class_of(code) == MPI_ERR_SPAWN, "%s: class %d", tried[i].command, class_of(code));
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN, "%s: code %d", tried[i].command, codes[0]);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, tried[i].word) != NULL, "%s: %s", tried[i].command, text);
  }
  MPI_Comm inter;
  const int code =
      MPI_Comm_spawn(self_, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
  CHECK(class_of(code) == MPI_ERR_ARG, "maxprocs=0: class %d", class_of(code));
}

/* More processes than one connection can hold: an error before any of them starts. */
static void test_too_many(MPI_Comm comm) {
  char* commands[] = {"/no/such/program", "/no/such/program"};
  const int counts[] = {8000, 193};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  const int code = MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, comm, &inter,
                                           MPI_ERRCODES_IGNORE);
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  CHECK(class_of(code) == MPI_ERR_SPAWN, "class %d", class_of(code));
  CHECK(strstr(text, "8193 processes") != NULL && strstr(text, "at most 8192") != NULL, "%s", text);
}

/* After many children nothing is left. */
static void test_leftovers(int times) {
  char* argv[] = {"brief", NULL};
  int before = 0;
  for (int i = 0; i < times; ++i) {
    MPI_Comm inter;
    const int code =
        MPI_Comm_spawn(self_, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    CHECK(code == MPI_SUCCESS, "child %d: class %d", i, class_of(code));
    MPI_Comm_disconnect(&inter);
    if (i == 1) before = descriptors();
  }
  CHECK(descriptors() <= before, "%d descriptors are open after %d children, %d before", descriptors(), times,
        before);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  snprintf(self_, sizeof self_, "%s", argv[0]);
  if (readlink("/proc/self/exe", self_, sizeof self_ - 1) < 0) return 1;
  if (argc > 1 && strcmp(argv[1], "child") == 0) return child(argc, argv);
  if (argc > 1 && strcmp(argv[1], "numbered") == 0) return numbered();
  if (argc > 2 && strcmp(argv[1], "nested") == 0) return nested(atoi(argv[2]));
  if (argc > 1 && strcmp(argv[1], "brief") == 0) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL, "a process of mpiexec has a parent");
  test_children(MPI_COMM_WORLD);
  test_children(MPI_COMM_SELF);
  test_root();
  test_multiple();
  test_keys();
  test_failures(MPI_COMM_WORLD);
  test_too_many(MPI_COMM_WORLD);
  spawn_nested(2);
  if (rank_ == 0) test_leftovers(10);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
