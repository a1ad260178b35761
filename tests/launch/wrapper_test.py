"""Common parts of the tests of mpicc, mpicxx and mpifort."""

import shutil
import subprocess

from common import BIN, LIMIT_S, LaunchTest

BUILD = BIN.parent
# What the wrappers, CMake and compilers take from the environment.
COMPILER_VARIABLES = ("MPICH_", "CC", "CXX", "FC", "FFLAGS", "XDG_")


class WrapperTest(LaunchTest):
    def run_tool(self, *words, code=0, env=None):
        """Output of a command, both streams. mpifort's cache of modules is in the folder of the test."""
        environment = {k: v for k, v in self.environment().items() if not k.startswith(COMPILER_VARIABLES)}
        environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        environment.update(env or {})
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=LIMIT_S,
                                check=False, cwd=self.folder, env=environment)
        self.assertEqual(result.returncode, code, f"{words}\n{result.stdout}\n{result.stderr}")
        return result.stdout + result.stderr

    def hello(self, program):
        self.assertEqual(self.lines("-n", 2, "--oversubscribe", program), ["hello 0", "hello 1"])

    def installation(self, name):
        """The parts of an installation that the wrappers and CMake need, under another prefix."""
        prefix = self.folder / name
        fortran = BUILD / "generated/fortran"
        for folder, files in (
            ("bin", (BUILD / "installed").iterdir()),
            ("include", [BUILD / "generated/mpi.h", *fortran.glob("mpif.h")]),
            ("lib", (BUILD / "lib").glob("libmpi*_abi.so*")),
            ("lib/pkgconfig", BUILD.glob("hearth*.pc")),
            ("lib/cmake/hearth", BUILD.glob("hearth-config*.cmake")),
            ("share/hearth/fortran", fortran.glob("*.f90")),
        ):
            (prefix / folder).mkdir(parents=True, exist_ok=True)
            for file in files:
                shutil.copy(file, prefix / folder, follow_symlinks=False)
        return prefix
