#!/usr/bin/env python3
"""mpiexec: however a job ends, nothing is left behind, and one message gives the reason."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

from common import LIMIT_S, MPIEXEC, LaunchTest, processes_with, python, shell, wait_until

RANK = "$OMPI_COMM_WORLD_RANK"
# A rank with children and grandchildren, all in its process group.
FAMILY = shell("sh -c 'sleep 300 & sleep 300' & sleep 300 & wait")
FAMILY_SIZE = 5


class MpiexecIsKilled(LaunchTest):
    def kill_when_up(self, run, pid):
        up = wait_until(lambda: len(processes_with(self.mark)) >= 2 * FAMILY_SIZE + 1)
        self.assertTrue(up, processes_with(self.mark))
        os.kill(pid, signal.SIGKILL)
        run.wait(timeout=LIMIT_S)
        run.stdout.close()
        run.stderr.close()
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))

    def test_ranks_and_their_children_end(self):
        run = self.start("-n", 2, "--oversubscribe", *FAMILY)
        self.kill_when_up(run, run.pid)

    def test_under_a_shell(self):
        command = " ".join([MPIEXEC, "-n 2 --oversubscribe", "sh -c", f'"{FAMILY[2]}"']) + "; true"
        run = subprocess.Popen(
            ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()
        )
        # Before a rank executes its program, its command line is still mpiexec's.
        wait_until(lambda: sum(line.startswith("sleep") for _, line in processes_with(self.mark)) == 6)
        (pid,) = [pid for pid, line in processes_with(self.mark) if line.startswith(MPIEXEC)]
        self.kill_when_up(run, pid)

    def test_with_its_whole_process_group(self):
        run = self.start("-n", 2, "--oversubscribe", *FAMILY, start_new_session=True)
        wait_until(lambda: len(processes_with(self.mark)) >= 2 * FAMILY_SIZE + 2)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=LIMIT_S)
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))

    def test_one_that_runs_inside_a_rank(self):
        inner = f'{MPIEXEC} -n 2 --oversubscribe sh -c "{FAMILY[2]}"'
        run = self.start("-n", 1, *shell(inner))
        wait_until(lambda: len(processes_with(self.mark)) >= 2 * FAMILY_SIZE + 2)
        run.kill()
        run.communicate(timeout=LIMIT_S)
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))

    def test_reaper_is_inconspicuous(self):
        """It holds neither our pipes nor the working folder, has another name, and ends with the job."""
        run = self.start("-n", 1, "sleep", "300")
        # The reaper sets its name after it has started.
        self.assertTrue(wait_until(lambda: self.reaper_of(run.pid) is not None))
        name = self.reaper_of(run.pid)
        links = [os.readlink(f"/proc/{name}/fd/{d}") for d in os.listdir(f"/proc/{name}/fd")]
        self.assertEqual(len(links), 1, links)
        self.assertEqual(os.readlink(f"/proc/{name}/cwd"), "/")
        with open(f"/proc/{name}/cmdline", "rb") as file:
            self.assertNotIn(b"mpiexec", file.read())
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=LIMIT_S)
        self.assertFalse(os.path.exists(f"/proc/{name}"))

    def reaper_of(self, pid):
        for child in self.children_of(pid):
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().startswith("hearth-reap"):
                    return child
        return None

    def children_of(self, pid):
        wait_until(lambda: len(processes_with(self.mark)) >= 3)
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()


class RankEnds(LaunchTest):
    def test_every_cause_is_named(self):
        for name, words in (
            ("KILL", "another process killed it"),
            ("ABRT", "abort"),
            ("FPE", "division"),
            ("BUS", "could not be provided"),
            ("ILL", "instruction"),
        ):
            number = getattr(signal, "SIG" + name)
            out = self.run_mpiexec("-n", 1, *shell(f"ulimit -c 0; kill -{name} $$"), code=128 + number).stderr
            self.assertRegex(out, rf"rank 0 \(sh, process \d+\) was killed by SIG{name}: .*{words}")

    def test_others_are_ended_with_their_children(self):
        run = self.start(
            "-n", 3, "--oversubscribe", *shell(f"if [ {RANK} = 1 ]; then sleep 0.5; exit 7; fi; {FAMILY[2]}")
        )
        _, err = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 7)
        self.assertIn("ending 2 other ranks", err)

    def test_one_that_ignores_sigterm(self):
        start = time.monotonic()
        self.run_mpiexec(
            "-n",
            2,
            "--oversubscribe",
            *shell(
                f"if [ {RANK} = 1 ]; then sleep 0.2; exit 7; fi; trap '' TERM; while :; do sleep 0.1; done"
            ),
            code=7,
            env={"HEARTH_LAUNCH_GRACE": "200ms"},
        )
        self.assertLess(time.monotonic() - start, 20)

    def test_one_that_is_stopped(self):
        self.run_mpiexec(
            "-n",
            2,
            "--oversubscribe",
            *shell(f"if [ {RANK} = 1 ]; then sleep 0.2; exit 7; fi; kill -STOP $$"),
            code=7,
        )

    def test_success_of_one_lets_the_others_run(self):
        lines = self.lines(
            "-n", 3, "--oversubscribe", *shell(f"if [ {RANK} = 1 ]; then exit 0; fi; sleep 0.3; echo {RANK}")
        )
        self.assertEqual(lines, ["0", "2"])

    def test_what_a_rank_left_in_the_background_ends_with_the_job(self):
        self.run_mpiexec("-n", 2, "--oversubscribe", *shell("sleep 300 >/dev/null 2>&1 & exit 0"))
        self.assertTrue(wait_until(lambda: not processes_with(self.mark), 3))

    def test_many_at_once(self):
        run = self.start("-n", 40, "--oversubscribe", *shell(f"exit $(({RANK} % 3 + 1))"))
        _, err = run.communicate(timeout=LIMIT_S)
        match = re.search(r"rank (\d+) .* exit code (\d+)", err)
        self.assertEqual(run.returncode, int(match.group(1)) % 3 + 1)
        self.assertEqual(run.returncode, int(match.group(2)))
        self.assertEqual(err.count("exit code"), 1)


class Signals(LaunchTest):
    def running(self, *arguments, **options):
        """mpiexec with two ranks that print the signals that they receive."""
        program = python(
            "import os, signal, sys, time",
            "def show(number, _): print(os.environ['PMI_RANK'], signal.Signals(number).name, flush=True)",
            "for name in sys.argv[1:]: signal.signal(getattr(signal, name), show)",
            "print('ready', flush=True)",
            "while True: time.sleep(1)",
        )
        run = self.start("-n", 2, "--oversubscribe", *program, *arguments, **options)
        self.assertEqual([run.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        return run

    def finish(self, run):
        run.kill()
        run.communicate(timeout=LIMIT_S)

    def test_are_forwarded(self):
        names = ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT")
        run = self.running(*names)
        for name in names:
            run.send_signal(getattr(signal, name))
            self.assertEqual(sorted(run.stdout.readline() for _ in range(2)), [f"0 {name}\n", f"1 {name}\n"])
        self.finish(run)

    def test_interrupt_ends_ranks_quietly(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            run = self.start("-n", 2, "--oversubscribe", "sleep", "300")
            wait_until(lambda: sum("sleep" in line for _, line in processes_with(self.mark)) == 3)
            run.send_signal(number)
            self.assertEqual(run.communicate(timeout=LIMIT_S)[1], "")
            self.assertEqual(run.returncode, 128 + number)

    def test_second_interrupt_kills(self):
        run = self.running("SIGINT", "SIGTERM")
        run.send_signal(signal.SIGINT)
        self.assertIn("SIGINT", run.stdout.readline())
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 130)

    def test_interrupt_that_ranks_ignore_is_reported(self):
        run = self.running("SIGINT", "SIGTERM")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(
            run.stderr.readline(),
            "mpiexec: 2 ranks have not ended yet; the same signal once more kills them\n",
        )
        self.finish(run)

    def test_stop_and_continue(self):
        run = self.running("SIGTERM")
        first, _ = [
            pid
            for pid, line in processes_with(self.mark)
            if "Signals(number)" in line and not line.startswith(MPIEXEC)
        ]

        def state(pid):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rsplit(")", 1)[1].split()[0]

        run.send_signal(signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: state(run.pid) == "T" and state(first) == "T"))
        run.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: state(run.pid) != "T" and state(first) != "T"))
        self.finish(run)

    def test_ignored_hangup_stays_ignored(self):
        run = self.running(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(run.poll())
        self.finish(run)

    def test_ranks_start_with_the_settings_that_mpiexec_got(self):
        text = (
            "import signal",
            "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "
            "signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL)",
        )
        out = self.run_mpiexec("-n", 1, *python(*text)).stdout
        self.assertEqual(out, "[] True\n")
        limits = ("import resource", "print(resource.getrlimit(resource.RLIMIT_NOFILE))")
        self.assertEqual(
            self.run_mpiexec("-n", 1, *python(*limits)).stdout,
            subprocess.run(python(*limits), capture_output=True, text=True, check=True).stdout,
        )


class Traces(LaunchTest):
    def test_no_file_and_no_segment(self):
        """Neither a normal nor an abnormal end leaves a file name anywhere."""
        watched = [
            folder for folder in ("/dev/shm", "/tmp", "/dev/mqueue", self.folder) if os.path.isdir(folder)
        ]
        # Ignore the files of concurrent tests.
        of_tests = tuple(f"hearth-{kind}-" for kind in ("test", "chaos", "hosts", "slurm", "guest"))
        mine = lambda: {
            (str(folder), name)
            for folder in watched
            for name in os.listdir(folder)  # noqa: E731
            if "hearth" in name.lower() and not name.startswith(of_tests)
        }
        before = mine()
        self.run_mpiexec("-n", 3, "--oversubscribe", "true")
        self.run_mpiexec("-n", 3, "--oversubscribe", "false", code=1)
        run = self.start("-n", 2, "--oversubscribe", "sleep", "300")
        wait_until(lambda: len(processes_with(self.mark)) >= 3)
        run.kill()
        run.communicate(timeout=LIMIT_S)
        self.assertEqual(mine() - before, set())
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
