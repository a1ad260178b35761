#!/usr/bin/env python3
"""mpiexec reports why a job stands still: each kind of deadlock, and waits that are none."""

import os
import re
import signal
import sys
import time
import unittest

from common import LIMIT_S, LaunchTest, wait_until

PROGRAM = os.environ["HEARTH_STANDSTILL_PROGRAM"]
LIMIT = ("--oversubscribe", "--timeout", "1")


class StandStill(LaunchTest):
    def why(self, ranks, *arguments):
        """The report at the time limit of one second."""
        begin = time.monotonic()
        err = self.run_mpiexec("-n", ranks, *LIMIT, PROGRAM, *arguments, code=124).stderr
        self.assertIn("mpiexec: the time limit of 1 s is over\n", err)
        self.took = time.monotonic() - begin
        return err

    def assert_cycle(self, err, *ranks):
        names = f"ranks 0 to {ranks[-1]}" if len(ranks) > 2 else "ranks 0 and 1"
        self.assertIn(f"mpiexec: deadlock: {names} wait for each other", err)
        self.assertIn("the cycle: rank " + " -> ".join(map(str, [*ranks, ranks[0]])) + "\n", err)

    def test_head_to_head_sends(self):
        err = self.why(2, "head-to-head")
        self.assert_cycle(err, 0, 1)
        self.assertRegex(
            err,
            r"rank 1 waits in MPI_Send for rank 0 to receive 4194304 bytes of MPI_BYTE, tag 3, on "
            r"MPI_COMM_WORLD, for \d\.\d s, called from .*main\+0x[0-9a-f]+ in launch_standstill\n",
        )
        self.assertIn("send before they receive", err)

    def test_wrong_tag(self):
        err = self.why(2, "tag")
        self.assert_cycle(err, 0, 1)
        self.assertIn(
            "rank 1 has a message from rank 0, tag 8, 4 bytes, on MPI_COMM_WORLD: it would match the receive "
            "from rank 0, tag 7, on MPI_COMM_WORLD but for its tag\n",
            err,
        )

    def test_wrong_communicator(self):
        err = self.why(2, "communicator")
        self.assert_cycle(err, 0, 1)
        self.assertIn(
            "rank 1 has a message from rank 0, tag 7, 4 bytes, on communicator 'the duplicate' of 2 ranks: "
            "it would match the receive from rank 0, tag 7, on MPI_COMM_WORLD but for its communicator\n",
            err,
        )

    def test_missing_member_of_a_collective(self):
        err = self.why(3, "missing")
        self.assertIn("mpiexec: deadlock: ranks 0 to 2 wait for each other", err)
        self.assertIn("the cycle: rank 0 -> 2 -> 0\n", err)
        self.assertIn("MPI_Barrier on MPI_COMM_WORLD: ranks 0 and 1 have come, rank 2 has not\n", err)
        self.assertRegex(err, r"rank 2 waits in MPI_Recv for a message from rank 0, tag 5, on")

    def test_collective_behind_a_request(self):
        err = self.why(3, "nonblocking")
        self.assertIn("allreduce behind a request on MPI_COMM_WORLD: "
                      "ranks 0 and 2 have come, rank 1 has not\n", err)
        self.assertRegex(err, r"ranks 0 and 2, each: waits in MPI_Wait \(allreduce\) on MPI_COMM_WORLD "
                              "for rank 1, for")

    def test_different_collectives_end_by_themselves(self):
        # The ranks detect this themselves, so they do not stand still; why_test.cpp tests ranks that do.
        err = self.run_mpiexec("-n", 3, *LIMIT, PROGRAM, "different", code=None).stderr
        # The message comes from the rank that ends the job: it detected the mismatch, or it waits for a rank
        # that did.
        own = r"(this one \(\d\)|rank \d) in (barrier|bcast)"
        self.assertRegex(err, rf"is in (bcast|barrier) of \d+ bytes, {own}")

    def test_different_roots(self):
        for words, call in ((("roots", 8), "MPI_Gather"), (("roots", 1000000), "MPI_Gather"),
                            (("nonblocking-roots", 8), "gather behind a request")):
            with self.subTest(words):
                err = self.why(2, *words)
                self.assert_cycle(err, 0, 1)
                self.assertIn(f"different roots of {call} on MPI_COMM_WORLD: rank 0 with root 0, "
                              "rank 1 with root 1. All its ranks have to name the same root\n", err)
                self.assertRegex(err, r"rank 1 waits in .* with root 1 on MPI_COMM_WORLD for rank 0, for")

    def test_any_source(self):
        err = self.why(3, "any-source")
        self.assertIn("mpiexec: deadlock: ranks 0 to 2 wait for each other", err)
        self.assertRegex(err, r"rank 0 waits in MPI_Recv for a message from any rank, tag 4, on")
        self.assertIn("MPI_Barrier on MPI_COMM_WORLD: ranks 1 and 2 have come, rank 0 has not\n", err)

    def test_threads(self):
        err = self.why(2, "threads")
        self.assert_cycle(err, 0, 1)
        for tag in (1, 2):
            self.assertEqual(
                len(re.findall(rf"waits in MPI_Recv for a message from rank \d, tag {tag}, on", err)), 2
            )

    def test_chain(self):
        self.assert_cycle(self.why(3, "chain"), 0, 1, 2)

    def test_several_requests(self):
        err = self.why(3, "several")
        self.assert_cycle(err, 0, 1, 2)
        self.assertRegex(
            err,
            r"rank 0 waits in MPI_Waitany for one of: a message from rank 1, tag 0, a message from rank 1, "
            r"tag 1 and a message from rank 1, tag 2, on MPI_COMM_WORLD",
        )
        self.assertRegex(err, r"rank 1 waits in MPI_Waitall for all of: a message from rank 2, tag 0")

    def test_crossed_locks(self):
        for locks in ("crossed-locks", "crossed-shared-locks"):
            with self.subTest(locks):
                err = self.why(4, locks)
                self.assertIn("the cycle: rank 0 -> 1 -> 0\n", err)
                for waits, target, holds in ((0, 3, 1), (1, 2, 0)):
                    self.assertRegex(
                        err,
                        rf"rank {waits} waits in MPI_Win_lock for the lock on the memory of rank {target}, "
                        rf"on window 'the table', held by rank {holds}, for",
                    )

    def test_missing_epochs(self):
        err = self.why(2, "no-post")
        self.assert_cycle(err, 0, 1)
        self.assertIn(
            "rank 0 waits in MPI_Win_start for MPI_Win_post by rank 1, on window 'the table', for", err)
        self.assertNotIn("tag 0", err)
        err = self.why(2, "no-complete")
        self.assert_cycle(err, 0, 1)
        self.assertIn(
            "rank 1 waits in MPI_Win_wait for MPI_Win_complete by rank 0, on window 'the table', for", err)

    def test_pollers_are_suspected(self):
        err = self.why(2, "poll")
        self.assertIn("mpiexec: suspected deadlock: ranks 0 and 1 wait for each other", err)
        self.assertRegex(err, r"rank 0 calls MPI_Iprobe again and again for a message from rank 1, tag 6")
        self.assertNotRegex(err, r"mpiexec: deadlock")

    def test_one_that_has_ended(self):
        err = self.why(2, "gone")
        self.assertIn("mpiexec: rank 0 waits in vain: rank 1 has ended or called MPI_Finalize\n", err)

    def test_soon_after_the_limit(self):
        self.why(2, "tag")
        self.assertLess(self.took, 10)  # mostly the start, on a busy machine


