#!/usr/bin/env python3
"""`make check-packages`: the wheel and the Debian package in bare systems: Debian's base system and
python3-venv, of this release and of an older one.

    check_roots.py --wheel FILE --deb FILE --cache FOLDER [--suite NAME]...

Each test unpacks a root that mmdebstrap made, and runs in a mount and process namespace of its own, so it
needs root. There is no compiler in these systems; programs are in Python, by ctypes."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITES = ("bookworm", "bullseye")  # Debian 12 and 11: glibc 2.36 and 2.31
# MPI_COMM_WORLD, MPI_INT and MPI_SUM are those of the standard ABI (MPI 5.0, appendix A.1).
RING = """
import ctypes
mpi = ctypes.CDLL("libmpi_abi.so.1")
world, rank, size = ctypes.c_void_p(0x101), ctypes.c_int(), ctypes.c_int()
total = ctypes.c_int()
assert mpi.MPI_Init(None, None) == 0
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
integer, plus = ctypes.c_void_p(0x209), ctypes.c_void_p(0x21)
assert mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, integer, plus, world) == 0
print("rank", rank.value, "of", size.value, "total", total.value, flush=True)
assert mpi.MPI_Finalize() == 0
"""
RANKS = [f"rank {rank} of 4 total 6" for rank in range(4)]
SHELL = """
set -eu
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/dev"
for name in null zero urandom random tty; do
  touch "$1/dev/$name"
  mount --bind "/dev/$name" "$1/dev/$name"
done
exec chroot "$1" /bin/sh -euc "$2"
"""


def make_root(cache, suite):
    """A tar archive of a minimal system; made once."""
    archive = cache / f"{suite}.tar"
    if not archive.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        print(f"check_roots: making {archive}", flush=True)
        new = str(cache / f"{suite}.new.tar")  # mmdebstrap chooses the format by the end of the name
        command = [
            "mmdebstrap",
            "--quiet",
            "--variant=apt",
            "--include=python3-venv",
            suite,
            new,
        ]
        subprocess.run(command, check=True)
        os.replace(new, archive)
    return archive


class Root:
    """An unpacked system; context manager."""

    def __init__(self, archive):
        self._folder = tempfile.TemporaryDirectory(prefix="hearth-root-")
        self.path = Path(self._folder.name)
        subprocess.run(["tar", "-C", self.path, "--exclude=./dev/*", "-xf", archive], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def run(self, script):
        """Runs a shell script in the system; its output."""
        command = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            SHELL,
            "sh",
            self.path,
            script,
        ]
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "HEARTH_PROFILE": "none",
        }
        result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(
                f"check_roots: ended with {result.returncode}: {script}\n{result.stdout}{result.stderr}"
            )
        return result.stdout

    def files(self):
        """Contents of the system, without files that any use of dpkg and Python changes."""
        changed = (
            "var/log/",
            "var/cache/",
            "var/lib/dpkg/",
            "tmp/",
            "root/",
            "dev/",
            "proc/",
            "etc/ld.so.cache",
        )
        names = (
            Path(folder, name).relative_to(self.path).as_posix()
            for folder, _, files in os.walk(self.path)
            for name in files
        )
        return {name for name in names if not name.startswith(changed) and "__pycache__" not in name}


def expect(condition, text):
    if not condition:
        sys.exit(f"check_roots: {text}")


def check_ranks(output):
    expect(sorted(output.splitlines()) == RANKS, f"unexpected output:\n{output}")


def check_wheel(root, wheel):
    shutil.copy(wheel, root.path / "tmp")
    (root.path / "tmp" / "ring.py").write_text(RING)
    start = time.monotonic()
    root.run(
        "cd /tmp; python3 -m venv v;"
        "v/bin/pip -q --disable-pip-version-check install --no-index hearth_mpi-*.whl"
    )
    installed = time.monotonic()
    table = root.run("cd /tmp; v/bin/hearth bench latency --max-bytes 1024 --time-ms 20")
    seconds = (time.monotonic() - installed, installed - start)
    expect("half round trip" in table, f"no table:\n{table}")
    # mpiexec's ranks find the library of the environment without a variable.
    check_ranks(root.run("cd /tmp; LD_LIBRARY_PATH=/tmp/v/lib v/bin/mpiexec -n 4 v/bin/python ring.py"))
    check_ranks(
        root.run("cd /tmp; LD_LIBRARY_PATH=/tmp/v/lib v/bin/python -m hearth_mpi -n 4 v/bin/python ring.py")
    )
    root.run("cd /tmp; v/bin/hearth doctor >/dev/null || true; v/bin/pip -q uninstall --yes hearth-mpi")
    # pip leaves empty folders.
    files = [path for path in (root.path / "tmp/v").rglob("*") if not path.is_dir()]
    left = [path for path in files if "hearth" in path.name or path.name.startswith(("libmpi", "mpi"))]
    expect(not left, f"pip uninstall left {left}")
    print(f"  wheel: environment and installation {seconds[1]:.1f} s, first table {seconds[0]:.1f} s")


def check_deb(root, deb):
    before = root.files()
    shutil.copy(deb, root.path / "tmp")
    (root.path / "tmp" / "ring.py").write_text(RING)
    root.run("dpkg -i /tmp/hearth-mpi_*.deb && ldconfig")
    check_ranks(root.run("mpiexec -n 4 python3 /tmp/ring.py"))
    expect("Hearth" in root.run("mpirun --version"), "mpirun is another one")
    expect("half round trip" in root.run("hearth bench latency --max-bytes 1024 --time-ms 20"), "no table")
    root.run("mpicc -show | grep -q /usr/lib/hearth/include")
    root.run("dpkg --purge hearth-mpi && ldconfig")
    left = root.files() - before
    expect(not left, f"dpkg --purge left {sorted(left)}")
    print("  deb: installed, used, purged")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--deb", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--suite", action="append")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("check_roots: namespaces and chroot need root")
        return 77
    for suite in options.suite or SUITES:
        print(suite, flush=True)
        archive = make_root(options.cache, suite)
        with Root(archive) as root:
            check_wheel(root, options.wheel)
        with Root(archive) as root:
            check_deb(root, options.deb)
    return 0


if __name__ == "__main__":
    sys.exit(main())
