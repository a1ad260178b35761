#!/usr/bin/env python3
"""Programs that were built for another MPI library: mpiexec makes them use Hearth's, or refuses them in one
line.

The installation is a copy of mpiexec with a lib folder of the test's own. Libraries are made of a few lines:
their MPI_Init prints whose it is. Hearth's have a symbol hearth_..., as the real ones do."""

import json
import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

import common
from common import BIN, LaunchTest, python, shell

RANK = os.environ["HEARTH_RANK_PROGRAM"]  # for the standard ABI, from rank.c
PROGRAM = "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n"
HELLO = Path(__file__).resolve().parents[2] / "examples/hello.c"
ENVIRONMENT = "echo ${LD_LIBRARY_PATH:-none} ${LD_PRELOAD:-none} ${MPI4PY_LIBMPI:-none}"


def library(text, *symbols):
    lines = ["#include <stdio.h>", f'int MPI_Init(int *a, char ***b) {{ return puts("{text}") < 0; }}']
    return "\n".join([*lines, *(f"int {symbol};" for symbol in symbols)]) + "\n"


@unittest.skipUnless(shutil.which("cc"), "no compiler")
class OtherMpi(LaunchTest):
    def setUp(self):
        super().setUp()
        self.lib = self.folder / "hearth" / "lib"
        self.foreign = self.folder / "foreign"
        for folder in (self.lib, self.foreign, self.folder / "hearth" / "bin"):
            folder.mkdir(parents=True)
        for name in ("mpiexec", "hearth"):
            shutil.copy(BIN / name, self.folder / "hearth" / "bin" / name)
        for file in (BIN.parent / "lib").glob("libhearth_*"):
            shutil.copy(file, self.lib)
        shutil.copy(BIN.parent / "lib" / "libmpi_abi.so.1", self.lib)
        common.MPIEXEC = str(self.folder / "hearth" / "bin" / "mpiexec")

    def tearDown(self):
        common.MPIEXEC = str(BIN / "mpiexec")
        super().tearDown()

    def cc(self, target, source, *options):
        file = self.folder / "source.c"
        file.write_text(source)
        subprocess.run(["cc", "-o", str(target), str(file), *options], check=True)
        return str(target)

    def shared(self, folder, name, source, *options):
        return self.cc(folder / name, source, "-shared", "-fPIC", f"-Wl,-soname,{name}", *options)

    def other(self, name, *options):
        """A library of another MPI."""
        return self.shared(self.foreign, name, library("another MPI"), *options)

    def facade(self, name, text="Hearth"):
        """Hearth's library in place of that one."""
        return self.shared(self.lib, name, library(text, "hearth_calls"))

    def program(self, name, *needed, rpath="-Wl,-rpath,$ORIGIN/foreign"):
        """A program that finds the other MPI's libraries by itself, as after that one's mpicc."""
        return self.cc(self.folder / name, PROGRAM, "-Wl,--no-as-needed,--enable-new-dtags", rpath, *needed)

    def refused(self, *arguments, code=126):
        """The only line that mpiexec prints."""
        result = self.run_mpiexec("--oversubscribe", *arguments, code=code)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("Remedy: ", result.stderr)
        return result.stderr

    def info(self, program, env=None):
        tool = str(self.folder / "hearth" / "bin" / "hearth")
        text = subprocess.run([tool, "info", "--json", program], env=self.environment(env), check=True,
                              capture_output=True, text=True).stdout
        return json.loads(text)["program"]

    def variables(self, program):
        rows = self.info(program).get("variables", [])
        return {row["variable_of_its_ranks"]: row["value"] for row in rows}

    def test_a_program_of_another_abi_gets_hearth(self):
        for name in ("libmpi.so.12", "libmpich.so.12", "libmpi.so.40"):
            program = self.program("program", self.other(name))
            self.assertEqual(subprocess.check_output([program], text=True), "another MPI\n")
            self.facade(name)
            self.assertEqual(self.lines("-n", 2, program), ["Hearth", "Hearth"])
            found = self.info(program)
            self.assertIn(f"({name})", found["built_for"])
            self.assertEqual(found["under_mpiexec_it_gets"], "Hearth, by LD_LIBRARY_PATH of its ranks")
            self.assertEqual(self.variables(program), {"LD_LIBRARY_PATH": str(self.lib)})
            self.assertTrue(found["libraries"][0]["without_mpiexec_found_at"].endswith(f"/foreign/{name}"))

    def test_only_its_ranks_get_another_environment(self):
        program = self.program("program", self.other("libmpi.so.12"))
        self.facade("libmpi.so.12")
        show = ["run", ENVIRONMENT]
        env = {"LD_LIBRARY_PATH": "/mine"}
        self.assertEqual(self.lines("--no-share-heap", "-n", 1, RANK, *show, env=env), ["/mine none none"])
        found = self.run_mpiexec("-n", 1, program, ":", "-n", 1, RANK, env={"LD_DEBUG": "libs", **env}).stderr
        self.assertIn(f"{self.lib}:/mine", found.replace(f"{self.lib}/libmpi.so.12:", ""))

    def test_rpath_in_the_program_needs_a_preloaded_library(self):
        program = self.program("program", self.other("libmpi.so.12"))
        old = self.cc(self.folder / "old", PROGRAM, str(self.foreign / "libmpi.so.12"),
                      "-Wl,--disable-new-dtags,-rpath,$ORIGIN/foreign")
        self.facade("libmpi.so.12")
        self.assertEqual(self.lines("--no-share-heap", "-n", 2, program, ":", "-n", 1, old), ["Hearth"] * 3)
        self.assertEqual(self.variables(old)["LD_PRELOAD"], str(self.lib / "libmpi.so.12"))

    def test_what_it_finds_by_itself_is_left_alone(self):
        self.facade("libmpi.so.12")
        program = self.program("program", str(self.lib / "libmpi.so.12"), rpath=f"-Wl,-rpath,{self.lib}")
        self.assertEqual(self.lines("-n", 1, program), ["Hearth"])
        self.assertEqual(self.info(program)["under_mpiexec_it_gets"], "Hearth, which it finds by itself")
        self.assertEqual(self.variables(program), {})

    def test_a_program_for_the_standard_abi_of_another_installation_gets_hearth(self):
        program = self.program("program", self.other("libmpi_abi.so.1"))
        self.facade("libmpi_abi.so.1")
        self.assertEqual(self.lines("-n", 2, program), ["Hearth", "Hearth"])
        # Without any library in reach.
        (self.foreign / "libmpi_abi.so.1").unlink()
        self.assertEqual(self.lines("-n", 2, program), ["Hearth", "Hearth"])

    def test_without_the_library_for_its_abi_it_is_refused(self):
        program = self.program("program", self.other("libmpi.so.40"))
        told = self.refused("-n", 2, program)
        self.assertIn("was built for Open MPI 3 to 5 (libmpi.so.40), and this installation of Hearth", told)
        self.assertIn("rank 0 of a job of its own", told)
        self.assertIn("mpiexec refuses it: it was built", self.info(program)["under_mpiexec_it_gets"])
        # No program of the job is started.
        self.refused("-n", 1, *shell("echo started"), ":", "-n", 1, program)

    def test_a_part_that_is_missing_is_named(self):
        self.other("libmpifort.so.12")
        program = self.program("program", self.other("libmpi.so.12"), str(self.foreign / "libmpifort.so.12"))
        self.facade("libmpi.so.12")
        self.assertIn("has no libmpifort.so.12 in its place", self.refused("-n", 2, program))

    def test_a_library_of_the_program_may_need_mpi(self):
        self.other("libmpi.so.40")
        (self.folder / "x.c").write_text("")
        self.shared(self.foreign, "libx.so", PROGRAM.replace("main", "x"), str(self.foreign / "libmpi.so.40"))
        program = self.cc(self.folder / "program", "int x(void);\nint main(void) { return x(); }\n",
                          str(self.foreign / "libx.so"), f"-Wl,-rpath,{self.foreign}",
                          f"-Wl,-rpath-link,{self.foreign}")
        self.assertIn("(libmpi.so.40, needed by libx.so)", self.refused("-n", 2, program))
        self.facade("libmpi.so.40")
        self.assertEqual(self.lines("-n", 2, program), ["Hearth", "Hearth"])

    def test_two_libraries_in_one_program_are_refused(self):
        for name in ("libmpi.so.12", "libmpi.so.40"):
            self.other(name)
            self.facade(name)
        program = self.program("program", *(str(self.foreign / f"libmpi.so.{n}") for n in (12, 40)))
        told = self.refused("-n", 2, program)
        self.assertRegex(told, r"two MPI libraries, .*libmpi\.so\.12.*libmpi\.so\.40")

    def test_libraries_that_hearth_does_not_replace(self):
        for name, title in (("libmpi.so.20", "Open MPI before 3"), ("libmpi.so.1", "Open MPI before 3"),
                            ("libmpich.so.10", "MPICH before 3.1"), ("libmpi_ibm.so.3", "IBM Spectrum MPI"),
                            ("libmpi.so", "an MPI library that Hearth does not know")):
            program = self.program("program", self.other(name))
            told = self.refused("-n", 2, program)
            self.assertIn(f"was built for {title} ({name}), which Hearth cannot", told)

    def test_check_of_such_a_program_is_refused(self):
        if not (self.lib / "libhearth_check.so").exists():
            self.skipTest("libhearth_check.so is not built")
        program = self.program("program", self.other("libmpi.so.12"))
        self.facade("libmpi.so.12")
        told = self.refused("--check", "-n", 2, program, code=2)
        self.assertIn("--check examines programs that were built with Hearth's mpicc", told)

    def test_an_installation_overwritten_by_another_is_told(self):
        program = self.program("program", self.other("libmpi.so.12"))
        shutil.copy(self.foreign / "libmpi.so.12", self.lib)
        told = self.refused("-n", 2, program)
        self.assertIn("another MPI library was installed into the same folder", told)

    def test_a_library_named_by_its_path_cannot_be_replaced(self):
        # Without a soname.
        plain = self.cc(self.foreign / "libmpi.so.12", library("another MPI"), "-shared", "-fPIC")
        program = self.program("program", plain)
        self.facade("libmpi.so.12")
        self.assertIn("names its library by a path", self.refused("-n", 2, program))

    def test_scripts_get_it_for_what_they_start(self):
        show = shell(ENVIRONMENT)
        self.assertEqual(self.lines("-n", 1, *show), ["none none none"])
        facade = self.facade("libmpi.so.40")
        self.assertEqual(self.lines("-n", 1, *show), [f"{self.lib} none {facade}"])
        facade = self.facade("libmpi.so.12")
        self.assertEqual(self.lines("-n", 1, *show), [f"{self.lib} none {facade}"])
        self.script("wrapper", f"#!/bin/sh\n{ENVIRONMENT}\n")
        self.assertEqual(self.lines("-n", 1, "./wrapper"), [f"{self.lib} none {facade}"])
        env = {"MPI4PY_LIBMPI": "/mine", "LD_LIBRARY_PATH": "/mine"}
        self.assertEqual(self.lines("-n", 1, *show, env=env), [f"{self.lib}:/mine none /mine"])
        self.script("run", f"#!/bin/sh\nexec {self.program('program', self.other('libmpi.so.12'))}\n")
        self.assertEqual(self.lines("-n", 2, "./run"), ["Hearth", "Hearth"])
        # A folder with the libraries of a distribution would replace those of the shell.
        (self.lib / "libstdc++.so.6").touch()
        self.assertEqual(self.lines("-n", 1, *show), [f"none none {facade}"])

    def test_a_script_that_loads_another_library_is_told(self):
        self.other("libmpi.so.40")
        late = python("import ctypes, sys, time", "ctypes.CDLL(sys.argv[1])", "time.sleep(60)")
        running = self.start("--timeout", 4, "-n", 3, *late, self.foreign / "libmpi.so.40")
        begin = time.monotonic()
        err = running.communicate(timeout=common.LIMIT_S)[1]
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(err.count("note: 3 ranks have loaded Open MPI 3 to 5"), 1, err)
        self.assertIn("libmpi.so.40) instead of Hearth: each is rank 0 of a job of its own. Remedy: ", err)

    def test_a_script_that_starts_such_a_program_is_told(self):
        self.other("libmpi.so.12")
        source = PROGRAM.replace("return MPI_Init(0, 0)", "MPI_Init(0, 0); return sleep(60)")
        program = self.cc(self.folder / "program", "int sleep(int);\n" + source,
                          str(self.foreign / "libmpi.so.12"), f"-Wl,-rpath,{self.foreign}")
        self.script("run", f"#!/bin/sh\n{program}\nexit 0\n")
        err = self.run_mpiexec("--timeout", 4, "-n", 2, "./run", code=124).stderr
        self.assertEqual(err.count("note: 2 ranks have loaded MPICH, Intel MPI or MVAPICH"), 1, err)

    def test_ranks_of_hearth_and_others_are_not_told(self):
        standard = python("import ctypes, sys, time", "ctypes.CDLL(sys.argv[1])", "time.sleep(3)")
        err = self.run_mpiexec("--oversubscribe", "-n", 2, *standard, self.lib / "libmpi_abi.so.1").stderr
        self.assertEqual(err, "")
        self.other("libmpi.so.12")
        alone = python("import ctypes, sys, time", "ctypes.CDLL(sys.argv[1])", "time.sleep(3)")
        self.assertEqual(self.run_mpiexec("-n", 1, *alone, self.foreign / "libmpi.so.12").stderr, "")

    def test_info_about_other_programs(self):
        self.assertEqual(self.info(RANK)["under_mpiexec_it_gets"], "Hearth, which it finds by itself")
        self.assertIn("needs no MPI library", self.info("sh")["built_for"])
        script = self.script("app.py", "#!/usr/bin/env python3\n")
        self.assertRegex(self.info(script)["kind"], "^script for .*/python3")
        tool = str(self.folder / "hearth" / "bin" / "hearth")
        lost = subprocess.run([tool, "info", "./no-such-program"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(lost.returncode, 1)
        self.assertIn("hearth: cannot examine './no-such-program': No such file", lost.stderr)
        text = subprocess.run([tool, "info", RANK], capture_output=True, text=True, check=True).stdout
        self.assertIn("the standard ABI of MPI 5 (libmpi_abi.so.1)", text)


def peer(name):
    """The folder of another library's wheel with its compiler wrapper, or None."""
    folder = Path(os.environ["HEARTH_CACHE"]) / "peers" / name
    complete = os.access(folder / "bin" / "mpicc", os.X_OK) and os.access(folder / "bin" / "python", os.X_OK)
    return folder if complete else None


class WithPeers(LaunchTest):
    """The libraries of this build, with programs that the wheels of MPICH and Open MPI have built, and with
    mpi4py's wheel: no variable is set, nothing is rebuilt."""

    def check(self, name, file):
        if not (BIN.parent / "lib" / file).exists():
            self.skipTest(f"{file} is not built")
        folder = peer(name)
        if folder is None:
            self.skipTest(f"no wheel of {name}: bench/compare --setup installs it")
        subprocess.run([folder / "bin" / "mpicc", HELLO, "-o", self.folder / "hello"], check=True)
        ranks = ["Hello from rank 0 of 2", "Hello from rank 1 of 2"]
        self.assertEqual(self.lines("-n", 2, "./hello"), ranks)
        self.assertEqual(self.lines("-n", 2, *shell("./hello; true")), ranks)
        code = "from mpi4py import MPI; c = MPI.COMM_WORLD; print(f'Hello from rank {c.rank} of {c.size}')"
        interpreter = folder / "bin" / "python"
        tried = subprocess.run([interpreter, "-c", "import mpi4py"], capture_output=True, check=False)
        if tried.returncode == 0:
            self.assertEqual(self.lines("-n", 2, interpreter, "-c", code), ranks)

    def test_mpich(self):
        self.check("mpich", "libmpi.so.12")

    def test_open_mpi(self):
        self.check("openmpi", "libmpi.so.40")


if __name__ == "__main__":
    unittest.main()