class NothingIsWrong(LaunchTest):
    """A long computation and a sleeping rank are reported as such."""

    def why(self, *arguments):
        options = [word for word in arguments if str(word).startswith("--")]
        words = arguments[len(options):]
        return self.run_mpiexec("-n", 2, "--oversubscribe", "--why=0.5", *options, PROGRAM, *words).stderr

    def test_long_computation(self):
        err = self.why("compute", 3)
        self.assertNotIn("mpiexec: deadlock", err)
        self.assertNotIn("suspected", err)
        self.assertIn("mpiexec: no deadlock: rank 0 waits for rank 1\n", err)
        self.assertRegex(err, r"rank 1 is outside MPI.* and computes")
        self.assertEqual(err.count("no deadlock"), 1, "it is told once")

    def test_one_that_sleeps(self):
        err = self.why("sleep", 3)
        self.assertIn("mpiexec: no deadlock: rank 0 waits for rank 1\n", err)
        self.assertRegex(err, r"rank 1 is outside MPI, and sleeps")

    def test_a_thread_that_sleeps(self):
        err = self.why("--check=fatal", "thread-sleeps", 3)
        self.assertIn("mpiexec: no deadlock: ranks 0 and 1 wait", err)

    def test_polling_for_a_time_ends_no_job(self):
        err = self.why("--check=fatal", "poll-for", 3)
        self.assertIn("mpiexec: suspected deadlock: ranks 0 and 1 wait for each other", err)
        self.assertIn("check: nothing found", err)

    def test_a_lock_that_is_held_for_long(self):
        for lock in ("slow-lock", "slow-shared-lock"):
            with self.subTest(lock):
                err = self.run_mpiexec("-n", 3, "--oversubscribe", "--why=0.5", "--check=fatal",
                                       PROGRAM, lock, 3).stderr
                self.assertIn("mpiexec: no deadlock: ranks 1 and 2 wait for rank 0\n", err)
                self.assertRegex(err, "lock on the memory of rank 1, on .*, held by rank 0, for")

    def test_a_lock_of_another_machine(self):
        err = self.run_mpiexec("-n", 3, "--oversubscribe", "--why=0.5", PROGRAM, "slow-lock", 3,
                               env={"HEARTH_SIMULATED_NODES": "3"}).stderr
        self.assertNotIn("mpiexec: deadlock", err)
        self.assertRegex(err, "rank 2 waits in MPI_Win_lock for the lock on the memory of rank 1, on .*, "
                              "whose holder is not known, for")

    def test_one_that_is_stopped(self):
        run = self.start("-n", 2, "--oversubscribe", "--timeout", 2, PROGRAM, "stop")
        err = run.communicate(timeout=LIMIT_S)[1]
        self.assertIn("mpiexec: no deadlock: rank 0 waits for rank 1\n", err)
        self.assertIn("rank 1 is outside MPI, and is stopped", err)

    def test_quiet_when_in_time(self):
        err = self.run_mpiexec("-n", 2, "--oversubscribe", "--why", PROGRAM, "compute", "0.7").stderr
        self.assertEqual(err, "")


class WhileItRuns(LaunchTest):
    def start_telling(self, *arguments):
        """mpiexec with its messages written to a file."""
        self.told_file = self.folder / "told"
        with open(self.told_file, "w", encoding="utf-8") as file:
            run = self.start(*arguments, stderr=file)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def told(self):
        return self.told_file.read_text(encoding="utf-8")

    def wait_for_cycle(self):
        came = wait_until(lambda: "the cycle: rank 0 -> 1 -> 0" in self.told(), LIMIT_S)
        self.assertTrue(came, self.told())

    def test_why_tells_once_and_lets_it_run(self):
        run = self.start_telling("-n", 2, "--oversubscribe", "--why=0.5", PROGRAM, "tag")
        self.wait_for_cycle()
        time.sleep(1.2)
        self.assertIsNone(run.poll(), "the job ended without a request")
        self.assertEqual(self.told().count("mpiexec: deadlock"), 1, self.told())
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=LIMIT_S)

    def test_the_quit_key(self):
        run = self.start_telling("-n", 2, "--oversubscribe", PROGRAM, "head-to-head")
        time.sleep(1.5)
        run.send_signal(signal.SIGQUIT)
        self.wait_for_cycle()
        run.wait(timeout=LIMIT_S)
        self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
