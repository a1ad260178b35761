#!/usr/bin/env python3
"""Which programs use the shared heap (mpiexec --share-heap), and what remains after a rank is killed."""

import os
import subprocess
import unittest
from pathlib import Path

from common import LaunchTest, python, shell, wait_until

RANK = os.environ["HEARTH_RANK_PROGRAM"]
SHOW = shell("echo ${LD_PRELOAD:-nothing} ${HEARTH_SHARE_HEAP:-unset}")


def compiled(folder, name, source, *options):
    """The program, or None if it cannot be built here."""
    (folder / f"{name}.c").write_text(source)
    command = ["cc", *options, str(folder / f"{name}.c"), "-o", str(folder / name)]
    return str(folder / name) if subprocess.run(command, capture_output=True).returncode == 0 else None


class Heap(LaunchTest):
    def preloads(self, *options, env=None):
        return self.lines(*options, "-n", 1, *SHOW, env=env)[0]

    def test_asked_for_by_option_or_environment(self):
        self.assertEqual(self.preloads(), "nothing unset")
        self.assertRegex(self.preloads("--share-heap"), r"^/.*/lib/libhearth_heap\.so 1$")
        self.assertRegex(self.preloads(env={"HEARTH_SHARE_HEAP": "1"}), r"libhearth_heap\.so 1$")
        self.assertEqual(self.preloads("--no-share-heap", env={"HEARTH_SHARE_HEAP": "1"}), "nothing 1")
        # The last option takes precedence.
        self.assertIn("libhearth_heap", self.preloads("--no-share-heap", "--share-heap"))

    def test_unasked_it_is_for_programs_known_to_use_mpi(self):
        show = python("import os", "print(os.environ.get('LD_PRELOAD'), os.environ.get('HEARTH_SHARE_HEAP'))")
        self.assertRegex(self.lines("-n", 1, *show)[0], r"^/.*/lib/libhearth_heap\.so None$")
        self.assertEqual(self.lines("--no-share-heap", "-n", 1, *show), ["None None"])
        self.assertEqual(self.lines("-n", 1, *show, env={"HEARTH_SHARE_HEAP": "0"}), ["None 0"])
        self.assertEqual(self.lines("-n", 1, "env", *show), ["None None"])
        count = "grep -c libhearth_heap /proc/$PPID/maps; true"
        self.assertRegex(self.lines("-n", 1, RANK, "run", count)[0], "^[1-9]")
        self.assertEqual(self.lines("--no-share-heap", "-n", 1, RANK, "run", count), ["0"])

    def test_what_the_user_preloads_stays_in_force(self):
        found = self.preloads("--share-heap", env={"LD_PRELOAD": "libm.so.6 libdl.so.2"})
        self.assertRegex(found, r"^libm\.so\.6:libdl\.so\.2:/.*/libhearth_heap\.so 1$")

    def test_a_program_without_mpi_touches_no_window(self):
        code = python("data = bytearray(1 << 20)", "print('hearth arena' in open('/proc/self/maps').read())")
        self.assertEqual(self.lines("--share-heap", "-n", 2, *code), ["False", "False"])

    def test_behind_a_script(self):
        self.script("wrapper", '#!/bin/sh\nexec "$@"\n')
        self.run_mpiexec("--share-heap", "-n", 2, "./wrapper", RANK)

    def test_programs_with_a_malloc_of_their_own(self):
        source = "#include <stdlib.h>\nint main(void) { free(malloc(100000)); return 0; }\n"
        for name, options, reason in (
            ("static", ["-static"], "linked statically"),
            ("address", ["-fsanitize=address"], "libasan"),
            ("thread", ["-fsanitize=thread"], "libtsan"),
        ):
            with self.subTest(name):
                program = compiled(self.folder, name, source, *options)
                if program is None:
                    self.skipTest(f"cc {options[0]} builds nothing here")
                told = self.run_mpiexec("--share-heap", "-n", 1, program).stderr
                self.assertRegex(told, f"note: the heap of '.*' is not shared: .*{reason}")
                # Without the option itself, no note is printed.
                quiet = self.run_mpiexec("-n", 1, program, env={"HEARTH_SHARE_HEAP": "1"}).stderr
                self.assertEqual(quiet, "")

    def test_a_killed_rank_leaves_nothing(self):
        result = self.run_mpiexec(
            "--share-heap",
            "-n",
            3,
            *shell(f"echo $HEARTH_ARENA; exec {RANK} crash 9"),
            code=137,
        )
        inode = result.stdout.split()[0].split(":")[1]
        self.assertTrue(wait_until(lambda: not self.holders(inode)), self.holders(inode))

    @staticmethod
    def holders(inode):
        """Processes that have the file open or mapped."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                mapped = f" {inode} /memfd:hearth arena" in (folder / "maps").read_text()
                opened = any(
                    os.stat(f).st_ino == int(inode) and "memfd" in os.readlink(f)
                    for f in (folder / "fd").iterdir()
                )
            except OSError:
                continue  # has ended, or belongs to another user
            if mapped or opened:
                found.append(folder.name)
        return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
