#include "base/os_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/chaos.h"
#include "mpi.h"

namespace hearth::os {
namespace {

using chaos::Call;
using chaos::refuses;

constexpr int kLowestPriority = 19;

// The settings with which this process was started; processes that it starts get them back.
struct Inherited {
  bool signals_changed = false;
  sigset_t mask;
  struct sigaction on_broken_pipe;
  struct sigaction on_long_file;
  bool limit_changed = false;
  rlimit descriptors;
};
Inherited inherited;

struct Affinity {
  cpu_set_t* set = nullptr;
  size_t bytes = 0;
};

Affinity affinity_of(std::span<const int> processors) {
  Affinity affinity;
  if (processors.empty()) return affinity;
  int last = 0;
  for (const int processor : processors) last = processor > last ? processor : last;
  affinity.bytes = CPU_ALLOC_SIZE(last + 1);
  affinity.set = CPU_ALLOC(last + 1);
  if (affinity.set == nullptr) return affinity;
  CPU_ZERO_S(affinity.bytes, affinity.set);
  for (const int processor : processors) CPU_SET_S(processor, affinity.bytes, affinity.set);
  return affinity;
}

// Between fork and exec: async-signal-safe calls only.

[[noreturn]] void complain_and_leave(const SpawnPlan& plan, SpawnStep step) {
  const SpawnFailure failure = {plan.tag, step, errno};
  write_some(plan.complain, &failure, sizeof failure);
  ::_exit(127);
}

void give_inherited_back() {
  if (inherited.limit_changed) ::setrlimit(RLIMIT_NOFILE, &inherited.descriptors);
  if (inherited.signals_changed) {
    ::sigaction(SIGPIPE, &inherited.on_broken_pipe, nullptr);
    ::sigaction(SIGXFSZ, &inherited.on_long_file, nullptr);
    ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
  }
}

void replace_descriptor(const SpawnPlan& plan, int from, int to) {
  if (from != to && (refuses(Call::duplicate) || ::dup2(from, to) < 0))
    complain_and_leave(plan, SpawnStep::descriptors);
}

// Executes the program, or, for a script without an interpreter line, the shell.
void execute(const SpawnPlan& plan, char** shell_arguments) {
  if (refuses(Call::execute)) return;
  ::execve(plan.program, plan.arguments, plan.environment);
  if (errno != ENOEXEC) return;
  ::execve(shell_arguments[0], shell_arguments, plan.environment);
  errno = ENOEXEC;
}

[[noreturn]] void run_child(const SpawnPlan& plan, int parent, const Affinity& affinity,
                            char** shell_arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before PR_SET_PDEATHSIG was set
  ::setpgid(0, 0);
  if (plan.announce >= 0) {
    const int32_t self = ::getpid();
    write_some(plan.announce, &self, sizeof self);
  }
  if (affinity.set != nullptr &&
      (refuses(Call::affinity) || ::sched_setaffinity(0, affinity.bytes, affinity.set) != 0)) {
    const bool refused = errno == EPERM || errno == ENOSYS;
    if (plan.processors_asked_for || !refused) complain_and_leave(plan, SpawnStep::affinity);
  }
  if (plan.folder != nullptr && ::chdir(plan.folder) != 0) complain_and_leave(plan, SpawnStep::folder);
  replace_descriptor(plan, plan.standard_input, 0);
  replace_descriptor(plan, plan.standard_output, 1);
  replace_descriptor(plan, plan.standard_error, 2);
  for (const int descriptor : plan.kept_descriptors) set_close_on_exec(descriptor, false);
  give_inherited_back();
  execute(plan, shell_arguments);
  complain_and_leave(plan, SpawnStep::program);
}

}  // namespace

bool fill_with_chance(void* to, size_t bytes) {
  // getrandom returns up to 256 bytes completely or fails.
  return !refuses(Call::random) && ::getrandom(to, bytes, 0) == static_cast<ssize_t>(bytes);
}

int process_id() {
  return ::getpid();
}

Status check_process_id() {
  if (process_id() > 0) return {};
  return fail(MPI_ERR_OTHER, "the system refuses getpid. Remedy: allow it in the sandbox");
}

std::string program_name() {
  return program_invocation_short_name;
}

int spawn(const SpawnPlan& plan) {
  const Affinity affinity = affinity_of(plan.processors);
  std::vector<char*> shell_arguments = {const_cast<char*>("/bin/sh"), const_cast<char*>(plan.program)};
  for (char* const* argument = plan.arguments + 1; plan.arguments[0] != nullptr && *argument != nullptr;
       ++argument) {
    shell_arguments.push_back(*argument);
  }
  shell_arguments.push_back(nullptr);

  const int self = ::getpid();
  const int pid = refuses(Call::fork) ? -1 : ::fork();
  if (pid == 0) run_child(plan, self, affinity, shell_arguments.data());
  const int error = errno;
  // Parent and child both set the group, so that it exists for a signal whichever runs first.
  if (pid > 0) ::setpgid(pid, pid);
  if (affinity.set != nullptr) CPU_FREE(affinity.set);
  errno = error;
  return pid;
}

int start_helper(const char* path, char* const* arguments, char* const* environment, int kept_descriptor) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (refuses(Call::fork) || ::posix_spawn_file_actions_init(&files) != 0) return -1;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  // A duplicate onto itself stays open although the descriptor is close-on-exec.
  ::posix_spawn_file_actions_adddup2(&files, kept_descriptor, kept_descriptor);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  // Interpreters ignore these (Python), which a started program would inherit.
  ::sigaddset(&defaults, SIGPIPE);
  ::sigaddset(&defaults, SIGXFSZ);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path, &files, &attributes, arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  errno = error;
  return error == 0 ? pid : -1;
}

