#!/usr/bin/env python3
"""mpicc, mpicxx, pkg-config, and CMake's FindMPI and find_package(hearth), in the build tree and in a moved
installation."""

import os
import shutil
import sys
import unittest
from pathlib import Path

from common import BIN
from wrapper_test import BUILD, WrapperTest

SOURCES = Path(__file__).parent / "find_mpi"


class Wrappers(WrapperTest):
    def test_compile_link_and_run(self):
        for wrapper, source in (
            ("mpicc", "hello.c"),
            ("mpicc_abi", "hello.c"),
            ("mpicxx", "hello.cpp"),
            ("mpicxx_abi", "hello.cpp"),
            ("mpic++", "hello.cpp"),
            ("mpiCC", "hello.cpp"),
        ):
            out = self.run_tool(BIN / wrapper, "-Wall", "-Wextra", "-Werror", SOURCES / source, "-o", wrapper)
            self.assertEqual(out, "")
            self.hello(f"./{wrapper}")

    def test_in_steps(self):
        self.run_tool(BIN / "mpicc", "-c", SOURCES / "hello.c")
        self.run_tool(BIN / "mpicc", "hello.o", "-o", "hello")
        self.hello("./hello")
        self.assertIn("MPI_Init", self.run_tool(BIN / "mpicc", "-E", SOURCES / "hello.c"))

    def test_moved_installation_with_a_blank_in_its_path(self):
        prefix = self.installation("moved here")
        self.run_tool(prefix / "bin/mpicc", SOURCES / "hello.c", "-o", "a program")
        self.hello("./a program")
        self.assertIn(str(prefix / "lib"), self.run_tool("ldd", "a program"))

    def test_called_through_a_link_from_elsewhere(self):
        (self.folder / "mpicc").symlink_to(BIN / "mpicc")
        self.assertEqual(self.run_tool("./mpicc", "-showme:libdirs"), f"{BUILD}/lib\n")

    def test_an_installation_of_links_refers_to_the_links(self):
        shutil.copytree(
            self.installation("cache"), self.folder / "links", copy_function=os.symlink, symlinks=True
        )
        self.assertEqual(self.run_tool("links/bin/mpicc", "-showme:libdirs"), f"{self.folder}/links/lib\n")

    def test_questions(self):
        prefix = self.installation("asked")
        mpicc = prefix / "bin/mpicc"
        include, library = f"-I{prefix}/include", f"-L{prefix}/lib -Wl,-rpath,{prefix}/lib"
        self.assertEqual(self.run_tool(mpicc, "-showme:compile"), f"{include}\n")
        self.assertTrue(self.run_tool(mpicc, "-showme:link").startswith(library))
        self.assertTrue(self.run_tool(mpicc, "-showme:link").endswith("-lmpi_abi\n"))
        self.assertEqual(self.run_tool(mpicc, "-showme:incdirs"), f"{prefix}/include\n")
        self.assertEqual(self.run_tool(mpicc, "-showme:libs"), "mpi_abi\n")
        self.assertIn("Hearth MPI", self.run_tool(mpicc, "--showme:version"))
        shown = self.run_tool(mpicc, "-show", "-O2", "x.c")
        self.assertTrue(shown.startswith(f"cc {include} -O2 x.c {library}"), shown)
        self.assertEqual(self.run_tool(mpicc, "-showme", "-c", "x.c"), f"cc {include} -c x.c\n")
        self.assertEqual(self.run_tool(mpicc, "-compile_info"), f"cc {include} -c\n")
        self.assertTrue(self.run_tool(mpicc, "-link_info").startswith(f"cc {library}"))
        self.assertIn("unknown option", self.run_tool(mpicc, "-showme:nonsense", code=2))
        self.run_tool(mpicc, code=1)

    def test_nothing_is_linked_without_a_file(self):
        for option in ("--version", "-v", "-dumpversion"):
            self.run_tool(BIN / "mpicc", option)

    def test_other_compilers(self):
        self.assertTrue(self.run_tool(BIN / "mpicc", "-cc=my-cc", "-show", "x.c").startswith("my-cc -I"))
        self.assertTrue(self.run_tool(BIN / "mpicxx", "-cxx=my-cxx", "-show", "x.cc").startswith("my-cxx -I"))
        for name in ("HEARTH_CC", "OMPI_CC", "MPICH_CC"):
            self.assertEqual(
                self.run_tool(BIN / "mpicc", "-showme:command", env={name: "env cc"}), "env cc\n"
            )
        self.run_tool(BIN / "mpicc", SOURCES / "hello.c", "-o", "hello", env={"HEARTH_CC": "env cc"})
        self.hello("./hello")

    def test_arguments_keep_their_blanks(self):
        source = self.folder / "two words.c"
        source.write_text("#include <mpi.h>\n#include <stdio.h>\nint main(void) { puts(TEXT); }\n")
        self.run_tool(BIN / "mpicc", '-DTEXT="a  *"', source, "-o", "text")
        self.assertEqual(self.run_tool("./text"), "a  *\n")

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config here")
        prefix = self.installation("moved")
        env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
        flags = self.run_tool("pkg-config", "--cflags", "--libs", "hearth", env=env).split()
        self.run_tool("cc", SOURCES / "hello.c", *flags, "-o", "hello")
        self.hello("./hello")

    def test_cmake_finds_it(self):
        if shutil.which("cmake") is None:
            self.skipTest("no cmake here")
        env = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        out = self.run_tool("cmake", "-S", SOURCES, "-B", "build", env=env)
        self.assertIn(f"found: 5.0 5.0 {BIN}/mpiexec", out)
        self.run_tool("cmake", "--build", "build")
        for program in ("hello_c", "hello_cxx"):
            self.hello(f"build/{program}")

    def test_cmake_finds_the_package(self):
        if shutil.which("cmake") is None:
            self.skipTest("no cmake here")
        prefix = self.installation("moved here")
        source = SOURCES.with_name("find_hearth")
        out = self.run_tool("cmake", "-S", source, "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        self.assertIn(f"found: 0.1.0 {prefix}/bin/mpiexec", out)
        self.run_tool("cmake", "--build", "build")
        self.hello("build/hello")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
