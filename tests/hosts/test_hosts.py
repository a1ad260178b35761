#!/usr/bin/env python3
"""Jobs on several hosts: tests/multi under launchers of other libraries, which reach each host by the test's
own remote shell. Skipped without a launcher, without the privilege to create hosts, or without network
support."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import slurm
from hosts import Hosts, hydra, prrte, why_not

PROGRAMS = Path(os.environ["HEARTH_MULTI_PROGRAMS"])  # folder of the programs of tests/multi
WAITING = os.environ["HEARTH_WAITING_PROGRAM"]
RANK = os.environ["HEARTH_RANK_PROGRAM"]
CACHE = Path(os.environ["HEARTH_CACHE"])
TOOL = os.environ["HEARTH_INFO_PROGRAM"]
LIMIT_S = 60


HYDRA = hydra(CACHE)
PRRTE = prrte(CACHE)


def program_of(name):
    """A program of tests/multi, which has a folder per part."""
    return next(PROGRAMS.rglob(f"multi_{name}"))


def network_missing():
    built = subprocess.run([TOOL, "info"], capture_output=True, text=True, check=False).stdout
    return "built without libfabric" in built


class Jobs:
    """Tests for every launcher; each class below selects one."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(2).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.hosts.__exit__()

    def start(self, ranks_each, *program, variables=None, hosts=None, going_on=False):
        """A job with this number of ranks on each host, started on h1. `going_on`: it continues after the
        death of a rank."""
        hosts = hosts or self.hosts
        environment = {**os.environ, **(variables or {})}
        words = self.launcher(hosts, ranks_each)
        if going_on:
            words[1:1] = self.GOING_ON
        return subprocess.Popen(
            hosts.on("h1", [*words, *map(str, program)]), env=environment,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            cwd=hosts.folder,
        )

    def run_job(self, ranks_each, *program, code=0, **how):
        job = self.start(ranks_each, *program, **how)
        try:
            out, err = job.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            job.terminate()
            out, err = job.communicate()
            self.fail(f"{program} takes too long\n{out}\n{err}")
        if code is not None:
            self.assertEqual(job.returncode, code, f"{program}\n{out}\n{err}")
        return out, err

    def test_ranks_know_their_numbers(self):
        out, _ = self.run_job(2, RANK)
        self.assertEqual(sorted(out.splitlines()), [f"rank {rank} of 4, program 0" for rank in range(4)])

    def test_messages_and_collectives(self):
        for name in ("ring", "stencil", "sessions_communicators", "pt2pt_exchange", "pt2pt_probe",
                     "datatype_exchange", "coll_move", "objects_inter"):
            with self.subTest(name):
                self.run_job(2, program_of(name))

    def test_a_profile_tells_what_goes_between_machines(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_job(2, program_of("ring"), variables={"HEARTH_PROFILE_FOLDER": folder})
            words = [TOOL, "profile", folder, "-o", "-"]
            profile = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(profile["machines"], 2)
        for rank in range(4):
            between = [8 if peer == (rank + 1) % 4 else 0 for peer in range(4)]
            self.assertEqual(profile["messages_between"][rank], between)
        self.assertEqual(profile["inter_node"]["messages"], 16)

    def test_a_host_without_its_cable_ends_the_job_in_time(self):
        hosts = Hosts(2)
        with hosts:
            job = self.start(2, WAITING, variables={"HEARTH_FABRIC_ALIVE": "3s"}, hosts=hosts)
            for _ in range(4):
                self.assertRegex(job.stdout.readline(), r"^\d waits as process \d+$")
            hosts.cut("h2")
            begun = time.monotonic()
            words = ""
            while "cannot be reached any more" not in words:
                words = job.stderr.readline()
                self.assertNotEqual(words, "", "the job ended without a word")
            self.assertRegex(words, r"rank [23], on h2, cannot be reached any more: Connection timed out")
            self.assertLess(time.monotonic() - begun, 10)
        job.communicate()

    def check_told(self, how, lose, lost, waiting=None, words="on h2, cannot be reached any more"):
        """With MPI_ERRORS_RETURN, a rank that waits for rank `lost` gets an error about it."""
        waiting = lost - 2 if waiting is None else waiting
        hosts = Hosts(2)
        with hosts:
            job = self.start(2, WAITING, how, variables={"HEARTH_FABRIC_ALIVE": "3s"}, hosts=hosts,
                             going_on=True)
            end = threading.Timer(LIMIT_S, job.kill)
            end.start()
            processes = {}
            for _ in range(4):
                rank, process = re.match(r"(\d) waits as process (\d+)$", job.stdout.readline()).groups()
                processes[int(rank)] = int(process)
            begun = time.monotonic()
            lose(hosts, processes)
            line = ""
            while not line.startswith(f"{waiting} told"):
                line = job.stdout.readline()
                self.assertNotEqual(line, "", "the job ended without a word")
            self.assertRegex(line, rf"told: failed: .*rank {lost}.*{words}")
            self.assertLess(time.monotonic() - begun, 10)
            end.cancel()
            job.kill()
        job.communicate()

    def test_a_wait_for_a_killed_process_fails(self):
        self.check_told("told", lambda _, processes: os.kill(processes[3], signal.SIGKILL), 3)

    def test_the_doctor_tries_the_ways(self):
        out, _ = self.run_job(2, TOOL, "doctor", "--between")
        self.assertEqual(sorted(re.findall(r"^(\w+) +way between machines +(h\d to h\d)", out, re.MULTILINE)),
                         [("ok", "h1 to h2"), ("ok", "h2 to h1")])
        out, _ = self.run_job(2, "env", "HEARTH_FABRIC_INTERFACE=lo", TOOL, "doctor", "--between")
        refused = re.findall(r"^not +way between.*Connection refused\n +remedy: ", out, re.MULTILINE)
        self.assertEqual(len(refused), 2, out)

    def test_the_bench_becomes_the_ranks(self):
        out, _ = self.run_job(1, TOOL, "bench", "latency", "--sizes", "8,262144", "--time-ms", "5")
        self.assertIn("2 ranks on h1 and h2 (network)", out)
        self.assertRegex(out, r"(?m)^ +8 .* packet$")
        self.assertRegex(out, r"(?m)^ +262144 .* buffer$")
        out, _ = self.run_job(2, TOOL, "bench", "--collective", "allreduce", "--sizes", "8", "--time-ms", "5")
        self.assertIn("4 ranks on 2 machines", out)
        self.assertRegex(out, r"(?m)^ +8 .* machines$")

    def test_another_wire_format_is_told_and_nothing_is_sent(self):
        newer = '[ "$(hostname)" = h1 ] || export HEARTH_PRETEND_NEWER_WIRE=7; exec "$0"'
        _, err = self.run_job(1, "sh", "-c", newer, program_of("ring"), code=None)
        self.assertRegex(err, r"rank 1, on h2, sends packets of format \d+ over the network, this one of "
                              r"format \d+\. .*Remedy: the same libmpi_abi\.so\.1 on all machines")

    def test_one_rank_on_each_host(self):
        self.run_job(1, program_of("ring"))


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class Hydra(Jobs, unittest.TestCase):
    GOING_ON = ["-disable-auto-cleanup"]

    def launcher(self, hosts, ranks_each):
        return HYDRA(hosts, 2 * ranks_each, ranks_each)

    def test_a_wait_for_a_disconnected_host_fails(self):
        self.check_told("told", lambda hosts, _: hosts.cut("h2"), 2)

    def test_a_wait_for_a_killed_process_without_a_connection_fails(self):
        self.check_told("strangers", lambda _, processes: os.kill(processes[3], signal.SIGKILL), 3)


@unittest.skipUnless(PRRTE, "no PRRTE: bench/compare fetches Open MPI")
class Prrte(Jobs, unittest.TestCase):
    GOING_ON = ["--enable-recovery"]

    def test_a_wait_for_a_killed_local_process_fails(self):
        self.check_told("near", lambda _, processes: os.kill(processes[3], signal.SIGKILL), 3, waiting=2,
                        words="ended without MPI_Finalize")

    def launcher(self, hosts, ranks_each):
        return PRRTE(hosts, 2 * ranks_each, ranks_each)

    def test_a_wait_for_ranks_that_left_fails(self):
        for waiting in range(3):
            with self.subTest(waiting):
                self.check_told("together", lambda _, processes: os.kill(processes[3], signal.SIGKILL), 3,
                                waiting=waiting, words="")

    def test_the_others_go_on(self):
        """Ranks die one after another; the survivors shrink and agree across machines."""
        for name in ("fault_shrinking", "fault_agreements"):
            hosts = Hosts(2)
            with hosts:
                self.run_job(2, program_of(name), hosts=hosts, going_on=True)


@unittest.skipIf(slurm.missing(), slurm.missing())
class BySlurm(unittest.TestCase):
    """srun with both kinds of PMI, and a batch script, on two nodes."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(2).__enter__()
        cls.addClassCleanup(cls.hosts.__exit__)
        cls.cluster = slurm.on_hosts(cls.hosts)
        try:
            cls.cluster.__enter__()
        except RuntimeError as reason:
            raise unittest.SkipTest(f"Slurm does not start here: {reason}") from reason
        cls.addClassCleanup(cls.cluster.__exit__)

    def run_there(self, *command):
        return subprocess.run(
            self.hosts.on("h1", map(str, command)), env=self.cluster.environment(), capture_output=True,
            text=True, timeout=LIMIT_S, check=False, cwd=self.hosts.folder, stdin=subprocess.DEVNULL,
        )

    def check_srun(self, kind):
        for program in (RANK, program_of("ring"), program_of("coll_move")):
            result = self.run_there("srun", f"--mpi={kind}", "-N", 2, "-n", 4, program)
            if "can not load PMIx library" in result.stderr:
                self.skipTest("Slurm finds no libpmix (Debian: libpmix-dev)")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_pmi2(self):
        self.check_srun("pmi2")

    def test_pmix(self):
        self.check_srun("pmix")

    def test_batch_script(self):
        script = self.hosts.folder / "job"
        script.write_text(f"#!/bin/sh\nsrun --mpi=pmi2 {RANK}\n", encoding="utf-8")
        result = self.run_there("sbatch", "-W", "-N", 2, "-n", 4, "-D", self.hosts.folder, "-o", "out",
                                "-e", "err", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = (self.hosts.folder / "out").read_text(encoding="utf-8").splitlines()
        self.assertEqual(sorted(lines), [f"rank {rank} of 4, program 0" for rank in range(4)])


if __name__ == "__main__":
    reason = why_not() or ("no network in this build" if network_missing() else None)
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
