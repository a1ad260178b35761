#!/usr/bin/env python3
"""MPI_Comm_spawn and connections between jobs: when a process ends, no other one hangs or remains."""

import os
import re
import signal
import subprocess
import threading
import unittest

from common import BIN, LIMIT_S, MPIEXEC, LaunchTest, processes_with, wait_until

FAMILY = os.environ["HEARTH_FAMILY_PROGRAM"]
PARENTS, CHILDREN = 2, 2


class FamilyTest(LaunchTest):
    def start_family(self, command):
        """The running command, and the pids of its parents and children with those of their launchers."""
        run = subprocess.Popen(
            command, env=self.environment(), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stderr.close)
        timer = threading.Timer(LIMIT_S, run.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        family = {"parent": [], "child": []}
        expected = CHILDREN + (PARENTS if command[0] == MPIEXEC else 1)
        while sum(len(pids) for pids in family.values()) < expected:
            name, pid, launcher = run.stdout.readline().split()
            family[name].append((int(pid), int(launcher)))
        return run, family

    def start_parents(self):
        return self.start_family([MPIEXEC, "-n", str(PARENTS), "--oversubscribe", FAMILY, "wait"])

    def check_all_end(self, run):
        run.wait(timeout=LIMIT_S)
        self.assertNotEqual(run.returncode, 0)
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))


class KilledTest(FamilyTest):
    def test_child(self):
        run, family = self.start_parents()
        os.kill(family["child"][0][0], signal.SIGKILL)
        self.check_all_end(run)
        self.assertIn("of a connected job", run.stderr.read())

    def test_parent(self):
        for rank in range(PARENTS):
            with self.subTest(rank=rank):
                run, family = self.start_parents()
                os.kill(family["parent"][rank][0], signal.SIGKILL)
                self.check_all_end(run)

    def test_mpiexec_of_the_parents(self):
        run, _ = self.start_parents()
        run.kill()
        self.check_all_end(run)

    def test_mpiexec_of_the_children(self):
        run, family = self.start_parents()
        os.kill(family["child"][0][1], signal.SIGKILL)
        self.check_all_end(run)

    def test_program_without_mpiexec(self):
        run, _ = self.start_family([FAMILY, "wait"])
        run.kill()
        self.check_all_end(run)

    def test_user_ends_the_job(self):
        run, _ = self.start_parents()
        run.terminate()
        self.check_all_end(run)


class WaitTest(FamilyTest):
    def test_processes_of_other_jobs_are_named(self):
        run, family = self.start_family([MPIEXEC, "-n", str(PARENTS), "--why=1", FAMILY, "wait"])
        line = run.stderr.readline()
        self.assertIn("ranks 0 and 1 wait for processes of another job", line)
        line = run.stderr.readline()
        named = re.search(r"for a message from rank 0 of another job \(process (\d+)\), tag 0,", line)
        self.assertIsNotNone(named, line)
        self.assertIn(int(named[1]), [pid for pid, _ in family["child"]])
        self.assertIn(f"the other job: hearth why {named[1]}", run.stderr.readline())
        told = subprocess.run([BIN / "hearth", "why", named[1]], text=True, capture_output=True,
                              timeout=LIMIT_S, check=True).stdout
        parents = "|".join(str(pid) for pid, _ in family["parent"])
        self.assertRegex(told, rf"rank 0 of another job \(process ({parents})\)")
        run.terminate()
        self.check_all_end(run)

    def test_program_that_never_calls_init(self):
        result = self.run_mpiexec(
            "-n", PARENTS, "--oversubscribe", FAMILY, "never", env={"HEARTH_SPAWN_TIMEOUT": "500ms"})
        for rank in range(PARENTS):
            self.assertRegex(result.stdout, f"rank {rank}: .*'sleep' have called MPI_Init within 0.5 s")
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))

    def test_child_that_is_late(self):
        result = self.run_mpiexec("-n", PARENTS, "--oversubscribe", FAMILY, "late")
        self.assertEqual(result.stderr.count("MPI_Comm_spawn has waited 10 s"), 1, result.stderr)


