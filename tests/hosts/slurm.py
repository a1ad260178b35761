"""A Slurm cluster of hosts that are namespaces (hosts.py): its controller on the first, a node on each. Needs
Debian's slurm-wlm, and root.
"""

import os
import secrets
import shutil
import subprocess
import time

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
PATH = f"{os.environ['PATH']}:/usr/sbin"
START_S = 20

CONFIGURATION = """
ClusterName=hearth
SlurmctldHost={first}({address})
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
    """Why there can be no cluster, or None."""
    lacking = [name for name in NEEDED if shutil.which(name, path=PATH) is None]
    return f"no {', '.join(lacking)} (Debian: slurm-wlm)" if lacking else None


class Slurm:
    """with Slurm(hosts) as slurm: subprocess.run(slurm.srun(...), env=slurm.environment())"""

    def __init__(self, hosts):
        self.hosts = hosts
        self.folder = hosts.folder / "slurm"
        self.daemons = []

    def environment(self):
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PATH}

    def __enter__(self):
        (self.folder / "state").mkdir(parents=True)
        self.hosts.folder.chmod(0o755)  # munged wants its socket reachable for all
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        nodes = "\n".join(f"NodeName={name} NodeAddr={self.hosts.address(name)} CPUs=4 State=UNKNOWN"
                          for name in self.hosts.names)
        first = self.hosts.names[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, first=first, address=self.hosts.address(first), nodes=nodes),
            encoding="utf-8")
        kinds = ("socket", "pid-file", "log-file", "seed-file")
        places = [f"--{kind}={self.folder}/munge.{kind}" for kind in kinds]
        self._start("munged", ["munged", "-F", "--force", f"--key-file={key}", *places])
        self._wait((self.folder / "munge.socket").exists, "munged")
        self._start("slurmctld", self.hosts.on(first, ["slurmctld", "-D", "-c", "-i"]))
        for name in self.hosts.names:
            # One file system for all of them: what is each host's own has to lie apart.
            (self.folder / f"spool-{name}").mkdir()
            (self.folder / f"tmp-{name}").mkdir()
            self._start(f"slurmd-{name}", self.hosts.on(name, ["slurmd", "-D", "-N", name]))
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
        command = self.hosts.on(self.hosts.names[0], ["sinfo", "-h", "-N", "-o", "%T"])
        states = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False)
        return states.stdout.split() == ["idle"] * len(self.hosts.names)
