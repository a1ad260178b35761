#!/usr/bin/env python3
"""mpiexec: the ranks' output arrives in whole lines, complete and at the right destination."""

import collections
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from common import LIMIT_S, MPIEXEC, LaunchTest, processes_with, python, shell, wait_until

RANK = "$OMPI_COMM_WORLD_RANK"


class Lines(LaunchTest):
    def test_100000_lines_of_four_ranks_stay_whole(self):
        """Each rank writes 25000 lines of varying length in pieces that do not end at line ends."""
        writer = python(
            "import os",
            "rank = os.environ['PMI_RANK']",
            "text = ''.join('%s:%d:%s;\\n' % (rank, i, 'abcdefghij' * (i % 9)) for i in range(25000))",
            "data = text.encode()",
            "for start in range(0, len(data), 1000): os.write(1, data[start:start + 1000])",
        )
        out = self.run_mpiexec("-n", 4, "--oversubscribe", *writer).stdout
        next_line = collections.Counter()
        for line in out.splitlines():
            match = re.fullmatch(r"(\d):(\d+):(\w*);", line)
            self.assertIsNotNone(match, repr(line))
            rank, number = match.group(1), int(match.group(2))
            self.assertEqual(number, next_line[rank])  # in the order in which the rank wrote them
            self.assertEqual(match.group(3), "abcdefghij" * (number % 9))
            next_line[rank] += 1
        self.assertEqual(next_line, {str(rank): 25000 for rank in range(4)})

    def test_both_streams_into_one_file_stay_whole(self):
        writer = python(
            "import os",
            "for i in range(2000):",
            "  os.write(1 + i % 2, b'%05d ' % i + b'x' * 500)",
            "  os.write(1 + i % 2, b'end\\n')",
        )
        with open(self.folder / "all", "w+", encoding="ascii") as file:
            self.run_mpiexec_to(file, "-n", 3, "--oversubscribe", *writer)
            file.seek(0)
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 6000)
        for line in lines:
            self.assertRegex(line, r"^\d{5} x{500}end$")

    def run_mpiexec_to(self, file, *arguments):
        subprocess.run(
            [MPIEXEC, *map(str, arguments)],
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=True,
            env=self.environment(),
        )

    def test_tags(self):
        for option in ("-l", "--tag-output", "-prepend-rank"):
            result = self.run_mpiexec(
                "-n", 2, "--oversubscribe", option, *shell(f"echo a{RANK}; printf 'b\\nlast'; echo e >&2")
            )
            self.assertEqual(
                sorted(result.stdout.splitlines()),
                ["[0] a0", "[0] b", "[0] last", "[1] a1", "[1] b", "[1] last"],
            )
            self.assertEqual(sorted(result.stderr.splitlines()), ["[0] e", "[1] e"])

    def test_last_lines_without_an_end(self):
        out = self.run_mpiexec("-n", 3, "--oversubscribe", *shell(f"echo {RANK} begins; printf ends")).stdout
        self.assertTrue(out.endswith("endsendsends"), out)
        self.assertEqual(sorted(out.splitlines()[:3]), ["0 begins", "1 begins", "2 begins"])

    def test_bytes_pass_unchanged(self):
        data = bytes(range(256)) * 5000
        (self.folder / "data").write_bytes(data)
        result = subprocess.run(
            [MPIEXEC, "-n", "1", "cat", "data"],
            capture_output=True,
            cwd=self.folder,
            check=True,
            timeout=LIMIT_S,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(result.stdout, data)

    def test_one_very_long_line(self):
        out = self.run_mpiexec("-n", 1, *python("print('x' * 3_000_000)")).stdout
        self.assertEqual(len(out), 3_000_001)

    def test_files(self):
        self.run_mpiexec(
            "-n",
            2,
            "-outfile-pattern",
            "out.%r",
            "-errfile-pattern=err.%r",
            *shell(f"echo o{RANK}; echo e{RANK} >&2"),
        )
        self.run_mpiexec("-n", 2, "--output-filename", "both", *shell(f"echo o{RANK}; echo e{RANK} >&2"))
        for rank in ("0", "1"):
            for name, text in (
                (f"out.{rank}", "o"),
                (f"err.{rank}", "e"),
                (f"both.{rank}.out", "o"),
                (f"both.{rank}.err", "e"),
            ):
                self.assertEqual((self.folder / name).read_text(), f"{text}{rank}\n")
        self.run_mpiexec("-n", 3, "--oversubscribe", "--outfile-pattern", "all", "echo", "x")
        self.assertEqual((self.folder / "all").read_text(), "x\n" * 3)
        self.assertIn(
            "cannot write 'no/where'",
            self.run_mpiexec("--outfile-pattern", "no/where", "true", code=1).stderr,
        )

    def test_merged(self):
        result = self.run_mpiexec("--merge-stderr-to-stdout", *shell("echo e >&2"))
        self.assertEqual((result.stdout, result.stderr), ("e\n", ""))


class LastWords(LaunchTest):
    def test_of_a_rank_that_is_killed(self):
        writer = python(
            "import os, signal",
            "os.write(1, b'x' * 60000 + b'\\nlast words')",
            "os.kill(os.getpid(), signal.SIGKILL)",
        )
        result = self.run_mpiexec("-n", 1, *writer, code=137)
        self.assertEqual(len(result.stdout), 60011)
        self.assertTrue(result.stdout.endswith("last words"))
        self.assertIn("was killed by SIGKILL", result.stderr)

    def test_come_before_what_mpiexec_says(self):
        lines = self.run_mpiexec(
            "-n",
            2,
            "--oversubscribe",
            *shell(f"if [ {RANK} = 1 ]; then echo 'assertion failed' >&2; exit 9; fi; sleep 30"),
            code=9,
        ).stderr.splitlines()
        self.assertEqual(lines[0], "assertion failed")
        self.assertIn("rank 1", lines[1])

    def test_of_what_a_rank_pipes_through(self):
        """The shell ends before the process behind its pipe has written."""
        self.assertEqual(self.lines("-n", 1, *shell("(sleep 0.1; echo late) & exit 0")), ["late"])

    def test_a_background_process_that_holds_the_pipe_does_not_delay_the_end(self):
        start = time.monotonic()
        self.assertEqual(
            self.lines("-n", 2, "--oversubscribe", *shell("sleep 50 & echo done")), ["done", "done"]
        )
        self.assertLess(time.monotonic() - start, 20)

    def test_of_other_ranks_that_are_ended(self):
        writer = shell(
            f"if [ {RANK} = 1 ]; then sleep 0.3; exit 5; fi; trap 'echo clearing up; exit' TERM; echo here; "
            "sleep 30 & wait"
        )
        result = self.run_mpiexec("-n", 2, "--oversubscribe", *writer, code=5)
        self.assertEqual(result.stdout, "here\nclearing up\n")


class Readers(LaunchTest):
    def test_slow_reader_loses_nothing_and_slows_the_ranks(self):
        run = self.start(
            "-n",
            2,
            "--oversubscribe",
            *python("import os", "for i in range(4000): os.write(1, b'y' * 4999 + b'\\n')"),
        )
        time.sleep(0.5)
        with open(f"/proc/{run.pid}/status", encoding="ascii") as status:
            resident_kib = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        self.assertLess(resident_kib, 30_000)  # of 40 MB, most still waits in the ranks
        out, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(out.count("\n"), 8000)
        self.assertEqual(len(out), 8000 * 5000)

    def test_reader_that_goes_away(self):
        run = self.start("-n", 2, "--oversubscribe", "yes")
        self.assertEqual(run.stdout.readline(), "y\n")
        run.stdout.close()
        self.assertEqual(run.wait(timeout=LIMIT_S), -signal.SIGPIPE)
        self.assertEqual(run.stderr.read(), "")
        run.stderr.close()

    def test_pipe_to_head(self):
        result = subprocess.run(
            ["sh", "-c", f"{MPIEXEC} -n 2 --oversubscribe yes | head -n 2; echo ended"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
            env=self.environment(),
        )
        self.assertEqual(result.stdout, "y\ny\nended\n")

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        with open("/dev/full", "w", encoding="ascii") as full:
            run = self.start("-n", 2, "--oversubscribe", "yes", stdout=full)
            self.assertEqual(run.wait(timeout=LIMIT_S), 1)
        self.assertIn("No space left", run.communicate()[1])

    def test_signals_are_heard_while_the_reader_sleeps(self):
        run = self.start("-n", 1, "yes")
        time.sleep(0.3)
        run.send_signal(signal.SIGTERM)
        ranks_gone = wait_until(
            lambda: not any(line.strip() == "yes" for _, line in processes_with(self.mark))
        )
        run.communicate(timeout=LIMIT_S)
        self.assertTrue(ranks_gone)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
