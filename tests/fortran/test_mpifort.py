#!/usr/bin/env python3
"""mpifort: compiling, its questions, the cache of modules, refused options, and CMake's FindMPI."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from common import BIN, LIMIT_S  # noqa: E402
from wrapper_test import BUILD, WrapperTest  # noqa: E402

SOURCES = Path(__file__).parent
MPIFORT = BIN / "mpifort"


class Mpifort(WrapperTest):
    def test_compile_link_and_run(self):
        for wrapper, source in (("mpifort", "hello_f08.f90"), ("mpifort_abi", "hello_f08.f90"),
                                ("mpif90", "hello_mpi.f90"), ("mpif77", "hello_77.f")):
            out = self.run_tool(BIN / wrapper, "-Wall", "-Werror", SOURCES / source, "-o", wrapper)
            self.assertEqual(out, "")
            self.hello(f"./{wrapper}")

    def test_in_steps_and_without_position_independence(self):
        for options in (("-fPIE", "-pie"), ("-fno-pie", "-no-pie")):
            self.run_tool(MPIFORT, options[0], "-c", SOURCES / "hello_77.f")
            self.assertEqual(self.run_tool(MPIFORT, options[1], "hello_77.o", "-o", "hello"), "")
            self.hello("./hello")

    def test_a_moved_installation(self):
        prefix = self.installation("moved")
        self.run_tool(prefix / "bin/mpifort", SOURCES / "hello_f08.f90", "-o", "program")
        self.hello("./program")
        self.assertIn(str(prefix / "lib/libmpifort_abi.so.1"), self.run_tool("ldd", "program"))

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config here")
        prefix = self.installation("moved")
        env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
        flags = self.run_tool("pkg-config", "--cflags", "--libs", "hearth-fort", env=env).split()
        self.run_tool("gfortran", "-fallow-argument-mismatch", SOURCES / "hello_77.f", *flags, "-o", "hello")
        self.hello("./hello")

    def test_questions(self):
        library = f"-L{BUILD}/lib -Wl,-rpath,{BUILD}/lib -Wl,--enable-new-dtags -lmpifort_abi -lmpi_abi\n"
        self.assertEqual(self.run_tool(MPIFORT, "-showme:link"), library)
        self.assertEqual(self.run_tool(MPIFORT, "-showme:libs"), "mpifort_abi mpi_abi\n")
        modules = self.run_tool(MPIFORT, "-showme:incdirs").split()[1]
        self.assertEqual(self.run_tool(MPIFORT, "-showme:compile"),
                         f"-I{BUILD}/generated/fortran -I{modules} -fallow-argument-mismatch\n")
        self.assertTrue(Path(modules, "mpi_f08.mod").is_file())
        self.assertIn("(Language: Fortran)", self.run_tool(MPIFORT, "-showme:version"))
        shown = self.run_tool(MPIFORT, "-show", "-c", "x.f90")
        self.assertTrue(shown.startswith("gfortran -I"), shown)
        self.assertTrue(shown.endswith(" -c x.f90\n"), shown)
        self.assertIn("unknown option", self.run_tool(MPIFORT, "-showme:nonsense", code=2))
        self.run_tool(MPIFORT, code=1)

    def test_the_cache_is_filled_once(self):
        first = Path(self.run_tool(MPIFORT, "-showme:incdirs").split()[1])
        self.assertTrue(str(first).startswith(str(self.folder / "cache/hearth/fortran")))
        before = (first / "mpi.mod").stat().st_mtime_ns
        self.run_tool(MPIFORT, "-c", SOURCES / "hello_f08.f90")
        self.assertEqual((first / "mpi.mod").stat().st_mtime_ns, before)
        self.assertEqual([path.name for path in first.parent.iterdir()], [first.name])

    def test_simultaneous_first_uses(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        running = [subprocess.Popen([MPIFORT, "-showme:incdirs"], env=environment, text=True,
                                    stdout=subprocess.PIPE) for _ in range(4)]
        self.assertEqual(len({process.communicate(timeout=LIMIT_S)[0] for process in running}), 1)
        self.assertEqual([process.returncode for process in running], [0] * 4)
        self.assertEqual(len(list((self.folder / "cache/hearth/fortran").iterdir())), 1)

    def test_a_cache_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        env = {"XDG_CACHE_HOME": str(self.folder / "file"), "TMPDIR": str(self.folder)}
        modules = self.run_tool(MPIFORT, "-showme:incdirs", env=env).split()[1]
        self.assertTrue(modules.startswith(str(self.folder / "hearth-")), modules)
        env["TMPDIR"] = str(self.folder / "file")
        self.assertIn("Remedy: set one of them", self.run_tool(MPIFORT, "-showme:incdirs", env=env, code=1))

    def test_own_modules(self):
        self.run_tool(MPIFORT, "--make-modules=modules")
        env = {"HEARTH_FORTRAN_MODULES": str(self.folder / "modules")}
        self.run_tool(MPIFORT, SOURCES / "hello_f08.f90", "-o", "hello", env=env)
        self.assertFalse((self.folder / "cache").exists())
        env = {"HEARTH_FORTRAN_MODULES": str(self.folder / "none")}
        self.assertIn("no mpi_f08.mod in", self.run_tool(MPIFORT, "x.f90", code=1, env=env))

    def test_refused_options(self):
        for option in ("-fdefault-integer-8", "-i8"):
            told = self.run_tool(MPIFORT, option, SOURCES / "hello_77.f", code=2)
            self.assertIn("those of MPI's standard ABI have 4", told)

    def test_other_compilers(self):
        for name in ("HEARTH_FC", "OMPI_FC", "MPICH_FC"):
            env = {name: "env gfortran"}
            self.assertEqual(self.run_tool(MPIFORT, "-showme:command", env=env), "env gfortran\n")
        self.assertIn("no Fortran compiler 'nothing'", self.run_tool(MPIFORT, "-fc=nothing", "x.f90", code=1))

    def test_wrong_calls_are_errors_of_the_compiler(self):
        for module, call, complaint in (
                ("mpi_f08", "call MPI_Comm_rank(1, n)", "no specific subroutine"),
                ("mpi_f08", "call MPI_Send(n, 1, MPI_INTEGER, 0, 0)", "no specific subroutine"),
                ("mpi", "call MPI_Comm_rank(MPI_COMM_WORLD, n)", "Missing actual argument"),
                ("mpi", "call MPI_Comm_size(MPI_COMM_WORLD, 1.5, n)", "Type mismatch")):
            source = self.folder / "wrong.f90"
            source.write_text(f"use {module}\ninteger :: n\n{call}\nend\n")
            self.assertIn(complaint, self.run_tool(MPIFORT, "-c", source, code=1))

    def test_cmake_finds_it(self):
        if shutil.which("cmake") is None:
            self.skipTest("no cmake here")
        env = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        out = self.run_tool("cmake", "-S", SOURCES / "find_mpi", "-B", "build", f"-DSOURCES={SOURCES}",
                            env=env)
        self.assertRegex(out, rf"found: 5 TRUE TRUE TRUE {BIN}/mpiexec")
        self.run_tool("cmake", "--build", "build", env=env)
        for form in ("77", "mpi", "f08"):
            self.hello(f"build/hello_{form}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
