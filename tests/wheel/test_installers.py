#!/usr/bin/env python3
"""The wheel, installed by uv, by pipx and by `pip install --user`; part of `make check-packages`, which
fetches uv and pipx into .cache/installers."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import environment as wheel_environment

ROOT = wheel_environment.ROOT
TOOLS = ROOT / ".cache" / "installers" / "bin"
HELLO = ROOT / "examples" / "hello.c"
TWO_RANKS = "Hello from rank 0 of 2\nHello from rank 1 of 2\n"
# Of the system, not of a virtual environment or pyenv.
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


class Installers(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="hearth-installers-")
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.wheel = os.environ["HEARTH_WHEEL"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "HEARTH_", "PIP_", "UV_"))}
        self.variables = {
            **kept,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HEARTH_PROFILE": "none",
            "UV_CACHE_DIR": str(self.folder / "uv cache"),
            "PYTHONUSERBASE": str(self.folder / "user base"),
            "PIPX_HOME": str(self.folder / "pipx"),
            "PIPX_BIN_DIR": str(self.folder / "pipx bin"),
            "PIPX_MAN_DIR": str(self.folder / "pipx man"),
        }

    def run_ok(self, *command):
        result = subprocess.run(
            [str(word) for word in command], env=self.variables, cwd=self.folder, text=True,
            capture_output=True, timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def check_use(self, prefix, bin_folder=None):
        """Compiles by mpicc and runs by mpiexec of a folder; the program has to name `prefix`'s library."""
        programs = bin_folder or prefix / "bin"
        program = self.folder / "hello"
        self.run_ok(programs / "mpicc", HELLO, "-o", program)
        self.assertIn(f"[{prefix}/lib]", self.run_ok("readelf", "-d", program))
        self.assertEqual(self.run_ok(programs / "mpiexec", "-n", "2", program), TWO_RANKS)
        self.assertEqual(self.run_ok(programs / "mpirun", "-n", "2", program), TWO_RANKS)
        self.assertIn("MPI 5.0", self.run_ok(programs / "hearth", "info"))

    def check_uv(self, link_mode):
        venv = self.folder / f"{link_mode} é"
        self.run_ok(TOOLS / "uv", "venv", "--python", PYTHON, venv)
        python = venv / "bin" / "python"
        install = ("pip", "install", "--no-index", "--python", python, "--link-mode", link_mode, self.wheel)
        self.run_ok(TOOLS / "uv", *install)
        self.assertEqual((venv / "bin/mpiexec").is_symlink(), link_mode == "symlink")
        self.check_use(venv)
        self.assertEqual(self.run_ok(python, "-m", "hearth_mpi", "-n", "2", self.folder / "hello"), TWO_RANKS)
        self.run_ok(TOOLS / "uv", "pip", "uninstall", "--python", python, "hearth-mpi")
        self.assertFalse((venv / "bin/mpiexec").exists())

    def test_uv_by_hard_links(self):
        self.check_uv("hardlink")

    def test_uv_by_symbolic_links(self):
        self.check_uv("symlink")

    def test_uv_by_copies(self):
        self.check_uv("copy")

    def test_pipx(self):
        self.run_ok(TOOLS / "pipx", "install", self.wheel)
        self.check_use(self.folder / "pipx/venvs/hearth-mpi", self.folder / "pipx bin")
        self.run_ok(TOOLS / "pipx", "uninstall", "hearth-mpi")
        self.assertEqual(list((self.folder / "pipx bin").iterdir()), [])

    def test_user(self):
        pip = (PYTHON, "-m", "pip", "--disable-pip-version-check")
        # Debian's Python refuses it without.
        self.variables["PIP_BREAK_SYSTEM_PACKAGES"] = "1"
        self.run_ok(*pip, "install", "--user", "--no-index", self.wheel)
        base = Path(self.variables["PYTHONUSERBASE"])
        self.check_use(base)
        self.assertEqual(self.run_ok(PYTHON, "-m", "hearth_mpi", "-n", "2", self.folder / "hello"), TWO_RANKS)
        self.run_ok(*pip, "uninstall", "--yes", "hearth-mpi")
        left = [path for path in base.rglob("*") if not path.is_dir() and "__pycache__" not in path.parts]
        self.assertEqual(left, [])

    def test_mpi4py_from_the_index_within_a_minute(self):
        """A new environment, both wheels, and four ranks of Python: the first result of a newcomer."""
        venv = self.folder / "venv"
        program = self.folder / "program.py"
        shutil.copy(ROOT / "examples" / "hello.py", program)
        begin = time.monotonic()
        self.run_ok(PYTHON, "-m", "venv", venv)
        self.run_ok(venv / "bin/pip", "-q", "install", self.wheel, "mpi4py")
        output = self.run_ok(venv / "bin/mpiexec", "-n", "4", venv / "bin/python", program)
        seconds = time.monotonic() - begin
        self.assertEqual(len(output.splitlines()), 4, output)
        for rank in range(4):
            self.assertIn(f"{rank} of 4", output)
        print(f"from nothing to the output of four ranks with mpi4py: {seconds:.1f} s")
        self.assertLess(seconds, 60)


if __name__ == "__main__":
    unittest.main()
