/* Makes the kernel refuse system calls of this process from now on, like a sandbox that is entered late. */
#ifndef TESTS_MULTI_REFUSAL_H
#define TESTS_MULTI_REFUSAL_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes the system call `number` fail with `error`. Returns whether that worked; if not, errno says why the
 * kernel takes no filter. */
static inline int refuse_call(int number, unsigned error) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
         syscall(number, -1, NULL, 0, NULL, 0, 0) == -1 && errno == (int)error;
}

#endif
