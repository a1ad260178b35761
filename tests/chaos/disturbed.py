"""Common parts of the drivers in this folder: running a job under deliberate disturbance, and checking its
outcome. A job has to end within the time limit, with correct data or an error message, and to leave
nothing behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from left_behind import MARK, end_processes_with, processes_with, shared_files, wait_until  # noqa: E402

BUILD = Path(os.environ.get("HEARTH_BUILD", "build/release"))
MPIEXEC = str(BUILD / "bin" / "mpiexec")
PROGRAM = os.environ.get("HEARTH_TRAFFIC", str(BUILD / "tests" / "chaos" / "multi_traffic"))
SOURCE = Path(__file__).resolve().parents[2]
LIMIT_S = float(os.environ.get("HEARTH_CHAOS_LIMIT", 60))  # a job takes a second or two
WELL = "traffic: all is well"
# Signals that no disturbance excuses.
FATAL_SIGNALS = {signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}


def names(macro):
    """The first argument of each row of this macro in chaos.def."""
    text = (SOURCE / "src" / "base" / "chaos.def").read_text(encoding="utf-8")
    return re.findall(rf"^HEARTH_CHAOS_{macro}\((\w+),", text, re.MULTILINE)


POINTS = names("POINT")
CALLS = names("CALL")


class Outcome:
    def __init__(self, words, ranks, code, out, err, took_s, left, done):
        self.words, self.ranks, self.code, self.out, self.err = words, ranks, code, out, err
        self.took_s, self.left, self.done = took_s, left, done

    @property
    def well(self):
        if self.code == 137 and self.out.count(self.done) == self.ranks:
            return True  # all ranks had their data before one was killed in MPI_Finalize
        return self.code == 0 and self.done in self.out

    @property
    def disturbed(self):
        """Whether the requested disturbance happened."""
        return re.search(r"chaos: .*(fails with|is killed at)", self.err) is not None

    def own_words(self):
        """Messages without those of the disturbance itself."""
        return [line for line in self.err.splitlines() if line.strip() and "chaos: " not in line]

    def problem(self, may_end_by=()):
        """The problem of the outcome; "" if there is none."""
        if self.code is None:
            return f"did not end within {LIMIT_S:.0f} s"
        if self.left:
            return f"left behind: {', '.join(self.left)}"
        if "internal check failed" in self.err or "Sanitizer" in self.err:
            return "a defect was found by a check"
        if "terminate called" in self.err:
            return "an exception got out"
        by_signal = self.code - 128 if self.code > 128 else -self.code if self.code < 0 else 0
        if by_signal in FATAL_SIGNALS or re.search(r"SIG(BUS|SEGV|ABRT|FPE|ILL)", self.err):
            return f"ended by signal {by_signal}"
        if self.code == 0:
            return "" if self.done in self.out else "says it went well, but did not come to its end"
        if self.code == 3 or re.search(r"step \d+: .* is wrong", self.err):
            return "wrong data"
        if not self.own_words():
            return f"ended with {self.code} without a word"
        return ""

    def report(self, problem):
        text = [f"{' '.join(self.words)}", f"  {problem} (exit code {self.code}, {self.took_s:.1f} s)"]
        text += ["  > " + line for line in (self.err + self.out).splitlines()[-30:]]
        return "\n".join(text)


def run(options, arguments, ranks=3, environment=None, program=PROGRAM, done=WELL):
    """Runs the program under mpiexec and checks for left-over processes and files. The program prints `done`
    when it has succeeded."""
    mark = uuid.uuid4().hex
    before = shared_files()
    with tempfile.TemporaryDirectory(prefix="hearth-chaos-") as folder:
        others = ("HEARTH_", "MPIEXEC_", "PMI", "SLURM_")
        own = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        own |= {MARK: mark, "HEARTH_PROFILE": "none", "HEARTH_AUTO_TUNE": "0",
                "HEARTH_SHARE_HEAP": "0", "TMPDIR": folder}
        own |= environment or {}
        words = [MPIEXEC, "-n", str(ranks), "--oversubscribe", *options, program, *map(str, arguments)]
        began = time.monotonic()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        job = subprocess.Popen(words, **pipes, env=own, text=True, errors="replace")
        try:
            out, err = job.communicate(timeout=LIMIT_S)
            code = job.returncode
        except subprocess.TimeoutExpired:
            job.send_signal(signal.SIGQUIT)  # makes mpiexec report the waits
            time.sleep(0.3)
            end_processes_with(mark)
            out, err = job.communicate()
            code = None
        took_s = time.monotonic() - began
        wait_until(lambda: not processes_with(mark), 5)
        left = [f"process {pid}" for pid, _ in end_processes_with(mark)]
        left += [f"file {name}" for name in os.listdir(folder)]
    left += [f"/dev/shm/{name}" for name in shared_files() - before]
    shown = [f"{k}={v}" for k, v in (environment or {}).items()] + words
    return Outcome(shown, ranks, code, out, err, took_s, left, done)
