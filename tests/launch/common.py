"""What the tests of the launcher share: running mpiexec, and looking for what it left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN"])  # where mpiexec and the compiler wrappers are; set by CTest
MPIEXEC = str(BIN / "mpiexec")
LIMIT_S = 60  # longer than anything here takes on a crowded machine


def python(*lines):
    """A command that runs these lines of Python."""
    return [sys.executable, "-S", "-c", "\n".join(lines)]


def shell(text):
    return ["sh", "-c", text]


def processes_with(mark):
    """Processes whose environment carries the mark, as (number, command line)."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if f"HEARTH_TEST_MARK={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(
                    (int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                )
        except OSError:
            pass  # ended meanwhile, or not ours
    return found


def wait_until(condition, seconds=10.0):
    """Whether the condition becomes true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class LaunchTest(unittest.TestCase):
    """Runs each test in a folder of its own and checks that nothing is left afterwards."""

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self._folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        self.folder = Path(self._folder.name)
        self.shared_before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

    def tearDown(self):
        gone = wait_until(lambda: not processes_with(self.mark))
        left = processes_with(self.mark)
        for pid, _ in left:
            os.kill(pid, signal.SIGKILL)
        self._folder.cleanup()
        self.assertTrue(gone, f"processes left behind: {left}")

    def environment(self, extra=None):
        environment = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("OMPI_", "PMI", "HEARTH_", "MPIEXEC_", "SLURM_"))
        }
        environment["HEARTH_TEST_MARK"] = self.mark
        environment["HEARTH_PROFILE"] = "none"  # whatever was measured on this machine
        environment.update(extra or {})
        return environment

    def start(self, *arguments, env=None, **options):
        """mpiexec as a running process with text pipes."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.folder)
        return subprocess.Popen(
            [MPIEXEC, *map(str, arguments)], env=self.environment(env), text=True, **options
        )

    def run_mpiexec(self, *arguments, code=0, env=None, **options):
        """The result of mpiexec, which must end with this exit code; None: with any but 0."""
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("cwd", self.folder)
        result = subprocess.run(
            [MPIEXEC, *map(str, arguments)],
            env=self.environment(env),
            text=True,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
            **options,
        )
        good = result.returncode != 0 if code is None else result.returncode == code
        self.assertTrue(good, f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
        return result

    def lines(self, *arguments, **options):
        """Sorted lines of standard output."""
        return sorted(self.run_mpiexec(*arguments, **options).stdout.splitlines())

    def script(self, name, text, mode=0o755):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path
