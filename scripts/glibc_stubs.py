#!/usr/bin/env python3
"""Makes a folder that programs are linked against to run with glibc 2.28 and later:
scripts/glibc_stubs.py MACHINE FOLDER, in a Python with the package ziglang.

Zig carries the symbol lists and start files of every glibc. Linking an empty program with it leaves them in
its cache: shared libraries without code, Scrt1.o and libc_nonshared.a. GCC uses them by -B FOLDER. The rest
of the compiler, its C++ library included, stays the system's; src/base/os_newer_glibc.c has the functions of
newer glibc versions that the C++ library calls (cmake/oldest_glibc.cmake adds it)."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

GLIBC = "2.28"
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
# glibc 2.34 merged these libraries into libc.so.6.
MERGED = {"pthread": "libpthread.so.0", "dl": "libdl.so.2", "rt": "librt.so.1", "util": "libutil.so.1"}

# Variables of libc.so.6 with two names: {weak name: strong name}. Zig gives each name its own address. A
# program that copies the variable would then copy only the name that it refers to, and the C library would
# write to the other: both names need the same address in the symbol table.
ALIASES = {
    b"environ": b"__environ",
    b"_environ": b"__environ",
    b"program_invocation_name": b"__progname_full",
    b"program_invocation_short_name": b"__progname",
    b"tzname": b"__tzname",
    b"daylight": b"__daylight",
    b"timezone": b"__timezone",
}
SYMBOL = struct.Struct("<IBBHQQ")  # name, binding and type, visibility, section, value, bytes
WEAK_OBJECT = 2 << 4 | 1


def join_aliases(library):
    """Gives both names of each variable one address, in the file's table of dynamic symbols."""
    contents = bytearray(library.read_bytes())
    sections_at = struct.unpack_from("<Q", contents, 40)[0]
    entry_bytes, count = struct.unpack_from("<HH", contents, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", contents, sections_at + i * entry_bytes) for i in range(count)
    ]
    table = next(section for section in sections if section[1] == 11)  # SHT_DYNSYM
    names_at = sections[table[6]][4]
    found = {}
    for at in range(table[4], table[4] + table[5], SYMBOL.size):
        symbol = SYMBOL.unpack_from(contents, at)
        start = names_at + symbol[0]
        found[bytes(contents[start : contents.index(0, start)])] = (at, symbol)
    for weak, strong in ALIASES.items():
        at, (name, _, visibility, _, _, _) = found[weak]
        _, (_, _, _, section, value, size) = found[strong]
        SYMBOL.pack_into(contents, at, name, WEAK_OBJECT, visibility, section, value, size)
    library.write_bytes(contents)


def linked_files(machine, folder):
    """Links an empty program with Zig; the paths of libc.so.6, Scrt1.o, libc_nonshared.a in Zig's cache."""
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        f"{machine}-linux-gnu.{GLIBC}",
        "-pie",
        source,
        "-o",
        folder / "empty",
    ]
    variables = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(
            f"glibc_stubs: Zig could not link for {machine}:\n{result.stderr}"
            "Remedy: scripts/setup.sh wheel installs the version of ziglang that this was written for"
        )
    found = []
    for name in ("libc.so.6", "Scrt1.o", "libc_nonshared.a"):
        paths = list(folder.rglob(name))
        if len(paths) != 1:
            sys.exit(
                f"glibc_stubs: Zig's cache has {len(paths)} files {name}, expected 1. Likely cause: a "
                "version of ziglang with another layout. Remedy: scripts/setup.sh wheel installs the right "
                "one"
            )
        found.append(paths[0])
    return found


def make_stubs(machine, target):
    with tempfile.TemporaryDirectory(prefix="hearth-stubs-") as name:
        libc, start, nonshared = linked_files(machine, Path(name))
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for library in libc.parent.glob("lib*.so.*"):
            renamed = LOADERS[machine] if library.name.startswith("libld.so") else library.name
            shutil.copy(library, target / renamed)
        join_aliases(target / "libc.so.6")
        for file in (start, nonshared):
            shutil.copy(file, target)
    as_needed = " ".join([*MERGED.values(), LOADERS[machine]])
    script = f"GROUP ( libc.so.6 libc_nonshared.a libnewer_glibc.a AS_NEEDED ( {as_needed} ) )\n"
    for name, library in MERGED.items():
        (target / f"lib{name}.so").write_text(f"INPUT ( AS_NEEDED ( {library} ) )\n")
    (target / "libm.so").write_text("INPUT ( AS_NEEDED ( libm.so.6 ) )\n")
    (target / "libc.so").write_text(script)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in LOADERS:
        sys.exit(__doc__)
    make_stubs(sys.argv[1], Path(sys.argv[2]))
