#!/usr/bin/env python3
"""Packs an installation into a wheel: scripts/wheel.py PREFIX FOLDER writes FOLDER/hearth_mpi-...whl.

Everything that is installed goes into the environment's bin, include, lib, libexec and share; the module
hearth_mpi comes from python/. A wheel cannot hold links: a linked library becomes a linker script, a linked
program a script that executes it. The platform tag is the newest glibc that a file needs, at least 2.28."""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "hearth_mpi"
DATE = (1980, 1, 1, 0, 0, 0)  # the same contents give the same wheel
METADATA = """\
Metadata-Version: 2.1
Name: hearth-mpi
Version: {version}
Summary: Hearth MPI: an MPI 5.0 library, optimised for a single node
License-File: LICENSE
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{description}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: scripts/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"


# By e_machine of the ELF header.
MACHINES = {62: "x86_64", 183: "aarch64"}


def is_elf(contents):
    return contents.startswith(b"\x7fELF")


def machine_of(contents):
    return MACHINES[int.from_bytes(contents[18:20], "little")]


def stripped(path):
    """An ELF file without debugging information. The library that programs call keeps its symbols, which
    `mpiexec --why` prints."""
    kind = "--strip-debug" if path.name.startswith("libmpi_abi") else "--strip-all"
    machine = machine_of(path.read_bytes()[:20])
    strip = "strip" if machine == platform.machine() else f"{machine}-linux-gnu-strip"
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run([strip, kind, "-o", copy.name, str(path)], check=True)
        return Path(copy.name).read_bytes()


def replacement_of(link):
    """The contents of the file that replaces a link."""
    target = link.resolve(strict=True)
    contents = target.read_bytes()
    if not is_elf(contents):
        return contents
    if link.parent.name == "bin":
        # A link gives the program its name; a script has to pass an option (tools/one_program.cpp).
        option = "--as-hearth " if link.name == "hearth" else ""
        return f'#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/{target.name}" {option}"$@"\n'.encode()
    if link.suffix == ".so":
        return f"INPUT({target.name})\n".encode()
    return stripped(target)


def installed_files(prefix):
    """(path below the prefix, contents, is executable) of all files."""
    for path in sorted(prefix.rglob("*")):
        if path.is_dir():
            continue
        if path.is_symlink():
            contents = replacement_of(path)
        else:
            contents = path.read_bytes()
            if is_elf(contents):
                contents = stripped(path)
        yield path.relative_to(prefix).as_posix(), contents, os.access(path, os.X_OK)


def platform_of(prefix):
    """manylinux_2_N_x86_64: N by the symbols that the files need."""
    newest, machine = (2, 28), None
    for path in sorted(prefix.rglob("*")):
        if path.is_symlink() or not path.is_file() or not is_elf(path.read_bytes()[:4]):
            continue
        command = ["readelf", "-VW", str(path)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        machine = machine_of(path.read_bytes()[:20])
        needed = [tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", text)]
        newest = max([newest, *needed])
    if machine is None:
        sys.exit(f"wheel: no program or library in {prefix}. Remedy: `make` first")
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def version_of(prefix):
    text = next(prefix.glob("lib*/**/hearth.pc")).read_text()
    return re.search(r"^Version: (.*)$", text, re.MULTILINE).group(1)


def licences():
    """(name, licence text) of the parts of other projects; prints a note for each text that is missing."""
    lines = (ROOT / "packaging" / "included.txt").read_text(encoding="utf-8").splitlines()
    for name, package in (line.split() for line in lines if not line.startswith("#")):
        text = Path("/usr/share/doc", package, "copyright")
        if not text.is_file():
            print(f"wheel: note: {text} is missing: add {name}'s licence before publishing", file=sys.stderr)
        else:
            yield name, text.read_bytes()


class Archive:
    """A wheel that is being written, with its record."""

    def __init__(self, path, version):
        self.information = f"{NAME}-{version}.dist-info"
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.rows = []

    def add(self, name, contents, executable=False):
        entry = zipfile.ZipInfo(name, DATE)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.file.writestr(entry, contents)
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode().rstrip("=")
        self.rows.append(f"{name},sha256={digest},{len(contents)}")

    def close(self):
        record = f"{self.information}/RECORD"
        self.rows.append(f"{record},,")
        rows = "\n".join(self.rows) + "\n"
        self.file.writestr(zipfile.ZipInfo(record, DATE), rows)
        self.file.close()


def make_wheel(prefix, folder):
    version = version_of(prefix)
    tag = f"py3-none-{platform_of(prefix)}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}-{version}-{tag}.whl"
    unfinished = path.with_suffix(".new")
    archive = Archive(unfinished, version)
    for module in sorted((ROOT / "python" / NAME).glob("*.py")):
        archive.add(f"{NAME}/{module.name}", module.read_bytes())
    bytes_installed = 0
    for name, contents, executable in installed_files(prefix):
        archive.add(f"{NAME}-{version}.data/data/{name}", contents, executable)
        bytes_installed += len(contents)
    description = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    texts = {
        "METADATA": METADATA.format(version=version, description=description),
        "WHEEL": WHEEL.format(tag=tag),
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        archive.add(f"{archive.information}/{name}", text.encode())
    for name, text in licences():
        archive.add(f"{archive.information}/licenses/{name}.txt", text)
    archive.close()
    os.replace(unfinished, path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, installed {bytes_installed / 1e6:.1f} MB")
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make_wheel(Path(sys.argv[1]), Path(sys.argv[2]))
