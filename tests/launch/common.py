"""Common parts of the launcher's tests: running mpiexec, and checking that it leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from left_behind import MARK, end_processes_with, processes_with, shared_files, wait_until  # noqa: E402

BIN = Path(os.environ["HEARTH_BIN"])  # folder of mpiexec and the compiler wrappers; set by CTest
MPIEXEC = str(BIN / "mpiexec")
LIMIT_S = 60  # longer than any test takes on a busy machine


def python(*lines):
    """A command that runs these lines of Python."""
    return [sys.executable, "-S", "-c", "\n".join(lines)]


def shell(text):
    return ["sh", "-c", text]


class LaunchTest(unittest.TestCase):
    """Runs each test in a folder of its own and checks that nothing is left behind."""

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self._folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        self.folder = Path(self._folder.name)
        self.shared_before = shared_files()

    def tearDown(self):
        gone = wait_until(lambda: not processes_with(self.mark))
        left = end_processes_with(self.mark)
        self._folder.cleanup()
        self.assertTrue(gone, f"processes left behind: {left}")
        # Files of tests that run concurrently may appear and disappear.
        no_file = wait_until(lambda: shared_files() <= self.shared_before)
        self.assertTrue(no_file, f"files of shared memory left behind: {shared_files() - self.shared_before}")

    def environment(self, extra=None):
        environment = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("OMPI_", "PMI", "HEARTH_", "MPIEXEC_", "SLURM_"))
        }
        environment[MARK] = self.mark
        environment["HEARTH_PROFILE"] = "none"  # ignore any profile of this machine
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
        """Runs mpiexec and checks its exit code; None: any code except 0."""
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
