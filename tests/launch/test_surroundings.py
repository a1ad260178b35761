#!/usr/bin/env python3
"""Jobs in hostile surroundings (surroundings.py). Each job ends with the right result or with a message that
names what is missing, where, and the remedy. None crashes or exceeds the time limit, and nothing is left
behind.

job.c is the program. Surroundings that this machine does not permit are skipped with the reason; a test
without any others is skipped as a whole. `make check-surroundings` runs all tests in some of them.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from common import BIN, LIMIT_S, MPIEXEC, LaunchTest, processes_with, wait_until
from surroundings import SURROUNDINGS, ControlGroup, limited, mounted, possible, refused

MULTI = Path(os.environ["HEARTH_MULTI"])  # programs of tests/multi
JOB = os.environ["HEARTH_JOB_PROGRAM"]
SINGLE_COPY = "process_vm_readv,process_vm_writev"
RIGHTS = "needs the right to make namespaces and filters (root)"
FOLDERS = ("/dev/shm", "/tmp", "/var/tmp")
SKIPPED = 77  # CTest's code for a skipped test


def shell(text):
    """Prefix that runs shell commands before a program."""
    return ["sh", "-c", text + '; exec "$@"', "sh"]


def as_nobody():
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def left_in(folders):
    """Files that the library would leave in a folder if it had to create one there."""
    names = [(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
    return {(folder, name) for folder, name in names if re.fullmatch(r"hearth-\w{6}|memfd.*", name)}


class JobTest(LaunchTest):
    """Runs jobs with a prefix of mpiexec, of single ranks, or both."""

    def setUp(self):
        super().setUp()
        self.files_before = left_in(FOLDERS)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(left_in(FOLDERS) - self.files_before, set(), "files left behind")

    def need(self, prefix, reason=RIGHTS):
        if not possible(prefix):
            self.skipTest(reason)

    def run_in(self, prefix, *command, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        result = subprocess.run([*prefix, *map(str, command)], text=True, timeout=LIMIT_S, check=False,
                                cwd=self.folder, env=self.environment(env), **options)
        # However a job ends, it must not crash.
        self.assertNotIn(result.returncode, (-7, -11, -25, 135, 139, 153), result.stderr)
        self.assertNotRegex(result.stderr or "", "SIGBUS|SIGSEGV|SIGXFSZ")
        return result

    def job(self, prefix, *arguments, ranks=2, each=((),), **options):
        """Runs a job; each[i] is the prefix of rank i's program, or of all programs if there is only one."""
        command = [MPIEXEC, "--oversubscribe", "--timeout", str(LIMIT_S // 2)]
        if len(each) == 1:
            command += ["-n", ranks, *each[0], JOB, *arguments]
        for number, own in enumerate(each if len(each) > 1 else ()):
            command += ([":"] if number else []) + ["-n", 1, *own, JOB, *arguments]
        return self.run_in(prefix, *command, **options)

    def right(self, prefix, *arguments, ranks=2, each=((),), **options):
        result = self.job(prefix, *arguments, ranks=ranks, each=each, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr or "", "")
        if result.stdout is not None:
            self.assertEqual(result.stdout.splitlines()[-1], f"job: {max(ranks, len(each))} ranks, all right")
        return result

    def told(self, prefix, *patterns, **options):
        """The job fails, and its messages match all patterns: what, where, cause, remedy."""
        arguments = options.pop("arguments", ())
        result = self.job(prefix, *arguments, **options)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)
        return result

    def missing(self, prefix):
        result = self.run_in(prefix, BIN / "hearth", "info", "--explain", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        protocols = json.loads(result.stdout)["protocols"]
        self.assertEqual(protocols["missing_here"] == "nothing", protocols["missing"] == [])
        for row in protocols["missing"]:
            self.assertTrue(row["because"] and row["instead"], row)
        return {row["missing"] for row in protocols["missing"]}


class Refused(JobTest):
    """System calls that a sandbox refuses. A filter for one's own process needs no privilege."""

    def setUp(self):
        super().setUp()
        self.need(refused(MULTI, SINGLE_COPY), "this machine takes no filter of system calls")

    def test_single_copy(self):
        for prefix, each in (
            (refused(MULTI, SINGLE_COPY), ((),)),
            (refused(MULTI, SINGLE_COPY + "=38"), ((),)),  # ENOSYS, as of a kernel without it
            ((), (refused(MULTI, "process_vm_readv"), ())),  # in one rank, one direction
            ((), (refused(MULTI, SINGLE_COPY), ())),  # for some pairs, as with Yama's scopes
        ):
            with self.subTest(prefix=prefix, each=each):
                self.right(prefix, each=each)

    def test_single_copy_from_the_middle_of_the_job_on(self):
        self.right((), "deny")
        self.right((), "deny", ranks=3)

    def test_memory_files(self):
        # The substitute is an unnamed file in a folder, if one is available.
        for error in ("", "=38"):
            self.right(refused(MULTI, "memfd_create" + error), ranks=3)
        self.assertIn("all right", self.run_in(refused(MULTI, "memfd_create"), JOB).stdout)
        self.assertEqual(self.missing(refused(MULTI, "memfd_create")) - self.missing([]),
                         {"memory files", "memory that ranks reach without the kernel"})

    def test_memory_files_and_folders(self):
        small = mounted("mount -t tmpfs -o size=64k none /dev/shm")
        self.need(small)
        self.right([*small, *refused(MULTI, "memfd_create")])
        folders = " && ".join(f"mount -t tmpfs -o ro none {folder}" for folder in FOLDERS[::2])
        # The programs may be below /tmp.
        folders += " && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp"
        self.told([*mounted(folders), *refused(MULTI, "memfd_create")], "cannot make the shared segment",
                  "memfd_create: Operation not permitted", "Likely cause: a sandbox", "Remedy:")

    def test_room_in_a_folder(self):
        # All folders are full: a failed allocation is reported, and nothing crashes.
        prefix = mounted("mount -t tmpfs -o size=64k none /dev/shm && mount -t tmpfs -o ro none /var/tmp"
                         " && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp")
        self.need(prefix)
        self.told([*prefix, *refused(MULTI, "memfd_create")], "no room for the shared segment",
                  "No space left", r"Remedy: .*/dev/shm")
        prefix[-2] = prefix[-2].replace("64k", "1m")
        result = self.job([*prefix, *refused(MULTI, "memfd_create")])
        if result.returncode != 0:
            self.assertRegex(result.stderr, r"(no memory|no room).*Remedy:")

    def test_allocation_of_files(self):
        for error in ("", "=38", "=95"):
            self.right(refused(MULTI, "fallocate" + error))
        self.right(refused(MULTI, "fallocate,memfd_create"))

    def test_what_older_kernels_have_not(self):
        prefix = refused(MULTI, "pidfd_open,close_range,membarrier,getrandom,madvise=38")
        self.right(prefix)
        self.told(prefix, r"rank 1 .* was killed by SIGKILL", arguments=("die",))

    def test_calls_of_the_launcher(self):
        self.told(refused(MULTI, "getpid"), "mpiexec: the system refuses getpid", "Remedy: ")
        self.told((), "MPI_Init.*: the system refuses getpid", each=(refused(MULTI, "getpid"), ()))
        self.told(refused(MULTI, "epoll_wait"), "cannot wait for signals .*epoll.*: Operation not permitted",
                  "Remedy: ")
        self.right(refused(MULTI, "kill"))
        # tearDown() checks that the kernel has killed the rank.
        rank = ["sh", "-c", "test $PMI_RANK = 1 && exit 3; exec sleep 300"]
        result = self.run_in(refused(MULTI, "kill"), MPIEXEC, "--oversubscribe", "-n", 2, *rank)
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, "cannot kill 1 rank .*: Operation not permitted.* Remedy: ")

    def test_memory_nodes_and_processors(self):
        self.right(refused(MULTI, "mbind,get_mempolicy,move_pages"))
        self.right(refused(MULTI, "sched_setaffinity,sched_getaffinity,setpriority"))
        self.right(refused(MULTI, "sched_setaffinity"))
        if len(os.sched_getaffinity(0)) == 1:
            return  # nothing to bind to
        result = self.run_in(refused(MULTI, "sched_setaffinity"), MPIEXEC, "-n", 1, "--bind-to", "core", JOB)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot bind it to its processors: Operation not permitted", result.stderr)


class Mounts(JobTest):
    """Missing files."""

    def check(self, name):
        prefix = SURROUNDINGS[name].prefix(MULTI)
        self.need(prefix)
        self.right(prefix, ranks=4)
        # This test itself may run in surroundings that lack something.
        self.assertEqual(self.missing(prefix), self.missing([]) | {SURROUNDINGS[name].missing})

    def test_no_single_copy(self):
        self.check("no-single-copy")

    def test_little_room_in_dev_shm(self):
        self.check("small-dev-shm")

    def test_empty_sys(self):
        self.check("no-sys")

    def test_one_processor(self):
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("there is one processor anyway")
        self.check("one-processor")

    def test_no_proc(self):
        prefix = mounted("mount -t tmpfs -o ro none /proc && mount -t tmpfs -o ro none /sys")
        self.need(prefix)
        self.right(prefix)
        self.told(prefix, r"rank 1 .* was killed by SIGKILL", "ending 1 other rank", arguments=("die",))

    def test_no_dev_shm(self):
        # /dev with only the nodes that every program may expect.
        nodes = " ".join(f"/dev/{name}" for name in ("null", "zero", "urandom", "random"))
        prefix = mounted(f"d={self.folder}/dev && mkdir -p $d && mount -t tmpfs none $d && for n in {nodes};"
                         " do : >$d/${n##*/} && mount --bind $n $d/${n##*/}; done && mount --rbind $d /dev &&"
                         " test ! -e /dev/shm")
        self.need(prefix)
        self.right(prefix)

    def test_no_dev(self):
        prefix = mounted("mount -t tmpfs -o ro none /dev")
        self.need(prefix)
        self.told([*prefix, "sh", "-c", 'exec "$@" </', "sh"], "/dev/null")

    def test_nothing_to_write_to(self):
        folders = ("/dev/shm", "/var/tmp", "/run")
        covered = " && ".join(f"mount -t tmpfs -o ro none {folder}" for folder in folders)
        prefix = mounted(covered + " && mount --bind / /mnt && mount --rbind /dev /mnt/dev &&"
                         " mount --rbind /proc /mnt/proc && mount --bind /tmp /mnt/tmp &&"
                         " mount -o remount,bind,ro /mnt/tmp && mount -o remount,bind,ro /mnt &&"
                         " ! touch /mnt/tmp/file 2>/dev/null")
        prefix = [*prefix, "chroot", "/mnt"]
        self.need(prefix)
        self.right(prefix)

    def test_no_network(self):
        # Even the loopback device is down.
        prefix = ["unshare", "--net"]
        self.need(prefix)
        self.right(prefix)


class Environment(JobTest):
    """Variables and the standard descriptors, as a shell passes them on."""

    def test_no_variables(self):
        self.right(["env", "-u", "HOME", "-u", "PATH", "-u", "USER", "-u", "LANG"])
        self.right(["env", "TMPDIR=/nonexistent/folder", "HOME=/nonexistent"])
        self.right(["env", "LC_ALL=tr_TR.UTF-8", "LANG=xx_YY", "TZ=Antarctica/Troll"])

    def test_closed_descriptors(self):
        self.right(shell("exec <&-"))
        self.assertEqual(self.job(shell("exec >&-")).returncode, 0)
        self.assertEqual(self.job(shell("exec <&- >&- 2>&-")).returncode, 0)
        self.assertNotEqual(self.job(shell("exec <&- >&- 2>&-"), "die").returncode, 0)

    def test_a_full_disk_behind_the_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for arguments in ((), ("fill",)):
                result = self.job((), *arguments, stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertIn("cannot write the ranks' output: No space left on device", result.stderr)
            self.assertEqual(self.job((), "die", stderr=full).returncode, 137)

    def test_the_clock_is_set(self):
        # Every third reading of the clock jumps backwards by days, the others forwards.
        (self.folder / "clock.c").write_text(
            "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
            "static long jump(void) { static long n; return ++n % 3 ? n * 86400 : -n * 86400; }\n"
            "int clock_gettime(clockid_t id, struct timespec* t) {\n"
            "  const long result = syscall(SYS_clock_gettime, id, t);\n"
            "  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) t->tv_sec += jump();\n"
            "  return (int)result;\n}\n"
            "time_t time(time_t* to) {\n  struct timespec now;\n  clock_gettime(CLOCK_REALTIME, &now);\n"
            "  if (to) *to = now.tv_sec;\n  return now.tv_sec;\n}\n")
        library = self.folder / "clock.so"
        built = subprocess.run(["cc", "-shared", "-fPIC", self.folder / "clock.c", "-o", library],
                               check=False, capture_output=True)
        if built.returncode != 0:
            self.skipTest("there is no C compiler")
        prefix = ["env", f"LD_PRELOAD={library}"]
        self.right(prefix, "time")
        self.told(prefix, "was killed by SIGKILL", arguments=("die",))


class Limits(JobTest):
    """Limits of a process (ulimit)."""

    def setUp(self):
        super().setUp()
        self.need(limited("core=0"), "there is no prlimit")

    def test_open_files(self):
        self.right(limited("nofile=32"))
        for files in (5, 8, 12, 16):
            self.told(limited(f"nofile={files}"), "Too many open files", r"Remedy: .*ulimit -n")

    def test_addresses(self):
        # The library leaves nearly all of the program's address space to the program.
        self.right(limited(f"as={1 << 30}"))
        self.right((), each=(limited(f"as={512 << 20}"),))
        self.told((), "MPI_Init.*cannot map the job's shared segment", r"Remedy: .*ulimit -v",
                  each=(limited(f"as={64 << 20}"),))
        self.told(limited(f"as={20 << 20}"), "memory", "rank . ended the job|Remedy:")

    def test_length_of_files(self):
        # Without the check, mpiexec would die of SIGXFSZ.
        self.told(limited("fsize=0"), "cannot make the shared segment", r"Remedy: .*ulimit -f")
        self.right(limited(f"fsize={8 << 20}"))
        self.right((), each=(limited("fsize=0"),))

    def test_output_longer_than_files_may_be(self):
        with open(self.folder / "output", "w", encoding="ascii") as output:
            output.write("." * (7 << 20) + "\n")
            output.flush()
            self.right(limited(f"fsize={8 << 20}"), stdout=output)
            output.write("." * (1 << 20))
            output.flush()
            result = self.job(limited(f"fsize={8 << 20}"), "fill", stdout=output)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write the ranks' output: File too large", result.stderr)

    def test_processes(self):
        prefix = [*as_nobody(), *limited("nproc=1")]
        self.need(prefix, "needs another user to be (root)")
        # Other users may lack access to the build.
        mpiexec = shutil.copy(MPIEXEC, self.folder)
        os.chmod(self.folder, 0o755)
        result = self.run_in(prefix, mpiexec, "-n", 2, "true")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"cannot start a process: .* Remedy: .*ulimit -u")

    def test_short_stack(self):
        self.right(limited(f"stack={64 << 10}"))

    def test_others(self):
        self.right(limited("memlock=0", "core=0", f"stack={256 << 10}", "nice=0", "sigpending=0"))


class ControlGroups(JobTest):
    def group(self, controller, settings):
        group = ControlGroup(controller, f"hearth-test-{self.mark[:12]}-{controller}", settings)
        self.addCleanup(group.remove)
        if group.problem:
            self.skipTest(group.problem)
        return group.prefix()

    def test_memory_runs_out(self):
        limit = str(200 << 20)
        prefix = self.group("memory", {"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit,
                                       "memory.max": limit, "memory.swap.max": "0"})
        self.right(prefix)
        self.told(prefix, r"rank 1 .* was killed by SIGKILL: memory ran out", arguments=("eat",))

    def test_half_a_processor(self):
        prefix = self.group("cpu", {"cpu.cfs_quota_us": "50000", "cpu.max": "50000 100000"})
        self.right(prefix, ranks=3)

    def test_holes_among_processors(self):
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) < 2:
            self.skipTest("there is one processor")
        # Every other processor, without the first.
        self.right(["taskset", "--cpu-list", ",".join(map(str, processors[1::2]))], ranks=3)
        prefix = self.group("cpuset", {"cpuset.mems": "0", "cpuset.cpus": str(processors[-1])})
        self.right(prefix)


