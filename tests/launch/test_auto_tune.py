#!/usr/bin/env python3
"""Background tuning (HEARTH_AUTO_TUNE=yes): when mpiexec starts it, and what it does."""

import json
import os
import pty
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from common import BIN, LIMIT_S, MPIEXEC, LaunchTest, processes_with, wait_until
from surroundings import mounted, possible

TWO = len(os.sched_getaffinity(0)) >= 2


class AtTerminal(LaunchTest):
    def home(self, extra=None):
        own = {"HOME": str(self.folder), "HEARTH_PROFILE": "", "HEARTH_AUTO_TUNE": "yes"}
        return own | (extra or {})

    def run_at_terminal(self, *command, env=None, code=0):
        """Runs a command with all three descriptors on a terminal of its own. Returns its duration and its
        output."""
        controller, terminal = pty.openpty()
        begin = time.monotonic()
        with subprocess.Popen([str(word) for word in command], stdin=terminal, stdout=terminal,
                              stderr=terminal, env=self.environment(self.home(env)),
                              cwd=self.folder) as process:
            os.close(terminal)
            written = b""
            try:
                while piece := os.read(controller, 4096):
                    written += piece
            except OSError:
                pass  # the last process on the terminal has ended
            self.assertEqual(process.wait(LIMIT_S), code, written)
        os.close(controller)
        return time.monotonic() - begin, written.decode()


@unittest.skipUnless(TWO, "two ranks would share the only processor")
class WhenItIsStarted(AtTerminal):
    """With a copy of mpiexec next to a substitute for the hearth tool."""

    def setUp(self):
        super().setUp()
        tools = self.folder / "bin"
        tools.mkdir()
        self.mpiexec = shutil.copy(MPIEXEC, tools)
        self.called = self.folder / "called"
        (tools / "hearth").write_text(
            f'#!/bin/sh\nsleep 0.5\nls -l /proc/self/fd >{self.called}.part\n'
            f'echo "$@ $(ps -o sid= -p $$) $$" >>{self.called}.part\nmv {self.called}.part {self.called}\n')
        (tools / "hearth").chmod(0o755)

    def is_started(self):
        wait_until(lambda: self.called.exists() or not processes_with(self.mark))
        return self.called.exists()

    def test_after_a_good_job(self):
        _, written = self.run_at_terminal(self.mpiexec, "-n", "2", "true")
        self.assertFalse(self.called.exists(), "the job has waited for it")
        self.assertEqual(written, "")
        self.assertTrue(self.is_started())
        *descriptors, words = self.called.read_text().splitlines()
        arguments = words.split()
        self.assertEqual(arguments[:2], ["tune", "--background"])
        self.assertEqual(arguments[2], arguments[3], "it has no session of its own")
        left = [line for line in descriptors if "pts/" in line or "pipe:" in line]
        self.assertEqual(left, [], "it holds what was the job's")

    def test_not_otherwise(self):
        good = (self.mpiexec, "-n", "2", "true")
        profile = self.folder / ".cache" / "hearth" / "profile.json"
        self.run_at_terminal(self.mpiexec, "-n", "2", "false", code=1)
        self.run_at_terminal(*good, env={"HEARTH_AUTO_TUNE": ""})  # by default
        self.run_at_terminal(*good, env={"HEARTH_PROFILE": "none"})
        self.run_at_terminal(*good, env={"HEARTH_TUNED": "p2p_fragment_bytes_max:l3=4096"})
        self.run_at_terminal("sh", "-c", '"$0" -n 2 true 2>errors', self.mpiexec)
        profile.parent.mkdir(parents=True)
        profile.write_text("{}")  # a profile that does not fit: mpiexec reports it and keeps it
        _, written = self.run_at_terminal(*good)
        self.assertIn("is ignored", written)
        self.assertFalse(self.is_started())


@unittest.skipUnless(TWO, "two ranks would share the only processor")
class WhatItDoes(AtTerminal):
    """With the real tool, on a machine whose kernel reports the given number of running tasks."""

    def prefix(self, running):
        stat = self.folder / "stat"
        stat.write_text(f"cpu 0 0 0 0\nprocs_running {running}\nprocs_blocked 0\n")
        prefix = mounted(f"mount --bind {stat} /proc/stat")
        if not possible(prefix):
            self.skipTest("needs the right to make namespaces (root)")
        return prefix

    def profile(self):
        return self.folder / ".cache" / "hearth" / "profile.json"

    def test_on_an_idle_machine_it_leaves_a_profile_for_the_next_job(self):
        job = [*self.prefix(1), MPIEXEC, "-n", "2", "true"]
        # It gives up if ten seconds do not suffice, which happens if other processes use the machine.
        for _ in range(5):
            self.run_at_terminal(*job)
            self.assertFalse(self.profile().exists(), "the job has waited for it")
            self.assertTrue(wait_until(lambda: not processes_with(self.mark), LIMIT_S))
            if self.profile().exists():
                break
            self.assertEqual([path.name for path in self.folder.rglob("*") if path.is_file()], ["stat"])
        if not self.profile().exists() and os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0)):
            self.skipTest("others use the machine")
        document = json.loads(self.profile().read_text())
        self.assertTrue(document["made_by"].startswith("hearth tune --background"), document["made_by"])
        self.assertIn("p2p_single_copy_bytes_min", next(iter(document["relations"].values()))["thresholds"])
        left = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())
        self.assertEqual(left, [".cache/hearth/profile.json", "stat"])
        before = self.profile().stat().st_mtime_ns
        _, written = self.run_at_terminal(*job)
        self.assertEqual(written, "")
        self.assertEqual(processes_with(self.mark), [], "measured again")
        self.assertEqual(self.profile().stat().st_mtime_ns, before)

    def tune(self, prefix):
        return subprocess.run([*prefix, str(BIN / "hearth"), "tune", "--background"], text=True, check=False,
                              env=self.environment(self.home()), capture_output=True, timeout=LIMIT_S)

    def test_on_a_busy_machine_it_gives_up(self):
        begin = time.monotonic()
        result = self.tune(self.prefix(9))
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("not idle", result.stderr)
        self.assertEqual([path.name for path in self.folder.rglob("*")], ["stat"])

    def test_never_two_at_a_time(self):
        prefix = self.prefix(1)
        with subprocess.Popen([*prefix, str(BIN / "hearth"), "tune", "--background"],
                              stderr=subprocess.DEVNULL, env=self.environment(self.home())) as first:
            name = f"@hearth-tune-{os.getuid()}"
            self.assertTrue(wait_until(lambda: name in Path("/proc/net/unix").read_text()))
            self.assertIn("another one is measuring", self.tune(prefix).stderr)
            first.terminate()


if __name__ == "__main__":
    unittest.main()
