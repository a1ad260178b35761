"""A Slurm cluster that a test starts and ends: on hosts that are namespaces (hosts.py), or with one node on
the loopback device. The controller runs on the first node. Needs Debian's slurm-wlm, and root."""

import functools
import os
import secrets
import shutil
import socket
import subprocess
import time
from typing import Callable, NamedTuple

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
PATH = f"{os.environ['PATH']}:/usr/sbin"
START_S = 20
CONTROLLER_PORT, NODE_PORT = 6817, 6818  # Slurm's defaults

CONFIGURATION = """
ClusterName=hearth
SlurmctldHost={controller}({address})
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why no cluster can be started here; "" if it can."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    lacking = [name for name in NEEDED if shutil.which(name, path=PATH) is None]
    return f"no {', '.join(lacking)} (Debian: slurm-wlm)" if lacking else ""


class Node(NamedTuple):
    name: str
    host: str  # the host name on that system
    address: str
    on: Callable  # converts a command into one that runs it there


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def on_loopback(folder, name):
    """One node on this machine, which may have another Slurm installation."""
    node = Node(name, socket.gethostname(), "127.0.0.1", lambda command: command)
    return Slurm(folder, [node], free_port(), free_port())


def on_hosts(hosts):
    """One node on each host of hosts.py."""
    nodes = [Node(name, name, hosts.address(name), functools.partial(hosts.on, name)) for name in hosts.names]
    return Slurm(hosts.folder, nodes, CONTROLLER_PORT, NODE_PORT)


class Slurm:
    """with on_hosts(hosts) as cluster: subprocess.run(["srun", ...], env=cluster.environment())"""

    def __init__(self, folder, nodes, controller_port, node_port):
        self.folder = folder / "slurm"
        self.nodes = nodes
        self.ports = {"controller_port": controller_port, "node_port": node_port}
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PATH}
        self.daemons = []

    def environment(self):
        return {**os.environ, **self.variables}

    def __enter__(self):
        (self.folder / "state").mkdir(parents=True)
        for folder in (self.folder, self.folder.parent):
            folder.chmod(0o755)  # munged requires that all users can reach its socket
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        first = self.nodes[0]
        nodes = "\n".join(f"NodeName={node.name} NodeHostname={node.host} NodeAddr={node.address} CPUs=4 "
                          "State=UNKNOWN" for node in self.nodes)
        # The controller looks for its own host name in SlurmctldHost.
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, controller=first.host, address=first.address, nodes=nodes, **self.ports),
            encoding="utf-8")
        kinds = ("socket", "pid-file", "log-file", "seed-file")
        places = [f"--{kind}={self.folder}/munge.{kind}" for kind in kinds]
        self._start("munged", ["munged", "-F", "--force", f"--key-file={key}", *places])
        self._wait((self.folder / "munge.socket").exists, "munged")
        self._start("slurmctld", first.on(["slurmctld", "-D", "-c", "-i"]))
        for node in self.nodes:
            # The nodes share a file system, so their own folders need separate names.
            (self.folder / f"spool-{node.name}").mkdir()
            (self.folder / f"tmp-{node.name}").mkdir()
            self._start(f"slurmd-{node.name}", node.on(["slurmd", "-D", "-N", node.name]))
        self._wait(self._is_idle, "slurmctld and slurmd")
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, name, command):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.daemons.append(subprocess.Popen(
                command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True))

    def _wait(self, done, what):
        end = time.monotonic() + START_S
        while not done():
            if time.monotonic() > end:
                logs = [path.read_text(errors="replace")[-500:] for path in self.folder.glob("*.log")]
                self.__exit__()
                raise RuntimeError(f"{what}: not there after {START_S} s: {' '.join(logs)}")
            time.sleep(0.1)

    def _is_idle(self):
        command = self.nodes[0].on(["sinfo", "-h", "-N", "-o", "%T"])
        states = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False)
        return states.stdout.split() == ["idle"] * len(self.nodes)
