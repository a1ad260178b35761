/* refuse CALL[,CALL...][=ERRNO] program [argument...]: starts a program in which the kernel refuses these
 * system calls, like a sandbox; with EPERM if no other errno is given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"

static const struct {
  const char* name;
  int number;
} calls[] = {
    {"close_range", SYS_close_range},
#ifdef SYS_epoll_wait
    {"epoll_wait", SYS_epoll_wait},
#else
    {"epoll_wait", SYS_epoll_pwait},
#endif
    {"fallocate", SYS_fallocate},
    {"get_mempolicy", SYS_get_mempolicy},
    {"getpid", SYS_getpid},
    {"getrandom", SYS_getrandom},
    {"io_uring_setup", SYS_io_uring_setup},
    {"kill", SYS_kill},
    {"madvise", SYS_madvise},
    {"mbind", SYS_mbind},
    {"membarrier", SYS_membarrier},
    {"memfd_create", SYS_memfd_create},
    {"move_pages", SYS_move_pages},
    {"pidfd_open", SYS_pidfd_open},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"setpriority", SYS_setpriority},
    {"socket", SYS_socket},
};

static int number_of(const char* name) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].name, name) == 0) return calls[i].number;
  }
  fprintf(stderr, "refuse: what is %s?\n", name);
  exit(2);
}

static void refuse(int number, unsigned error) {
  if (refuse_call(number, error)) return;
  perror("refuse: this machine takes no filter");
  exit(2);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s CALL[,CALL...][=ERRNO] program [argument...]\n", argv[0]);
    return 2;
  }
  unsigned error = EPERM;
  char* mark = strchr(argv[1], '=');
  if (mark != NULL) {
    *mark = 0;
    error = (unsigned)atoi(mark + 1);
  }
  for (char* name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
    refuse(number_of(name), error);
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
