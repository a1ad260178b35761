/* refuse CALL[,CALL...][=ERRNO] program [argument...]: starts a program in which these system calls are
 * refused, as sandboxes refuse them, by EPERM if no other number is given. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char* name;
  int number;
} calls[] = {
    {"close_range", SYS_close_range},
    {"fallocate", SYS_fallocate},
    {"get_mempolicy", SYS_get_mempolicy},
    {"getrandom", SYS_getrandom},
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
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    perror("refuse: this machine takes no filter");
    exit(2);
  }
  if (syscall(number, -1, NULL, 0, NULL, 0, 0) != -1 || errno != (int)error) {
    fprintf(stderr, "refuse: the filter does not refuse\n");
    exit(2);
  }
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
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    perror("refuse: this machine takes no filter");
    return 2;
  }
  for (char* name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
    refuse(number_of(name), error);
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
