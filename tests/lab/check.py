#!/usr/bin/env python3
"""Tests on virtual machines: with several memory nodes, memory must lie on the right nodes and each pair of
ranks must have the right relation; with Yama, jobs must run in each of its scopes; with strict limits of
memory, calls must fail with an error. `make check-lab` runs this; HEARTH_BUILD is the build folder.
"""

import json
import os
import unittest
from pathlib import Path

import guest

BUILD = Path(os.environ.get("HEARTH_BUILD", guest.ROOT / "build" / "release")).resolve()
MPIEXEC = BUILD / "bin" / "mpiexec"
PAGES = BUILD / "tests" / "lab" / "lab_pages"
STRICT = BUILD / "tests" / "lab" / "lab_strict"
JOB = BUILD / "tests" / "launch" / "launch_job"


def memory(*mebibytes):
    """QEMU's options for the memory of each node; the sum is the guest's memory."""
    words = []
    for node, size in enumerate(mebibytes):
        words += ["-object", f"memory-backend-ram,id=m{node},size={size}M"]
    return words


TWO_SOCKETS = [
    "-smp", "4,sockets=2,cores=2", *memory(512, 512),
    "-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1",
    "-numa", "dist,src=0,dst=1,val=21",
]  # fmt: skip


def one_package_with(attributes, fast_mebibytes=256):
    """A package with ordinary memory, node 0, and a node without processors, which the HMAT may describe."""
    words = [
        "-smp", "2,sockets=1,cores=2", *memory(768, fast_mebibytes),
        "-numa", "node,nodeid=0,cpus=0-1,memdev=m0",
        "-numa", "node,nodeid=1,memdev=m1" + (",initiator=0" if attributes else ""),
        "-numa", "dist,src=0,dst=1,val=31",
    ]  # fmt: skip
    if not attributes:
        return words
    words += ["-machine", "q35,hmat=on"]
    for node, latency_ns, bandwidth in ((0, 120, "80G"), (1, 150, "400G")):
        common = f"hmat-lb,initiator=0,target={node},hierarchy=memory"
        words += ["-numa", f"{common},data-type=access-latency,latency={latency_ns}"]
        words += ["-numa", f"{common},data-type=access-bandwidth,bandwidth={bandwidth}"]
    return words


class Guests(unittest.TestCase):
    maxDiff = None

    def pages(self, machine, ranks, options="", environment=None, bytes_each=1 << 20):
        """The output of each rank's program, by rank."""
        total = sum(int(word.split("size=")[1][:-1]) for word in machine if ",size=" in word)
        command = f"{MPIEXEC} -n {ranks} {options} {PAGES} {bytes_each}"
        # Without single copy, so that messages of all lengths go through rings and bounce buffers.
        variables = {"HEARTH_P2P_SINGLE_COPY": "0", **(environment or {})}
        status, output = guest.run(machine, command, memory_mib=total, limit_s=300, environment=variables)
        self.assertEqual(status, 0, output)
        told = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        self.assertEqual(sorted(line["rank"] for line in told), list(range(ranks)), output)
        return sorted(told, key=lambda line: line["rank"])

    def test_two_sockets(self):
        told = self.pages(TWO_SOCKETS, 4)
        for rank, line in enumerate(told):
            node = rank // 2
            self.assertEqual(line["rings"], [[node]] * 3, "rings belong to their receiver")
            self.assertEqual((line["block"], line["buffers"], line["allocated"]), ([node],) * 3)
        near, far = "l3", "machine"
        self.assertEqual(told[0]["relations"], ["self", near, far, far])
        self.assertEqual(told[3]["relations"], [far, far, near, "self"])

    def test_ranks_that_are_not_bound_leave_it_to_the_system(self):
        for line in self.pages(TWO_SOCKETS, 2, "--bind-to none"):
            self.assertEqual(line["relations"].count("unknown"), 1)
            self.assertNotIn(-1, line["buffers"])

    def test_fast_memory(self):
        for line in self.pages(one_package_with(attributes=True), 2):
            self.assertEqual(line["rings"], [[0]], "where latency is lowest")
            self.assertEqual(line["block"], [0])
            self.assertEqual(line["buffers"], [1], "where bandwidth is highest")
            self.assertEqual(line["allocated"], [1])
            self.assertEqual((line["lowlat"], line["highbw"]), ([0], [1]), "info keys of MPI_Alloc_mem")
            self.assertEqual((line["bound_to_0"], line["bound_to_1"]), ([0], [1]))
            self.assertEqual(line["after"], [1], "the same addresses, with the default's memory again")

    def test_fast_memory_that_is_full_gives_way(self):
        machine = one_package_with(attributes=True, fast_mebibytes=128)
        for line in self.pages(machine, 2, bytes_each=160 << 20):
            self.assertEqual(line["allocated"], [0, 1])

    def test_parameters(self):
        words = {"RINGS": "highbw", "BUFFERS": "lowlat", "ARENA": "local"}
        choice = {f"HEARTH_MEMORY_{part}": word for part, word in words.items()}
        for line in self.pages(one_package_with(attributes=True), 2, environment=choice):
            self.assertEqual((line["rings"], line["buffers"], line["allocated"]), ([[1]], [0], [0]))

    def test_a_node_of_which_nothing_is_told(self):
        for line in self.pages(one_package_with(attributes=False), 2):
            self.assertEqual((line["rings"], line["buffers"], line["allocated"]), ([[0]], [0], [0]))


class Yama(unittest.TestCase):
    """ptrace's rules for access to another process's memory. Root has access in scopes 0 to 2, so user nobody
    runs the job.
    """

    def test_scopes(self):
        scope = "/proc/sys/kernel/yama/ptrace_scope"
        nobody = "setpriv --bounding-set -all --inh-caps -all --reuid 65534 --regid 65534 --clear-groups"
        job = f"{nobody} {MPIEXEC} -n 3 --oversubscribe {JOB}"
        # The guest cannot leave the last scope again.
        command = "; ".join(f"echo {number} >{scope} && cat {scope} && {job}" for number in range(4))
        status, output = guest.run(["-smp", "2"], command, memory_mib=1024, limit_s=300)
        self.assertEqual(status, 0, output)
        lines = [line for number in range(4) for line in (str(number), "job: 3 ranks, all right")]
        self.assertEqual(output.splitlines(), lines)


class StrictMemory(unittest.TestCase):
    """vm.overcommit_memory=2: memory that runs out must be an error of the call, never SIGBUS."""

    def test_memory_runs_out(self):
        for overcommit, limit in ((0, 50), (2, 60)):
            command = (f"echo {limit} >/proc/sys/vm/overcommit_ratio; "
                       f"echo {overcommit} >/proc/sys/vm/overcommit_memory; "
                       f"{MPIEXEC} -n 2 --timeout 200 {STRICT} {overcommit}")
            status, output = guest.run(["-smp", "2"], command, memory_mib=1024, limit_s=300)
            self.assertEqual((status, output.splitlines()), (0, ["all right"] * 2), output)


if __name__ == "__main__":
    try:
        guest.prepare()
    except guest.NoGuest as problem:
        raise SystemExit(f"check.py: {problem}") from None
    unittest.main(verbosity=2)
