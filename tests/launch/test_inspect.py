#!/usr/bin/env python3
"""hearth why and hearth top: observation of a running job from another process, without side effects."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import unittest

from common import BIN, LIMIT_S, LaunchTest, wait_until

PROGRAM = os.environ["HEARTH_STANDSTILL_PROGRAM"]
HEARTH = str(BIN / "hearth")


class Look(LaunchTest):
    def setUp(self):
        super().setUp()
        self.job = self.start("-n", 3, "--oversubscribe", PROGRAM, "missing")
        self.assertTrue(wait_until(lambda: len(self.ranks()) == 3, LIMIT_S))
        self.assertTrue(wait_until(lambda: "rank 0 -> 2 -> 0" in self.why(), LIMIT_S))

    def tearDown(self):
        self.job.send_signal(signal.SIGTERM)
        self.job.communicate(timeout=LIMIT_S)
        super().tearDown()

    def why(self):
        return self.hearth("why", self.job.pid).stdout

    def ranks(self):
        """Processes of ranks that already execute the program."""
        with open(f"/proc/{self.job.pid}/task/{self.job.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        own = os.path.realpath(PROGRAM)
        return [int(child) for child in children if os.readlink(f"/proc/{child}/exe") == own]

    def hearth(self, *words, code=None):
        result = subprocess.run([HEARTH, *map(str, words)], env=self.environment(), text=True,
                                capture_output=True, timeout=LIMIT_S, check=False)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_why_by_any_process_of_the_job(self):
        for pid in (self.job.pid, *self.ranks()):
            out = self.hearth("why", pid, code=0).stdout
            self.assertTrue(out.startswith("deadlock: ranks 0 to 2 wait for each other"), out)
            self.assertIn("the cycle: rank 0 -> 2 -> 0\n", out)
            self.assertIn("MPI_Barrier on MPI_COMM_WORLD: ranks 0 and 1 have come, rank 2 has not\n", out)

    def test_why_as_json(self):
        document = json.loads(self.hearth("why", self.job.pid, "--json", code=0).stdout)
        self.assertEqual(document["verdict"], "deadlock")
        self.assertEqual(document["stuck"], [0, 1, 2])
        self.assertEqual(document["cycles"], [[0, 2]])
        wait = document["ranks"][2]["waits"][0]
        self.assertEqual(wait["call"], "MPI_Recv")
        self.assertIn("main+0x", wait["called_from"])
        operation = wait["operations"][0]
        self.assertEqual((operation["peer"], operation["tag"], operation["communicator"], operation["bytes"]),
                         (0, 5, "MPI_COMM_WORLD", 4))
        self.assertEqual(operation["datatype"], "MPI_INT")
        self.assertEqual(document["ranks"][0]["waits"][0]["missing"], [2])

    def test_top_once(self):
        out = self.hearth("top", self.job.pid, "--once", code=0).stdout
        self.assertRegex(out, r"^job \d+: 3 ranks, 3 waiting, ")
        self.assertRegex(
            out, r"\n2 +\d+ +waiting +\d+ % +0/s +0/s +0/s +\d+\.\d s +0 +MPI_Recv +0 +5 +MPI_COMM_WORLD\n")

    def test_top_as_json_by_wait(self):
        out = self.hearth("top", self.job.pid, "--once", "--json", "--sort", "wait", code=0).stdout
        ranks = json.loads(out)["ranks"]
        self.assertEqual(sorted(rank["rank"] for rank in ranks), [0, 1, 2])
        self.assertEqual(sorted(rank["pid"] for rank in ranks), sorted(self.ranks()))
        waits = [rank["waits"][0]["seconds"] for rank in ranks]
        self.assertEqual(waits, sorted(waits, reverse=True))

    def test_top_shows_what_goes_by(self):
        """Messages through the ring and longer ones: in each round, 72000 of 80000 bytes bypass the ring."""
        job = self.start("-n", 3, "--oversubscribe", PROGRAM, "traffic", "30")
        try:
            def ranks():
                out = self.hearth("top", job.pid, "--once", "--json").stdout
                return json.loads(out)["ranks"] if out else []

            self.assertTrue(wait_until(
                lambda: [rank["bytes_per_second_out"] > 0 for rank in ranks()] == [True, False, False],
                LIMIT_S))
            first, second, third = ranks()
            # The receiver publishes its progress per quarter of a ring, and a round is short.
            self.assertGreater(first["bytes_per_second_out"], 1e6)
            sent = first["bytes_per_second_out"]
            self.assertAlmostEqual(second["bytes_per_second_in"] / sent, 1, delta=0.4)
            self.assertLess(second["bytes_per_second_out"], sent / 10)
            self.assertLess(third["bytes_per_second_in"] + third["bytes_per_second_out"], 1e4)
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=LIMIT_S)

    @contextlib.contextmanager
    def other_job(self, *words):
        job = self.start("-n", 2, "--oversubscribe", PROGRAM, *words)
        try:
            yield job
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=LIMIT_S)

    def test_top_shows_bytes_of_files(self):
        with self.other_job("files", self.folder / "data") as job:
            def rates():
                out = self.hearth("top", job.pid, "--once", "--json").stdout
                return [(rank["file_bytes_per_second_read"] or 0, rank["file_bytes_per_second_written"] or 0)
                        for rank in (json.loads(out)["ranks"] if out else [])]

            self.assertTrue(wait_until(lambda: [rate > 0 for pair in rates() for rate in pair] ==
                                       [False, True, True, False], LIMIT_S))
            # 4 MiB in each turn, and some hundred turns a second at most.
            (_, written), (read, _) = rates()
            self.assertTrue(1e6 < written < 1e9 and 1e6 < read < 1e9, (written, read))

    def test_wait_for_a_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with self.other_job("pipe", pipe) as job:
            def text():
                return self.hearth("why", job.pid).stdout

            self.assertTrue(wait_until(lambda: "for the system to open" in text(), LIMIT_S), text())
            out = text()
            self.assertRegex(out, r"rank 0 waits in MPI_File_open for the system to open, on file '")
            self.assertIn("no deadlock", out)
            os.close(os.open(pipe, os.O_WRONLY))
            self.assertEqual(job.wait(timeout=LIMIT_S), 0)

    def test_what_is_no_job(self):
        self.assertIn("there is no process", self.hearth("why", 2**22 + 1, code=1).stderr)
        self.assertIn("is no mpiexec and no rank", self.hearth("top", os.getpid(), "--once", code=1).stderr)

    def test_looking_changes_nothing(self):
        def memory():
            sizes = []
            for pid in self.ranks():
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    sizes.append(re.search(r"RssShmem:\s+(\d+)", file.read()).group(1))
            return sizes

        before = memory()
        for _ in range(3):
            self.hearth("why", self.job.pid, code=0)
            self.hearth("top", self.job.pid, "--once", code=0)
        self.assertEqual(memory(), before)
        self.assertIsNone(self.job.poll())

    def live(self):
        """hearth top on a terminal of its own."""
        terminal, inner = pty.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, inner)
        self.before = termios.tcgetattr(inner)
        run = subprocess.Popen(
            [HEARTH, "top", str(self.job.pid), "--seconds", "0.2"],
            stdin=inner, stdout=inner, stderr=inner, env=self.environment(),
        )
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.terminal, self.inner, self.text = terminal, inner, ""
        return run

    def shows(self, pattern):
        end = time.monotonic() + LIMIT_S
        while not re.search(pattern, self.text) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.text += os.read(self.terminal, 65536).decode()
        self.assertRegex(self.text, pattern)

    def assert_restored(self):
        self.shows(r"\x1b\[\?25h\x1b\[\?1049l$")
        self.assertEqual(termios.tcgetattr(self.inner), self.before)

    def test_live_until_q(self):
        run = self.live()
        self.shows(r"MPI_Barrier[\s\S]*MPI_Barrier[\s\S]*MPI_Recv")
        os.write(self.terminal, b"w")
        self.shows(r"; by wait")
        os.write(self.terminal, b"q")
        self.assertEqual(run.wait(timeout=LIMIT_S), 0)
        self.assert_restored()

    def test_live_until_a_signal(self):
        run = self.live()
        self.shows(r"MPI_Recv")
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=LIMIT_S)
        self.assert_restored()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
