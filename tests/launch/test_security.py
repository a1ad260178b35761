#!/usr/bin/env python3
"""What other users of the machine could see or obtain of a job, checked from outside while it runs: the
guarantees of docs/design/security.md. The tests with another user need root."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from common import LIMIT_S, LaunchTest, python, wait_until

RANK = os.environ["HEARTH_RANK_PROGRAM"]  # built from rank.c
HYDRA = Path(os.environ["HEARTH_CACHE"]) / "peers/mpich/bin/mpiexec.hydra"
NOBODY = 65534
CLOSE_ON_EXEC = 0o2000000


def descriptors_of(pid):
    """The open descriptors of a process: {number: (target, whether programs that it starts inherit it)}."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{number}")
            flags = Path(f"/proc/{pid}/fdinfo/{number}").read_text()
        except OSError:
            continue  # closed in the meantime
        found[int(number)] = (target, not int(re.search(r"flags:\s*(\d+)", flags)[1], 8) & CLOSE_ON_EXEC)
    return found


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]


def environment_of(pid):
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def as_nobody(*lines):
    """The exit code of lines of Python that another user of the machine runs."""
    return subprocess.run(
        python("import os", f"os.setgroups([]); os.setresgid(*[{NOBODY}] * 3)",
               f"os.setresuid(*[{NOBODY}] * 3)", *lines), check=False, timeout=LIMIT_S).returncode


class RunningJobTest(LaunchTest):
    """A running job of two ranks that wait."""

    def setUp(self):
        super().setUp()
        self.job = self.start("-n", 2, RANK, "hang")
        self.ranks = []
        self.assertTrue(wait_until(self.has_started), "the job does not start")

    def tearDown(self):
        self.job.terminate()
        self.job.communicate(timeout=LIMIT_S)
        super().tearDown()

    def has_started(self):
        self.ranks = []
        children = Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split()
        for pid in map(int, children):
            try:
                maps = Path(f"/proc/{pid}/maps").read_text()
                attached = "/memfd:hearth " in maps and "libmpi_abi" in maps
                if attached and command_of(pid)[0] == RANK and not self.passed_on(pid):
                    self.ranks.append(pid)
            except OSError:
                pass  # still starting
        return len(self.ranks) == 2

    @staticmethod
    def passed_on(pid):
        return [target for target, goes_on in descriptors_of(pid).values()
                if goes_on and target.startswith("/memfd:")]

    def all_processes(self):
        children = Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split()
        return [self.job.pid, *map(int, children)]

    def test_nothing_is_in_the_command_lines(self):
        for pid in self.ranks:
            self.assertEqual(command_of(pid), [RANK, "hang"])
        for pid in self.all_processes():
            self.assertNotRegex(" ".join(command_of(pid)), r"[0-9a-f]{16}")

    def test_the_environment_names_descriptors_and_no_secret(self):
        for pid in self.ranks:
            for name, value in environment_of(pid).items():
                if name in ("HEARTH_SEGMENT", "HEARTH_ARENA", "HEARTH_BOARD"):
                    self.assertRegex(value, r"^\d+:\d+:\d+$", name)
                elif name.startswith("HEARTH_") and name not in ("HEARTH_TEST_MARK", "HEARTH_PROFILE"):
                    self.assertRegex(value, r"^[\w.:,=-]{0,80}$", name)

    def test_no_process_has_a_socket_or_a_file(self):
        for pid in self.all_processes():
            for number, (target, _) in descriptors_of(pid).items():
                self.assertNotIn("socket:", target, f"descriptor {number} of {command_of(pid)}")
                if number > 2 and target.startswith("/"):
                    self.assertRegex(target, r"^/(memfd:hearth|dev/null|proc/)", command_of(pid))

    def test_memory_is_shared_by_files_that_have_no_name(self):
        for pid in self.ranks:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                fields = line.split(None, 5)
                if fields[1].startswith("rw") and fields[1].endswith("s"):
                    self.assertTrue(fields[5].startswith("/memfd:hearth"), line)
                    self.assertTrue(fields[5].endswith("(deleted)"), line)

    def test_what_a_rank_has_opened_no_program_of_its_own_gets(self):
        for pid in self.ranks:
            for number, (target, goes_on) in descriptors_of(pid).items():
                self.assertEqual(goes_on, number <= 2, f"descriptor {number}: {target}")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_another_user_gets_nothing(self):
        for pid in self.all_processes():
            for number in descriptors_of(pid):
                self.assertEqual(as_nobody(
                    "try: os.open('/proc/%d/fd/%d', os.O_RDONLY)" % (pid, number),
                    "except PermissionError: os._exit(7)"), 7)
            # Permission to read `mem` is the permission for process_vm_readv.
            for file in ("environ", "maps", "mem"):
                self.assertEqual(as_nobody(
                    f"try: os.open('/proc/{pid}/{file}', os.O_RDONLY)",
                    "except PermissionError: os._exit(7)"), 7)


class RanksTest(LaunchTest):
    """Ranks during their start and their run."""

    def links(self, output):
        """Parses the output of ls for its own descriptors: (number, target)."""
        links = [(int(number), target) for number, target in re.findall(r" (\d+) -> (.*)", output)]
        self.assertTrue(links, output)
        return links

    def test_programs_of_ranks_get_no_descriptors(self):
        for options in ([], ["--profile", "p.json"], ["--share-heap"]):
            result = self.run_mpiexec("-n", 2, *options, RANK, "run", "ls -l /proc/self/fd")
            for number, target in self.links(result.stdout):
                self.assertTrue(number <= 2 or re.match(r"/proc/\d+/fd", target), f"{number} is {target}")

    @unittest.skipUnless(os.access(HYDRA, os.X_OK), "no mpiexec.hydra: bench/compare brings it")
    def test_nor_do_they_under_another_launcher(self):
        # Hydra passes some descriptors of its own, but not the socket to its server, and none of our memory.
        result = subprocess.run(
            [HYDRA, "-n", "2", RANK, "run", "readlink /proc/self/fd/$PMI_FD; ls -l /proc/self/fd"], text=True,
            env=self.environment(), capture_output=True, timeout=LIMIT_S, check=True, cwd=self.folder,
            stdin=subprocess.DEVNULL)
        self.assertNotRegex(result.stdout, r"(?m)^socket:")
        for _, target in self.links(result.stdout):
            self.assertNotRegex(target, r"^(/memfd:|anon_inode:)")

    def test_libraries_come_from_absolute_places(self):
        environment = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(self.folder / "loaded")}
        self.run_mpiexec("-n", 2, RANK, env=environment)
        told = "".join(path.read_text() for path in self.folder.glob("loaded.*"))
        tried = re.findall(r"(?:trying file=|calling init: )(\S+)", told)
        self.assertTrue(any("libmpi_abi" in path for path in tried), tried)
        for path in tried:
            # The vdso, which the kernel provides, has no path.
            self.assertTrue(path.startswith("/") or "vdso" in path, path)

    def test_nothing_is_written_to_disk(self):
        (self.folder / "home").mkdir()
        (self.folder / "tmp").mkdir()
        places = {"HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"),
                  "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": str(self.folder / "tmp")}
        before = sorted(self.folder.rglob("*"))
        self.run_mpiexec("-n", 2, RANK, env=places)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


if __name__ == "__main__":
    unittest.main()
