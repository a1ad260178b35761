#!/usr/bin/env python3
"""The wheel, made from an installation of this build, in a virtual environment."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import environment as wheel_environment

# The limits of size are for the wheel of `make wheel`; the test of the build's own installation catches
# accidents.
IS_GIVEN = bool(os.environ.get("HEARTH_WHEEL"))
EXCESS = 1.0 if IS_GIVEN else 1.75
HELLO = Path(__file__).resolve().parents[2] / "examples/hello.c"
TWO_RANKS = "Hello from rank 0 of 2\nHello from rank 1 of 2\n"


def files_in(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if "__pycache__" not in p.parts}


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="hearth-wheel-")
        cls.folder = Path(cls._folder.name)
        cls.script = wheel_environment.load_script()
        cls.prefix, cls.wheel = wheel_environment.make_wheel(cls.folder)
        # A blank, and letters that are not in ASCII.
        cls.environment = cls.folder / "a venv é"
        wheel_environment.make_environment(cls.environment)
        cls.before = files_in(cls.environment)
        cls.pip("install", cls.wheel)

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    @classmethod
    def pip(cls, *arguments):
        wheel_environment.pip(cls.environment, *arguments)

    def run_in(self, environment, program, *arguments, code=0):
        """What a program of the environment prints; nothing of the environment is in a variable."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "HEARTH_"))}
        variables.update(PATH="/usr/local/bin:/usr/bin:/bin", HEARTH_PROFILE="none")
        result = subprocess.run([environment / "bin" / program, *arguments], env=variables, text=True,
                                capture_output=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout if code == 0 else result.stderr

    def check_use(self, environment):
        """Compiles a program with this environment's mpicc and runs it with its mpiexec."""
        program = self.folder / "hello"
        self.run_in(environment, "mpicc", HELLO, "-o", program)
        ranks = self.run_in(environment, "mpiexec", "-n", "2", program)
        self.assertEqual(ranks, TWO_RANKS)
        ranks = self.run_in(environment, "mpirun", "-n", "2", program)
        self.assertEqual(ranks, TWO_RANKS)
        return program

    @unittest.skipUnless(shutil.which("cc"), "no compiler")
    def test_compile_and_run(self):
        program = self.check_use(self.environment)
        ranks = self.run_in(self.environment, "python", "-m", "hearth_mpi", "-n", "2", program)
        self.assertEqual(ranks, TWO_RANKS)
        self.assertIn("parameters", self.run_in(self.environment, "hearth", "info"))

    @unittest.skipUnless(shutil.which("cc"), "no compiler")
    def test_a_moved_environment(self):
        moved = self.folder / "moved"
        shutil.copytree(self.environment, moved, symlinks=True)
        self.environment.rename(self.folder / "away")
        try:
            self.check_use(moved)
        finally:
            (self.folder / "away").rename(self.environment)

    def test_nothing_but_glibc_is_needed(self):
        glibc = ("libc.so", "libm.so", "ld-linux", "libpthread.so", "libdl.so", "librt.so")
        programs = [self.environment / "bin" / name for name in ("mpiexec", "hearth")]
        programs = [path for path in programs if path.read_bytes().startswith(b"\x7fELF")]
        self.assertTrue(programs)
        for path in [*self.environment.glob("lib/lib*.so.*"), *programs]:
            text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
            needed = {line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line}
            rest = {name for name in needed if not name.startswith((*glibc, "libmpi"))}
            self.assertEqual(rest, set(), path)

    def test_where_everything_is(self):
        code = "import hearth_mpi as h, json; print(json.dumps([h.get_config(), h.overwritten()]))"
        config, changed = json.loads(self.run_in(self.environment, "python", "-c", code))
        self.assertEqual(changed, [])
        self.assertEqual(config["prefix"], str(self.environment.resolve()))
        for name in ("mpiexec", "mpicc", "mpicxx", "mpifort", "hearth"):
            self.assertTrue(os.access(config[name], os.X_OK), name)
        self.assertTrue(Path(config["include"], "mpi.h").is_file())
        self.assertIn(config["version"], self.run_in(self.environment, "mpiexec", "--version"))

    def test_a_file_of_another_package_is_told(self):
        other = self.folder / "mpich-1.0-py3-none-any.whl"
        archive = self.script.Archive(other, "1.0")
        archive.information = "mpich-1.0.dist-info"
        archive.add("mpich-1.0.data/data/bin/mpiexec", b"#!/bin/sh\n", True)
        facts = b"Metadata-Version: 2.1\nName: mpich\nVersion: 1.0\n"
        archive.add("mpich-1.0.dist-info/METADATA", facts)
        archive.add("mpich-1.0.dist-info/WHEEL", self.script.WHEEL.format(tag="py3-none-any").encode())
        archive.close()
        self.pip("install", other)
        try:
            told = self.run_in(self.environment, "python", "-m", "hearth_mpi", "-n", "1", "true", code=1)
            self.assertIn("bin/mpiexec is not Hearth's any more: mpich was installed over it", told)
        finally:
            self.pip("uninstall", "--yes", "mpich")
            self.pip("install", "--force-reinstall", self.wheel)
        self.run_in(self.environment, "python", "-m", "hearth_mpi", "-n", "1", "true")

    def test_a_target_folder_lacks_the_library(self):
        target = self.folder / "target"
        self.pip("install", "--target", target, self.wheel)
        variables = {**os.environ, "PYTHONPATH": str(target)}
        told = subprocess.run([sys.executable, "-m", "hearth_mpi", "--version"], env=variables,
                              capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn("or pip install --target, which leaves lib out. Remedy: ", told.stderr)

    def test_uninstalling_leaves_nothing(self):
        self.pip("uninstall", "--yes", "hearth-mpi")
        try:
            left = files_in(self.environment) - self.before
            self.assertEqual({p for p in left if not (self.environment / p).is_dir()}, set())
        finally:
            self.pip("install", self.wheel)

    def test_contents(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            self.assertTrue(any(name.endswith(".dist-info/licenses/fmt.txt") for name in names))
            record = archive.read(next(n for n in names if n.endswith("/RECORD"))).decode()
            self.assertEqual(sorted(names), sorted(line.split(",")[0] for line in record.splitlines()))
            for name in ("bin/mpiexec", "bin/mpicc", "bin/hearth", "lib/libmpi_abi.so.1", "include/mpi.h",
                         "lib/libmpifort_abi.so.1", "include/mpif.h", "share/hearth/fortran/mpi_f08.f90"):
                self.assertEqual(sum(n.endswith(f".data/data/{name}") for n in names), 1, name)
        packed, installed = wheel_environment.bytes_of(self.wheel)
        self.assertLess(packed, EXCESS * wheel_environment.PACKED_BYTES_MAX)
        self.assertLess(installed, EXCESS * wheel_environment.INSTALLED_BYTES_MAX)
        self.assertRegex(self.wheel.name, r"^hearth_mpi-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        if IS_GIVEN:
            self.assertIn("-manylinux_2_28_", self.wheel.name)

    def test_the_same_installation_gives_the_same_wheel(self):
        if self.prefix is None:
            self.skipTest("the wheel was given")
        again = self.script.make_wheel(self.prefix, self.folder / "again")
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())


if __name__ == "__main__":
    unittest.main()
