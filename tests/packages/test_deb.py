#!/usr/bin/env python3
"""The Debian package of this build: contents, installation below a folder, use, removal."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HEARTH_BUILD"])
HELLO = Path(__file__).resolve().parents[2] / "examples/hello.c"
# dpkg's own records and logs.
RECORDS = ("var/lib/dpkg", "var/log", "var/cache", "etc/alternatives", "var/lib/dpkg/alternatives")


def run(*command, **options):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    if result.returncode != 0:
        raise AssertionError(
            f"{command[0]} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
        )
    return result.stdout


def files_in(root):
    """All but folders and dpkg's records."""
    names = (
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
    return {name for name in names if not name.startswith(RECORDS)}


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="hearth-deb-")
        cls.folder = Path(cls._folder.name)
        run(
            os.environ["HEARTH_CPACK"],
            "-B",
            cls.folder,
            "--config",
            BUILD / "CPackConfig.cmake",
            cwd=cls.folder,
        )
        cls.deb = next(cls.folder.glob("hearth-mpi_*.deb"))
        cls.triplet = (
            run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
            if shutil.which("dpkg-architecture")
            else run("gcc", "-print-multiarch").strip()
        )

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def field(self, name):
        return run("dpkg-deb", "--field", self.deb, name).strip()

    def dpkg(self, root, *arguments):
        # The package's dependencies are not in this root; update-alternatives and sh come from the host.
        return run(
            "dpkg",
            f"--root={root}",
            "--force-not-root,script-chrootless,depends,bad-path",
            *arguments,
            env={**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        )

    def installed(self):
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        for folder in (
            "var/lib/dpkg/info",
            "var/lib/dpkg/updates",
            "var/lib/dpkg/alternatives",
            "var/log",
            "etc/alternatives",
        ):
            (root / folder).mkdir(parents=True)
        for file in ("status", "available"):
            (root / "var/lib/dpkg" / file).touch()
        self.dpkg(root, "--install", self.deb)
        return root

    def test_description(self):
        self.assertEqual(self.field("Package"), "hearth-mpi")
        self.assertRegex(self.field("Depends"), r"^libc6 \(>= 2\.\d+\)$")
        self.assertRegex(self.field("Description"), r"^MPI 5\.0 library .*\n Launcher, .*\n Hearth MPI\. ")
        self.assertEqual(self.field("Architecture"), run("dpkg", "--print-architecture").strip())

    def test_contents(self):
        lines = [line.split(None, 5) for line in run("dpkg-deb", "--contents", self.deb).splitlines()]
        names = {line[5].split(" -> ")[0] for line in lines}
        for name in ("bin/mpiexec", "bin/mpicc", "bin/hearth", "lib/libmpi_abi.so.1", "include/mpi.h"):
            self.assertIn(f"./usr/lib/hearth/{name}", names)
        for name in (
            "bin/mpiexec.hearth",
            "bin/hearth",
            "share/man/man1/mpiexec.hearth.1.gz",
            "share/man/man1/hearth.1.gz",
            "share/doc/hearth-mpi/copyright",
            "share/doc/hearth-mpi/changelog.gz",
            "share/doc/hearth-mpi/licenses/fmt",
        ):
            self.assertIn(f"./usr/{name}", names)
        # Names that other MPI libraries' packages have belong to update-alternatives alone.
        for name in ("bin/mpiexec", "bin/mpirun", "bin/mpicc", "include/mpi.h"):
            self.assertNotIn(f"./usr/{name}", names)
        self.assertEqual({line[1] for line in lines}, {"root/root"})

    def test_use_and_removal(self):
        root = self.installed()
        bin_folder = root / "usr/lib/hearth/bin"
        alternatives = {
            "usr/bin/mpiexec": "/usr/bin/mpiexec.hearth",
            "usr/bin/mpirun": "/usr/bin/mpirun.hearth",
            "usr/bin/mpicc": "/usr/bin/mpicc.hearth",
            "usr/bin/mpic++": "/usr/bin/mpicxx.hearth",
            f"usr/include/{self.triplet}/mpi": "/usr/lib/hearth/include",
            f"usr/lib/{self.triplet}/libmpi_abi.so.1": "/usr/lib/hearth/lib/libmpi_abi.so.1",
        }
        for link, target in alternatives.items():
            alternative = os.readlink(root / link)
            self.assertTrue(alternative.startswith("/etc/alternatives/"), alternative)
            self.assertEqual(os.readlink(root / alternative[1:]), target, link)
            self.assertTrue((root / target[1:]).exists(), target)
        run(root / "usr/bin/mpicc.hearth", HELLO, "-o", self.folder / "hello")
        ranks = run(root / "usr/bin/mpiexec.hearth", "-n", "2", self.folder / "hello")
        self.assertEqual(ranks, "Hello from rank 0 of 2\nHello from rank 1 of 2\n")
        self.assertIn("parameters", run(root / "usr/bin/hearth", "info"))
        # An update keeps the alternatives; removal leaves nothing.
        self.dpkg(root, "--install", self.deb)
        self.assertTrue((root / "usr/bin/mpiexec").is_symlink())
        self.assertTrue(bin_folder.is_dir())
        self.dpkg(root, "--purge", "hearth-mpi")
        self.assertEqual(files_in(root), set())
        self.assertEqual(list((root / "etc/alternatives").iterdir()), [])
        self.assertEqual(list((root / "var/lib/dpkg/alternatives").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
