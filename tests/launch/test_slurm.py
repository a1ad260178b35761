#!/usr/bin/env python3
"""Our programs under Slurm: srun --mpi=pmi2, --mpi=pmix, --mpi=none, and a batch script, in a cluster of one
node on the loopback device, which the test starts and ends. Needs Debian's slurm-wlm, and root for slurmd;
without them it is skipped, with the reason.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from common import LIMIT_S, MPIEXEC, LaunchTest, wait_until

RANK = os.environ["HEARTH_RANK_PROGRAM"]  # built from rank.c
RING = os.environ["HEARTH_RING_PROGRAM"]  # built from tests/multi/ring.c
NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
PATH = f"{os.environ['PATH']}:/usr/sbin"
NODE = "hearth-test-node"

CONFIGURATION = """
ClusterName=hearth
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why there can be no cluster; "" when there can."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    lacking = [name for name in NEEDED if shutil.which(name, path=PATH) is None]
    return f"no {', '.join(lacking)} (Debian: slurm-wlm)" if lacking else ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """The daemons of a cluster of one node, in a folder of their own."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hearth-slurm-"))
        self.folder.chmod(0o755)  # munged wants its socket reachable for all
        (self.folder / "state").mkdir()
        (self.folder / "spool").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(
            CONFIGURATION.format(
                folder=self.folder, node=NODE, host=socket.gethostname(), controller_port=free_port(),
                node_port=free_port(),
            )
        )
        self.variables = {"SLURM_CONF": str(configuration), "PATH": PATH}
        self.daemons = []
        kinds = ("socket", "pid-file", "log-file", "seed-file")
        place = [f"--{kind}={self.folder}/munge.{kind}" for kind in kinds]
        self.start("munged", "-F", "--force", f"--key-file={key}", *place)
        wait_until((self.folder / "munge.socket").exists)
        self.start("slurmctld", "-D", "-c", "-i")
        self.start("slurmd", "-D", "-N", NODE)
        self.works = wait_until(self.is_idle, 20)

    def start(self, *command):
        log = open(self.folder / f"{command[0]}.log", "wb")
        self.daemons.append(
            subprocess.Popen(
                command, env={**os.environ, **self.variables}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )
        )
        log.close()

    def is_idle(self):
        state = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env={**os.environ, **self.variables}, capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
        )
        time.sleep(0.1)
        return state.stdout.strip() == "idle"

    def end(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@unittest.skipIf(missing(), missing())
class Slurm(LaunchTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.end)
        if not cls.cluster.works:
            logs = [path.read_text(errors="replace")[-500:] for path in cls.cluster.folder.glob("*.log")]
            raise unittest.SkipTest("Slurm does not start here: " + " ".join(logs))

    def run_in_cluster(self, *command):
        return subprocess.run(
            [str(word) for word in command], env=self.environment(self.cluster.variables), text=True,
            capture_output=True, timeout=LIMIT_S, check=False, cwd=self.folder, stdin=subprocess.DEVNULL,
        )

    def srun(self, kind, *command):
        result = self.run_in_cluster("srun", f"--mpi={kind}", *command)
        if kind == "pmix" and "can not load PMIx library" in result.stderr:
            self.skipTest("Slurm finds no libpmix (Debian: libpmix-dev)")
        return result

    def check_ranks(self, kind):
        for count in (1, 2, 4):
            result = self.srun(kind, "-n", count, RANK)
            expected = [f"rank {rank} of {count}, program 0" for rank in range(count)]
            self.assertEqual(sorted(result.stdout.splitlines()), expected, result.stderr)
            self.assertEqual(result.returncode, 0)
        result = self.srun(kind, "-n", 4, RING)
        self.assertEqual(result.returncode, 0, result.stderr)

    def check_abort(self, kind):
        result = self.srun(kind, "-n", 3, RANK, "abort", 42)
        # srun ends with the highest code of all tasks, and those that it kills have 137.
        self.assertIn(result.returncode, (42, 137))
        self.assertEqual(result.stderr.count("hearth: rank 1 ended the job with code 42"), 1, result.stderr)
        self.assertEqual(self.srun(kind, "-n", 3, RANK, "after-finalize").returncode, 6)

    def test_pmi2(self):
        self.check_ranks("pmi2")
        self.check_abort("pmi2")

    def test_pmix(self):
        self.check_ranks("pmix")
        self.check_abort("pmix")

    def test_without_pmi_the_remedy_is_named(self):
        result = self.srun("none", "-n", 2, RANK)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("start it with srun --mpi=pmi2 or srun --mpi=pmix", result.stderr)

    def test_batch_script(self):
        # Without srun one rank; our mpiexec on this machine; and, for the node by its name in Slurm, by srun.
        script = self.script(
            "job",
            f"#!/bin/sh\n{RANK}\necho srun\nsrun --mpi=pmi2 -n 2 -l {RANK}\n"
            f"echo mpiexec\n{MPIEXEC} -n 2 --oversubscribe -l {RANK}\n"
            f"echo handed over\n{MPIEXEC} -H {NODE}:2 -l {RANK}\n",
        )
        result = self.run_in_cluster("sbatch", "-W", "-n", 2, "-o", "out", "-e", "err", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        parts = [[]]
        for line in (self.folder / "out").read_text().splitlines():
            if line in ("srun", "mpiexec", "handed over"):
                parts.append([])
            else:
                parts[-1].append(line)
        by_srun = ["0: rank 0 of 2, program 0", "1: rank 1 of 2, program 0"]
        self.assertEqual(parts[0], ["rank 0 of 1, program 0"])
        self.assertEqual(sorted(parts[1]), by_srun)
        self.assertEqual(sorted(parts[2]), ["[0] rank 0 of 2, program 0", "[1] rank 1 of 2, program 0"])
        self.assertEqual(sorted(parts[3]), by_srun)
        told = (self.folder / "err").read_text()
        self.assertIn(f"'{NODE}' is not this machine: Slurm starts the job", told)


if __name__ == "__main__":
    unittest.main()
