#!/usr/bin/env python3
"""Checks the versions of glibc symbols that the installed binaries need. A symbol newer than GLIBC_2.28 (RHEL
8) is allowed if an older glibc has it as well, so that a build there takes the older version, or if ALLOWED
gives the reason.

    glibc_symbols.py BINARY...
"""

import re
import subprocess
import sys
from pathlib import Path

OLDEST = (2, 28)

# Symbols that glibc 2.28 has in no version. A build there does not refer to them.
INLINE_BEFORE = "before 2.33 the header defined it inline over __xstat"
ALLOWED = {
    "stat": INLINE_BEFORE, "fstat": INLINE_BEFORE, "lstat": INLINE_BEFORE,
    "stat64": INLINE_BEFORE, "fstat64": INLINE_BEFORE, "lstat64": INLINE_BEFORE, "fstatat": INLINE_BEFORE,
    "__libc_single_threaded": "libstdc++ refers to it only if the glibc that it is built against has it",
    "_dl_find_object": "libgcc's unwinder, built for this system's glibc; an older one iterates over objects",
}


def symbols_of(file):
    """[(name, section, version as a pair of numbers)] of glibc symbols; *UND* marks a reference."""
    text = subprocess.run(["objdump", "-T", str(file)], check=True, capture_output=True, text=True).stdout
    return [(name, defined, (int(major), int(minor)))
            for defined, major, minor, name in re.findall(
                r"^[0-9a-f]+ .{7} (\S+)\s+[0-9a-f]+\s+\(?GLIBC_(\d+)\.(\d+)[\d.]*\)?\s+(?:\.\w+ )?(\S+)$",
                text, re.MULTILINE)]


def names_of_old_glibc(binary):
    """Symbols that this system's glibc also has in a version up to OLDEST."""
    text = subprocess.run(["ldd", str(binary)], check=True, capture_output=True, text=True).stdout
    libraries = re.findall(r"=> (\S+/lib(?:c|m|dl|pthread|rt)\.so\.\d+)", text)
    if not any("libc.so" in Path(library).name for library in libraries):
        sys.exit(f"{binary} does not load the C library")
    return {name for library in libraries for name, defined, version in symbols_of(library)
            if defined != "*UND*" and version <= OLDEST}


def main():
    problems, needed = [], (0, 0)
    for binary in sys.argv[1:]:
        found = [(name, version) for name, defined, version in symbols_of(binary) if defined == "*UND*"]
        if not found:
            problems.append(f"{binary}: no symbol of glibc")
        old = names_of_old_glibc(binary)
        for name, version in found:
            needed = max(needed, version)
            if version > OLDEST and name not in old and name not in ALLOWED:
                problems.append(f"{Path(binary).name}: {name} is new in GLIBC_{version[0]}.{version[1]}. "
                                "Remedy: avoid it, or add it to ALLOWED with the reason why a build with an "
                                "older glibc does without")
    for problem in problems:
        print(problem)
    print(f"{len(sys.argv) - 1} binaries, built here, need glibc {needed[0]}.{needed[1]}; "
          f"{len(problems)} problems")
    sys.exit(1 if problems or len(sys.argv) < 2 else 0)


if __name__ == "__main__":
    main()