class KilledAtPointsTest(FamilyTest):
    """A process of either job is killed at each point while a connection is made and ended."""

    ROOT_OF_PARENTS = ("children_started", "roots_connected")
    ROOT_OF_CHILDREN = ("roots_connected",)
    ALL = ("bridge_attached", "bridge_agreed", "bridge_leaving", "bridge_left")

    def check(self, handler, environment):
        run = self.start("-n", PARENTS, "--oversubscribe", "--initial-errhandler", handler, FAMILY, "once",
                         env=environment)
        _, errors = run.communicate(timeout=LIMIT_S)
        self.assertIn("chaos:", errors)
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))

    def test_parents(self):
        for handler in ("mpi_errors_are_fatal", "mpi_errors_return"):
            for rank in range(PARENTS):
                for point in self.ALL + (self.ROOT_OF_PARENTS if rank == 0 else ()):
                    with self.subTest(point=point, rank=rank, handler=handler):
                        self.check(handler, {"HEARTH_CHAOS": f"kill={point}:1,rank={rank}"})

    def test_children(self):
        for rank in range(CHILDREN):
            for point in self.ALL + (self.ROOT_OF_CHILDREN if rank == 0 else ()):
                with self.subTest(point=point, rank=rank):
                    self.check("mpi_errors_return", {"CHAOS_OF_CHILDREN": f"kill={point}:1,rank={rank}"})

    def test_jobs_started_apart(self):
        for side in ("serve", "call"):
            for rank in range(2):
                for point in self.ALL + (("roots_connected",) if rank == 0 else ()):
                    with self.subTest(point=point, rank=rank, side=side):
                        self.check_apart(side, f"kill={point}:1,rank={rank}")

    def check_apart(self, side, chaos):
        service = f"hearth-test-{self.mark}"
        disturbed = {"HEARTH_CHAOS": chaos}
        server = self.start("-n", 2, "--oversubscribe", FAMILY, "serve", service,
                            env=disturbed if side == "serve" else None)
        self.assertEqual(server.stdout.readline(), "published\n")
        client = self.start("-n", 2, "--oversubscribe", FAMILY, "call", service,
                            env=disturbed if side == "call" else None)
        errors = {name: run.communicate(timeout=LIMIT_S)[1]
                  for name, run in (("call", client), ("serve", server))}
        self.assertIn("chaos:", errors[side])
        self.assertTrue(wait_until(lambda: not processes_with(self.mark)), processes_with(self.mark))


class DisconnectedTest(FamilyTest):
    def test_children_go_on(self):
        self.run_mpiexec("-n", PARENTS, "--oversubscribe", FAMILY, "part")
        self.assertTrue(wait_until(lambda: (self.folder / "went-on").exists()))


class ConnectedTest(FamilyTest):
    def test_jobs_started_apart(self):
        service = f"hearth-test-{self.mark}"
        server = self.start("-n", 2, "--oversubscribe", FAMILY, "serve", service)
        self.assertEqual(server.stdout.readline(), "published\n")
        client = self.run_mpiexec("-n", 3, "--oversubscribe", FAMILY, "call", service)
        output, errors = server.communicate(timeout=LIMIT_S)
        self.assertEqual(server.returncode, 0, errors)
        self.assertIn("2 processes answered", client.stdout)
        self.assertIn("3 processes answered", output)

    def test_names_are_in_the_folder_of_the_user(self):
        service = f"hearth-test-{self.mark}"
        environment = {"XDG_RUNTIME_DIR": str(self.folder)}
        server = self.start("-n", 1, FAMILY, "serve", service, env=environment)
        self.assertEqual(server.stdout.readline(), "published\n")
        (file,) = (self.folder / "hearth").iterdir()
        self.assertEqual(bytes.fromhex(file.name).decode(), service)
        self.assertEqual((self.folder / "hearth").stat().st_mode & 0o777, 0o700)
        self.run_mpiexec("-n", 1, FAMILY, "call", service, env=environment)
        server.communicate(timeout=LIMIT_S)
        self.assertEqual(list((self.folder / "hearth").iterdir()), [])

    def test_folder_that_others_may_enter(self):
        (self.folder / "hearth").mkdir(mode=0o755)
        os.chmod(self.folder / "hearth", 0o755)
        client = self.run_mpiexec(
            "-n", 1, FAMILY, "call", "none", code=None, env={"XDG_RUNTIME_DIR": str(self.folder)})
        self.assertIn("MPI_Lookup_name", client.stderr)
        self.assertEqual(list((self.folder / "hearth").iterdir()), [])


class WithoutDescriptorsTest(FamilyTest):
    def test_call_fails_and_the_next_one_succeeds(self):
        result = self.run_mpiexec("-n", 1, FAMILY, "few")
        self.assertIn("spawned", result.stdout)


if __name__ == "__main__":
    unittest.main()
