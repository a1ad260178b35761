#!/usr/bin/env python3
"""Builds HPCC (Linpack, PTRANS, RandomAccess, FFT, latency, bandwidth), runs it, and checks its own results.

    hpcc.py --folder DIR --mpicc WRAPPER --mpiexec M -n N [-n N ...]     one library: passes or fails
    hpcc.py --folder DIR --compare mpich,openmpi -n N [--rounds R]       total run times side by side

DIR is the folder that `scripts/setup.sh hpcc` fills. Without its files the exit code is 77: skipped.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SKIPPED = 77

# Small sizes, so that a run takes about a second. The process grid is as close to square as possible.
INPUT = """HPLinpack benchmark input file

HPL.out      output file name
8            device out: a file
1            number of problem sizes
{order}      Ns
1            number of block sizes
{block}      NBs
0            process mapping: by rows
1            number of process grids
{rows}       Ps
{columns}    Qs
16.0         threshold
1            number of panel factorizations
2            right
1            number of stopping criteria
4            NBMINs
1            number of panels in recursion
2            NDIVs
1            number of recursive factorizations
1            Crout
1            number of broadcasts
1            one ring, modified
1            number of lookahead depths
1            DEPTHs
2            swap: mixed
64           swapping threshold
0            L1 transposed
0            U transposed
1            equilibration
8            memory alignment in double
--- separator ---
1            additional problem sizes for PTRANS
{transposed} values of N
1            additional block sizes for PTRANS
16           values of NB
"""

MAKE = """SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
F2CDEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) {blas} -lm -lpthread
HPL_DEFS = $(F2CDEFS) $(HPL_INCLUDES)
CC = {mpicc}
CCNOOPT = $(HPL_DEFS) -w
CCFLAGS = $(HPL_DEFS) -O2 -w
LINKER = $(CC)
LINKFLAGS =
ARCHIVER = ar
ARFLAGS = rc
RANLIB = ranlib
"""

# HPCC is older than MPI 3.0, which removed these two (MPI 5.0 section 18.1). Hearth's mpi.h still has them;
# the headers of other libraries do not.
RENAMED = {r"\bMPI_Address\b": "MPI_Get_address", r"\bMPI_Type_struct\b": "MPI_Type_create_struct"}

# RandomAccess with more than four ranks keeps four receives posted, and stops receiving when each rank has
# said that it has finished, although one of the other receives may hold an update that arrived before. The
# updates that it drops so are errors in its tables, with any library. The patch takes what has arrived.
LAST_RECEIVES = re.compile(r"while \(NumberReceiving > 0\) \{\n(#ifdef USE_MULTIPLE_RECV\n)"
                           r" *MPI_Waitany\(NumRecvs, inreq, &index, &status\);")
ALL_RECEIVES = r"""for (;;) {
\1    have_done = 1;
    if (NumberReceiving > 0) MPI_Waitany(NumRecvs, inreq, &index, &status);
    else MPI_Testany(NumRecvs, inreq, &index, &have_done, &status);
    if (!have_done) break;"""

SECTIONS = ["MPIRandomAccess", "StarRandomAccess", "MPIRandomAccess_LCG", "StarRandomAccess_LCG", "PTRANS",
            "StarDGEMM", "StarSTREAM", "MPIFFT", "StarFFT", "LatencyBandwidth", "HPL"]


class Failed(Exception):
    pass


def build(folder, mpicc, work, environment=None, renamed=()):
    """Builds the program in its own folder below `work`."""
    with tarfile.open(next(folder.glob("hpcc_*.orig.tar.*"))) as archive:
        archive.extractall(work)
    source = next(work.glob("hpcc-*"))
    for path in source.rglob("*.[ch]"):
        text = old = path.read_text(encoding="latin-1")
        for pattern, name in renamed:
            text = re.sub(pattern, name, text)
        if text != old:
            path.write_text(text, encoding="latin-1")
    patched = 0
    for path in source.glob("RandomAccess/*.c"):
        text, count = LAST_RECEIVES.subn(ALL_RECEIVES, path.read_text(encoding="latin-1"))
        path.write_text(text, encoding="latin-1")
        patched += count
    if patched == 0:
        raise Failed("the last receives of RandomAccess are not where they were in HPCC 1.5.0")
    make = MAKE.replace("{blas}", str(folder / "libopenblas.a")).replace("{mpicc}", str(mpicc))
    (source / "hpl" / "Make.Test").write_text(make)
    result = subprocess.run(["make", f"-j{os.cpu_count()}", "arch=Test"], cwd=source, env=environment,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    if result.returncode != 0:
        raise Failed(f"HPCC does not build with {mpicc}:\n{result.stdout[-4000:]}")
    return source / "hpcc"


def run(launch, program, ranks, work, timeout_s, order, environment=None):
    """Runs the program and checks its results; returns the seconds that the run took."""
    folder = Path(tempfile.mkdtemp(dir=work))
    rows = max(r for r in range(1, int(ranks**0.5) + 1) if ranks % r == 0)
    (folder / "hpccinf.txt").write_text(INPUT.format(order=order, block=32, rows=rows, columns=ranks // rows,
                                                     transposed=order // 2 + 100))
    begin = time.monotonic()
    try:
        result = subprocess.run([*launch, "-n", str(ranks), str(program)], cwd=folder, env=environment,
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"no end within {timeout_s} s") from late
    seconds = time.monotonic() - begin
    if result.returncode != 0:
        raise Failed(f"exit code {result.returncode}:\n{result.stdout[-4000:]}")
    complaints = verdicts((folder / "hpccoutf.txt").read_text(errors="replace"), ranks)
    if complaints:
        raise Failed("; ".join(complaints))
    return seconds


def verdicts(text, ranks):
    """Results that HPCC's output lacks or reports as failed."""
    found = []
    for name in SECTIONS:
        if f"End of {name} section." not in text:
            found.append(f"{name} did not end")
    summary = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    if summary.get("Success") != "1" or summary.get("CommWorldProcs") != str(ranks):
        found.append("no success in the summary")
    # Linpack solves one system. RandomAccess checks its tables four times, on all ranks together and on each
    # rank alone. The two checks that run on one random rank print a result on rank 0 only.
    if not re.search(r"1 tests completed and passed residual checks,", text):
        found.append("Linpack's residual")
    if text.count("Found 0 errors") < 4 or re.search(r"^Found [1-9]", text, re.MULTILINE):
        found.append("RandomAccess found errors")
    if re.search(r"^Node\(s\) with error [1-9]", text, re.MULTILINE):
        found.append("a rank found errors")
    if re.search(r"\.\.\. FAILED| FAILED |^ *[1-9]\d* tests completed and failed", text, re.MULTILINE):
        found.append("a residual is too large")
    if not re.search(r"[1-9]\d* tests completed and passed residual checks\.", text):
        found.append("PTRANS checked nothing")
    if not float(summary.get("MPIFFT_maxErr", "inf")) < 1e-10:
        found.append("FFT is not exact")
    return found


def compare(options, work):
    """Runs all libraries by turns in each round; prints medians and Hearth's ratio to each."""
    sys.path.insert(0, str(ROOT / "bench"))
    from comparing import peers  # pylint: disable=import-outside-toplevel

    cache = ROOT / ".cache"
    names = options.compare.split(",")
    libraries = [peers.hearth(options.hearth, cache), *(peers.install(name, cache) for name in names)]
    programs = {}
    for library in libraries:
        place = work / library.name
        place.mkdir(exist_ok=True)
        built = list(place.glob("hpcc-*/hpcc"))
        if not built:
            built = [build(options.folder, library.root / "bin" / "mpicc", place, library.environment,
                           RENAMED.items())]
        programs[library.name] = built[0]
    for ranks in options.ranks:
        seconds = {library.name: [] for library in libraries}
        failed = {}
        for turn in range(options.rounds):
            for library in libraries if turn % 2 == 0 else libraries[::-1]:
                if library.name in failed:
                    continue
                try:
                    seconds[library.name].append(run(library.launcher(ranks), programs[library.name],
                                                     ranks, work,
                                                     options.timeout, options.order, library.environment))
                except Failed as problem:
                    failed[library.name] = str(problem)
        report(ranks, libraries, seconds, failed)


def report(ranks, libraries, seconds, failed):
    for library in libraries:
        line = f"{ranks} ranks, {library.title}: "
        if library.name in failed:
            line += failed[library.name]
        else:
            times = seconds[library.name]
            middle = statistics.median(times)
            line += f"median {middle:.2f} s, from {min(times):.2f} to {max(times):.2f}"
            if seconds["hearth"]:
                line += f", Hearth takes {statistics.median(seconds['hearth']) / middle:.2f} of it"
        print(line, flush=True)


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--mpicc")
    parser.add_argument("--mpiexec")
    parser.add_argument("--launcher", help="words of another launcher than ours, without the number of ranks")
    parser.add_argument("-n", dest="ranks", type=int, action="append", required=True)
    parser.add_argument("--order", type=int, default=400, help="of Linpack's matrix; the other sizes follow")
    parser.add_argument("--timeout", type=float, default=100.0, help="seconds for each run")
    parser.add_argument("--compare", metavar="NAMES", help="other libraries, by name")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="build here, and use again what is here")
    parser.add_argument("--hearth", type=Path, default=ROOT / "build" / "install")
    options = parser.parse_args()
    options.folder = options.folder.resolve()

    if not list(options.folder.glob("hpcc_*.orig.tar.*")) or not (options.folder / "libopenblas.a").exists():
        print(f"skipped: no source archive of HPCC or no BLAS in {options.folder} (scripts/setup.sh hpcc)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as place:
        work = options.keep.resolve() if options.keep else Path(place)
        work.mkdir(parents=True, exist_ok=True)
        if options.compare:
            compare(options, work)
            return 0
        try:
            program = build(options.folder, options.mpicc, work)
            for ranks in options.ranks:
                launch = shlex.split(options.launcher or options.mpiexec + " --oversubscribe")
                seconds = run(launch, program, ranks, work, options.timeout, options.order)
                print(f"HPCC at {ranks} ranks: all its checks passed, {seconds:.1f} s", flush=True)
        except Failed as problem:
            print(f"HPCC: {problem}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