bool try_reap(int pid) {
  int status = 0;
  const pid_t result = ::waitpid(pid, &status, WNOHANG);
  return result == pid || (result < 0 && errno == ECHILD);
}

char** own_environment() {
  return environ;
}

bool watch_forks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  return ::pthread_atfork(before, in_parent, in_child) == 0;
}

void become_program(const char* path, char* const* arguments, char* const* environment) {
  ::execve(path, arguments, environment);
}

int fork_process() {
  return refuses(Call::fork) ? -1 : ::fork();
}

void at_exit(void (*function)(int code)) {
  ::on_exit([](int code, void* argument) { reinterpret_cast<void (*)(int)>(argument)(code); },
            reinterpret_cast<void*>(function));
}

void end_process(int code) {
  ::_exit(code);
}

namespace {

// Without /proc, tries every number up to the limit, which may be 10^9.
void close_one_by_one(unsigned first, unsigned last) {
  const long most = ::sysconf(_SC_OPEN_MAX) - 1;
  for (long descriptor = first; descriptor <= std::min<long>(last, most); ++descriptor)
    ::close(static_cast<int>(descriptor));
}

void close_between(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0u) == 0) return;
  DIR* entries = ::opendir("/proc/self/fd");
  if (entries == nullptr) return close_one_by_one(first, last);
  std::vector<unsigned> open;  // all names are read before the first is closed
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] != '.')
      open.push_back(static_cast<unsigned>(std::strtoul(entry->d_name, nullptr, 10)));
  }
  ::closedir(entries);
  for (const unsigned descriptor : open) {
    if (descriptor >= first && descriptor <= last) ::close(static_cast<int>(descriptor));
  }
}

}  // namespace

void become_detached(int kept_descriptor, const char* name, char** arguments) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, 0);
  if (::chdir("/") != 0) errno = 0;  // only avoids keeping a folder busy
  // A name of its own in ps, so that tools that kill the parent by its name spare this process.
  ::prctl(PR_SET_NAME, name);
  for (char** argument = arguments; *argument != nullptr; ++argument) {
    const size_t bytes = std::strlen(*argument);
    std::memset(*argument, 0, bytes);
    if (argument == arguments) std::strncpy(*argument, name, bytes);
  }
  const auto kept = static_cast<unsigned>(kept_descriptor);
  if (kept > 0) close_between(0, kept - 1);
  close_between(kept + 1, UINT_MAX);
}

bool start_detached(const char* path, char* const* arguments, char* const* environment) {
  const int pid = refuses(Call::fork) ? -1 : ::fork();
  if (pid != 0) return pid > 0;
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, 0);
  if (::chdir("/") != 0) errno = 0;  // only avoids keeping a folder busy
  give_inherited_back();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (nothing < 0 || ::dup2(nothing, descriptor) < 0) ::_exit(127);
  }
  close_between(3, UINT_MAX);
  ::execve(path, arguments, environment);
  ::_exit(127);
}

void lower_priority() {
  ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
}

bool has_ended(int pid, ProcessEnd& end) {
  siginfo_t info = {};
  int result;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  if (result != 0 || info.si_pid != pid) return false;
  end.by_signal = info.si_code != CLD_EXITED;
  end.code = info.si_status;
  return true;
}

void reap(int pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Descriptor open_process(int pid) {
  if (refuses(Call::pidfd)) return Descriptor();
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  static_cast<void>(pid);
  return Descriptor();
#endif
}

bool is_gone(const Descriptor& process) {
  pollfd wait = {process.number(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

uint64_t process_numbering() {
  struct stat status;
  return !refuses(Call::status) && ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool signal_process(int pid, int signal) {
  return ::kill(pid, signal) == 0;
}
bool signal_group(int group_leader, int signal) {
  return ::kill(-group_leader, signal) == 0;
}

void ignore_unless_handled(int signal) {
  struct sigaction now = {};
  if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::signal(signal, SIG_IGN);
}

void die_of_signal(int signal) {
  // No second core file: the process that failed first has written one.
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

std::string signal_name(int signal) {
  struct Name {
    int signal;
    const char* name;
  };
  static constexpr Name kNames[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                                    {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                                    {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                                    {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
                                    {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
                                    {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const Name& known : kNames) {
    if (known.signal == signal) return known.name;
  }
  return "signal " + std::to_string(signal);
}

SignalInbox::SignalInbox(std::span<const int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &inherited.mask);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &inherited.on_broken_pipe);
  ::sigaction(SIGXFSZ, &ignore, &inherited.on_long_file);
  // If SIGCHLD were ignored, the kernel would reap the children without notice.
  ::signal(SIGCHLD, SIG_DFL);
  inherited.signals_changed = true;
  if (!refuses(Call::signals)) descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int SignalInbox::next() {
  signalfd_siginfo info;
  return read_some(descriptor_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                            : 0;
}

void stop_self() {
  ::raise(SIGSTOP);
}

void raise_descriptor_limit() {
  rlimit limit;
  if (refuses(Call::limits) || ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
    return;
  inherited.descriptors = limit;
  limit.rlim_cur = limit.rlim_max;
  inherited.limit_changed = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace hearth::os