class Namespaces(JobTest):
    """Ranks with separate namespaces for users, processes and files."""

    def check(self, *options, alone=True):
        own = ["unshare", *options]
        self.need(own)
        if alone:
            self.right((), each=(own, ()))
        self.right((), each=(own, own))

    def test_users(self):
        self.check("--user")

    def test_processes(self):
        self.check("--pid", "--fork")

    def test_users_and_processes(self):
        self.check("--user", "--map-root-user", "--pid", "--fork", "--mount-proc")

    def test_everything_else(self):
        self.check("--mount", "--net", "--uts", "--ipc", alone=False)

    def test_clocks(self):
        own = ["unshare", "--time", "--fork", "--monotonic", "100000"]
        self.need(own, "this machine has no clocks of one's own (Linux 5.6, root)")
        self.right((), "time", each=(own, ()))

    def test_the_whole_job(self):
        prefix = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        self.need(prefix)
        self.right(prefix)
        self.told(prefix, r"rank 1 .* was killed by SIGKILL", arguments=("die",))


class Signals(JobTest):
    def test_mpi_in_a_signal_handler(self):
        # tests/multi/abi/handlers.c tests the results of such calls.
        for threads in ("", "HEARTH_TEST_THREADS"):
            with self.subTest(threads):
                env = {threads: "1"} if threads else None
                self.told((), r"rank 1 ended the job with code \d+: MPI_ERR_OTHER: MPI_Barrier: called by a "
                          "signal handler", "Remedy: ", arguments=("call",), env=env)
                result = self.told((), r"rank 1 ended the job with code 7: MPI_Abort\(", arguments=("abort",),
                                   env=env)
                self.assertEqual(result.returncode, 7)

    def test_a_rank_that_is_stopped_pauses_the_job(self):
        running = self.start("-n", 2, "--oversubscribe", JOB, "stop")
        stopped = []

        def one_stopped():
            stopped[:] = [pid for pid, _ in processes_with(self.mark) if state_of(pid) == "T"]
            return len(stopped) == 1

        self.assertTrue(wait_until(one_stopped), "no rank has stopped")
        self.assertRaises(subprocess.TimeoutExpired, running.wait, 0.5)
        self.assertEqual(state_of(stopped[0]), "T")
        os.kill(stopped[0], signal.SIGCONT)
        output, errors = running.communicate(timeout=LIMIT_S)
        self.assertEqual((running.returncode, output, errors), (0, "job: 2 ranks, all right\n", ""))


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if len(program.result.skipped) == program.result.testsRun else 0)
